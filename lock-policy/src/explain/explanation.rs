use std::{fmt, sync::Arc};

use lock_core::__private::visible;
use serde_json::{Value, json};

/// The rule that applies to a request, and the place where each of its values was set.
///
/// Its `Display` output is a table: a field, its value, and the place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Explanation {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) file: Arc<str>,
    pub(crate) rule: Option<MatchedRule>,
    pub(crate) passed: Vec<SkippedRule>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MatchedRule {
    pub(crate) name: Arc<str>,
    pub(crate) line: usize,
    pub(crate) keys: Vec<String>,
    pub(crate) values: Vec<ExplainedValue>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ExplainedValue {
    pub(crate) field: &'static str,
    pub(crate) value: String,
    pub(crate) origin: String,
}

/// An earlier rule that does not match, and the part of the request that differs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SkippedRule {
    pub(crate) name: Arc<str>,
    pub(crate) line: usize,
    pub(crate) differs: &'static str,
}

impl Explanation {
    /// Returns the name of the rule that applies; `None` if no rule does, so the file takes no
    /// lock.
    #[must_use]
    pub fn rule(&self) -> Option<&str> {
        self.rule.as_ref().map(|rule| &*rule.name)
    }

    /// Returns the explanation in machine-readable form: an object with `method`, `path`, `file`,
    /// `rule` (null, or an object with `name`, `line`, `keys` and `values`) and `passed`.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let rule = self.rule.as_ref().map(|rule| {
            let values = rule
                .values
                .iter()
                .map(|row| json!({ "field": row.field, "value": row.value, "origin": row.origin }));
            json!({
                "name": &*rule.name,
                "line": rule.line,
                "keys": rule.keys,
                "values": values.collect::<Value>(),
            })
        });
        let passed = self
            .passed
            .iter()
            .map(|rule| json!({ "name": &*rule.name, "line": rule.line, "differs": rule.differs }));
        json!({
            "method": self.method,
            "path": self.path,
            "file": &*self.file,
            "rule": rule,
            "passed": passed.collect::<Value>(),
        })
    }

    fn table(&self) -> Vec<[String; 3]> {
        let place = |line: usize| format!("{}:{line}", self.file);
        let mut table = Vec::new();
        match &self.rule {
            Some(rule) => {
                table.push(["rule".to_owned(), rule.name.to_string(), place(rule.line)]);
                for key in &rule.keys {
                    table.push(["key".to_owned(), key.clone(), place(rule.line)]);
                }
                table.extend(
                    rule.values
                        .iter()
                        .map(|row| [row.field.to_owned(), row.value.clone(), row.origin.clone()]),
                );
            }
            None => {
                let none = "none: the file takes no lock".to_owned();
                table.push(["rule".to_owned(), none, self.file.to_string()]);
            }
        }
        for rule in &self.passed {
            let why = format!("{}: another {}", rule.name, rule.differs);
            table.push(["passed".to_owned(), why, place(rule.line)]);
        }
        table
    }
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let table: Vec<_> = self
            .table()
            .into_iter()
            .map(|row| row.map(|cell| visible(&cell).into_owned()))
            .collect();
        let width = |column: usize| {
            table.iter().map(|row| row[column].chars().count()).max().unwrap_or_default()
        };
        let (first, second) = (width(0), width(1));
        write!(f, "{} {}", self.method, visible(&self.path))?;
        for [field, value, origin] in &table {
            write!(f, "\n{field:first$}  {value:second$}  {origin}")?;
        }
        Ok(())
    }
}
