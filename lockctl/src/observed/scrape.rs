//! The metrics of one scrape, or what was counted between two.

use std::{collections::BTreeMap, io::BufRead};

use super::{
    ObservedError,
    histogram::Histogram,
    lines::{Lines, Place},
    series::Sample,
};

/// No service has as many series; more would fill the memory.
const MAX_SERIES: usize = 1_000_000;
const BUCKETS: &str = "set buckets for the exporter's histograms, as examples/observed does";
const WHOLE: &str = "give the whole scrape, unchanged";

/// The samples of lock-tower's metrics, by their series.
#[derive(Debug, Default)]
pub struct Scrape {
    samples: BTreeMap<Series, (f64, Place)>,
}

type Labels = BTreeMap<String, String>;
/// The name of a metric with its labels.
type Series = (String, Labels);
/// A histogram, and the first of its lines.
type Placed<'s> = (Histogram, &'s Place);

/// Whether a line is one of a scrape.
pub fn is_one(line: &str) -> bool {
    ["# HELP ", "# TYPE ", "lock_"].iter().any(|start| line.starts_with(start))
}

impl Scrape {
    pub fn add(&mut self, line: &str, lines: &Lines<impl BufRead>) -> Result<(), ObservedError> {
        if !line.starts_with("lock_") {
            return Ok(());
        }
        let Some(sample) = Sample::parse(line) else {
            return Err(lines.wrong("this is not a line of a scrape", WHOLE));
        };
        if sample.label("quantile").is_some() {
            let name = sample.name.escape_debug();
            let what = format!("`{name}` is a summary, and a histogram is needed");
            return Err(lines.wrong(&what, BUCKETS));
        }
        if !(sample.value.is_finite() && sample.value >= 0.0) {
            return Err(lines.wrong("the value is not a number from 0 on", WHOLE));
        }
        if self.samples.len() == MAX_SERIES {
            return Err(lines.wrong("the scrape has more than 1,000,000 series", WHOLE));
        }
        let series = (sample.name, sample.labels);
        if self.samples.insert(series, (sample.value, lines.place())).is_some() {
            let help = "give the scrapes one by one: --metrics EARLIER --metrics LATER";
            return Err(lines.wrong("this series was there before", help));
        }
        Ok(())
    }

    /// Checks every histogram.
    pub fn checked(self) -> Result<Self, ObservedError> {
        for (name, _) in self.samples.keys() {
            if let Some(metric) = name.strip_suffix("_bucket") {
                self.histograms(metric)?;
            }
        }
        Ok(self)
    }

    /// Returns what was counted since an earlier scrape.
    pub fn since(mut self, earlier: &Self) -> Result<Self, ObservedError> {
        let restarted =
            "the process has started again between the scrapes: give the later one alone";
        for (series, (value, place)) in &earlier.samples {
            let counts = ["_total", "_bucket", "_count", "_sum"].iter();
            if !counts.clone().any(|end| series.0.ends_with(end)) {
                continue;
            }
            match self.samples.get_mut(series) {
                Some((later, _)) if *later >= *value => *later -= value,
                Some((_, place)) => return Err(place.wrong("a counter went back", restarted)),
                None => return Err(place.wrong("the later scrape has no such series", restarted)),
            }
        }
        self.checked()
    }

    /// Returns the policies that it has requests of, with the first line of each.
    pub fn policies(&self) -> BTreeMap<&str, &Place> {
        let mut policies = BTreeMap::new();
        for ((name, labels), (value, place)) in &self.samples {
            if name == "lock_requests_total"
                && *value > 0.0
                && let Some(policy) = labels.get("policy")
            {
                policies.entry(policy.as_str()).or_insert(place);
            }
        }
        policies
    }

    /// Returns the number of requests of a policy with one of these outcomes, of all instances.
    pub fn requests(&self, policy: &str, outcomes: &[&str]) -> f64 {
        let is = |labels: &Labels, label: &str, value: &str| {
            labels.get(label).is_some_and(|is| is == value)
        };
        let of = self.samples.iter().filter(|((name, labels), _)| {
            name == "lock_requests_total"
                && is(labels, "policy", policy)
                && outcomes.iter().any(|outcome| is(labels, "outcome", outcome))
        });
        of.map(|(_, (value, _))| value).sum()
    }

    /// Returns the sum of a counter over the series of a policy.
    pub fn sum(&self, metric: &str, policy: &str) -> f64 {
        let own = self.samples.iter().filter(|((name, labels), _)| {
            name == metric && labels.get("policy").is_some_and(|is| is == policy)
        });
        own.map(|(_, (value, _))| value).sum()
    }

    /// Returns the histogram of a metric over all series of a policy, if there are any.
    pub fn histogram(
        &self,
        metric: &str,
        policy: &str,
    ) -> Result<Option<Histogram>, ObservedError> {
        let mut sum = Histogram::default();
        let of = self.histograms(metric)?;
        let own =
            of.iter().filter(|(labels, _)| labels.get("policy").is_some_and(|is| is == policy));
        for (_, (histogram, place)) in own {
            if !sum.add(histogram) {
                let help = "let every instance set the same buckets";
                return Err(place.wrong("this series of the policy has other buckets", help));
            }
        }
        Ok((sum.count() > 0.0).then_some(sum))
    }

    /// Returns each series of a histogram, by its labels without `le`.
    fn histograms(&self, metric: &str) -> Result<BTreeMap<Labels, Placed<'_>>, ObservedError> {
        let mut buckets: BTreeMap<_, (Vec<(f64, f64)>, &Place)> = BTreeMap::new();
        for ((name, labels), (value, place)) in &self.samples {
            if name.strip_suffix("_bucket") != Some(metric) {
                continue;
            }
            let mut labels = labels.clone();
            let bound = labels.remove("le").and_then(|le| le.parse::<f64>().ok());
            let Some(bound) = bound.filter(|bound| !bound.is_nan()) else {
                return Err(place.wrong("the bucket has no bound `le`", WHOLE));
            };
            let (bounds, first) = buckets.entry(labels).or_insert((Vec::new(), place));
            bounds.push((bound, *value));
            if place.line < first.line {
                *first = place;
            }
        }
        let checked = buckets.into_iter().map(|(labels, (bounds, place))| {
            let what = |why| place.wrong(&format!("this histogram is not whole: {why}"), WHOLE);
            Ok((labels, (Histogram::new(bounds).map_err(what)?, place)))
        });
        checked.collect()
    }
}
