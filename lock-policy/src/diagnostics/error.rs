use std::{error::Error, fmt, sync::Arc};

use lock_core::__private::visible;
use serde_json::{Value, json};

use super::{diagnostic::Diagnostic, source_file::SourceFile};

/// The most errors kept. A text that is not a policy file at all may have more errors than a reader
/// or a log can use.
const MOST: usize = 100;

/// All errors of a policy file (the first 100 if there are more), in the order of the file. There
/// is at least one.
///
/// Its `Display` output has, for each error, the file, line and column, the line itself with the
/// place underlined, and a correction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyErrors(Vec<PolicyError>);

/// The severity of an error: whether the file can still be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Severity {
    /// It cannot.
    Error,
    /// It can, and a rule may lock less, or more, than its author meant.
    Warning,
}

/// One error in a policy file, or one [warning](crate::PolicyFile::warnings).
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct PolicyError {
    /// Whether the file can be used.
    pub severity: Severity,
    /// The file's name, as it was given.
    pub file: Arc<str>,
    /// The line, from 1; 0 if the error concerns the whole file.
    pub line: usize,
    /// The column in characters, from 1; 0 if the error concerns the whole file.
    pub column: usize,
    /// The error message.
    pub message: String,
    /// A correction, if there is one beyond the message.
    pub help: Option<String>,
    /// Other places involved in the error.
    pub related: Vec<RelatedPlace>,
    /// The lines involved and the help; `None` if the error concerns the whole file.
    pub(super) snippet: Option<String>,
}

/// Another place of the file that is involved in an error.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RelatedPlace {
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
    /// A description of the place.
    pub message: String,
}

impl PolicyErrors {
    /// Creates the errors; `None` if there are none.
    pub(crate) fn of(source: &SourceFile, diagnostics: Vec<Diagnostic>) -> Option<Self> {
        let errors = in_order(source, diagnostics);
        if errors.is_empty() { None } else { Some(Self(errors)) }
    }

    pub(crate) fn of_file(file: &str, message: String, help: &str) -> Self {
        Self(vec![PolicyError {
            severity: Severity::Error,
            file: file.into(),
            line: 0,
            column: 0,
            message,
            help: Some(help.to_owned()),
            related: Vec::new(),
            snippet: None,
        }])
    }

    /// Iterates over the errors in the order of the file.
    pub fn iter(&self) -> impl Iterator<Item = &PolicyError> {
        self.0.iter()
    }

    /// Returns the errors in machine-readable form: an array of objects with `file`, `line`,
    /// `column`, `message`, `help` (or null) and `related`.
    #[must_use]
    pub fn to_json(&self) -> Value {
        self.iter().map(PolicyError::to_json).collect()
    }
}

/// Returns the diagnostics in the order of the file, all of one severity.
pub(crate) fn in_order(source: &SourceFile, mut diagnostics: Vec<Diagnostic>) -> Vec<PolicyError> {
    // An error in the defaults is found again in each rule.
    diagnostics.sort_by(|a, b| a.order().cmp(&b.order()));
    diagnostics.dedup_by(|a, b| a.order() == b.order());
    if let Some(first) = diagnostics.get(MOST) {
        let (severity, at) = (first.severity, first.order().0);
        let what =
            format!("{} more {severity}s from here on are not shown", diagnostics.len() - MOST);
        diagnostics.truncate(MOST);
        diagnostics.push(Diagnostic::of(severity, at..at, what));
    }
    diagnostics.into_iter().map(|diagnostic| diagnostic.on(source)).collect()
}

impl PolicyError {
    /// Returns it in machine-readable form: an object with `file`, `line`, `column`, `message`,
    /// `help` (or null) and `related`.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let related = self.related.iter().map(
            |place| json!({ "line": place.line, "column": place.column, "message": place.message }),
        );
        json!({
            "file": &*self.file,
            "line": self.line,
            "column": self.column,
            "message": self.message,
            "help": self.help,
            "related": related.collect::<Value>(),
        })
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Error => "error",
            Self::Warning => "warning",
        })
    }
}

impl fmt::Display for PolicyErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (nth, error) in self.0.iter().enumerate() {
            if nth > 0 {
                f.write_str("\n\n")?;
            }
            error.fmt(f)?;
        }
        Ok(())
    }
}

impl fmt::Display for PolicyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:", visible(&self.file))?;
        if self.line > 0 {
            write!(f, "{}:{}:", self.line, self.column)?;
        }
        write!(f, " {}: {}", self.severity, self.message)?;
        match (&self.snippet, &self.help) {
            (Some(snippet), _) => write!(f, "\n{snippet}"),
            (None, Some(help)) => write!(f, "\n = help: {help}"),
            (None, None) => Ok(()),
        }
    }
}

impl Error for PolicyErrors {}

impl Error for PolicyError {}
