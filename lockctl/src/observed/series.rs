//! One line of the text format of Prometheus.

use std::collections::BTreeMap;

/// A value of a series.
#[derive(Debug, Clone)]
pub(crate) struct Sample {
    pub(crate) name: String,
    pub(crate) labels: BTreeMap<String, String>,
    pub(crate) value: f64,
}

impl Sample {
    /// Parses `name{label="value"} value`, with a timestamp or an exemplar behind it or without.
    pub(crate) fn parse(line: &str) -> Option<Self> {
        let end = line.find(['{', ' ', '\t'])?;
        let (name, rest) = line.split_at(end);
        let (labels, rest) = match rest.strip_prefix('{') {
            Some(rest) => labels(rest)?,
            None => (BTreeMap::new(), rest),
        };
        let value = rest.split_whitespace().next()?.parse().ok()?;
        Some(Self { name: name.to_owned(), labels, value })
    }

    pub(crate) fn label(&self, name: &str) -> Option<&str> {
        self.labels.get(name).map(String::as_str)
    }
}

/// Parses labels up to their closing brace, and returns what is behind it.
fn labels(mut rest: &str) -> Option<(BTreeMap<String, String>, &str)> {
    let mut labels = BTreeMap::new();
    loop {
        rest = rest.trim_start_matches([' ', ',']);
        if let Some(rest) = rest.strip_prefix('}') {
            return Some((labels, rest));
        }
        let (name, after) = rest.split_once("=\"")?;
        let mut value = String::new();
        let mut chars = after.char_indices();
        let end = loop {
            match chars.next()? {
                (at, '"') => break at,
                (_, '\\') => value.push(match chars.next()?.1 {
                    'n' => '\n',
                    char => char,
                }),
                (_, char) => value.push(char),
            }
        };
        labels.insert(name.trim().to_owned(), value);
        rest = &after[end + 1..];
    }
}
