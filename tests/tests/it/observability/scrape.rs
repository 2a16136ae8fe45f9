//! The text that Prometheus reads.

use std::collections::BTreeMap;

/// One line of it.
#[derive(Debug, Clone)]
pub(crate) struct Sample {
    pub(crate) series: String,
    pub(crate) labels: BTreeMap<String, String>,
    pub(crate) value: f64,
}

/// Everything that was read at once.
#[derive(Debug)]
pub(crate) struct Scrape {
    pub(crate) text: String,
    pub(crate) samples: Vec<Sample>,
}

impl Scrape {
    pub(crate) fn parse(text: &str) -> Self {
        let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
        Self { text: text.to_owned(), samples: lines.map(sample).collect() }
    }

    /// The sum over all series of that name with these labels, if there are any.
    pub(crate) fn value(&self, series: &str, labels: &[(&str, &str)]) -> Option<f64> {
        let has = |sample: &&Sample| {
            sample.series == series
                && labels
                    .iter()
                    .all(|(label, value)| sample.labels.get(*label).is_some_and(|has| has == value))
        };
        let found: Vec<_> = self.samples.iter().filter(has).collect();
        (!found.is_empty()).then(|| found.iter().map(|sample| sample.value).sum())
    }
}

fn sample(line: &str) -> Sample {
    let (series, value) = line.rsplit_once(' ').unwrap();
    let (series, labels) = series.split_once('{').unwrap_or((series, "}"));
    // No value of ours has a comma or a quote in it.
    let labels = labels.trim_end_matches('}').split(',').filter(|label| !label.is_empty());
    let labels = labels.map(|label| {
        let (name, value) = label.split_once('=').unwrap();
        (name.to_owned(), value.trim_matches('"').to_owned())
    });
    Sample { series: series.to_owned(), labels: labels.collect(), value: value.parse().unwrap() }
}
