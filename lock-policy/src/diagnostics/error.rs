use std::{error::Error, fmt, sync::Arc};

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

/// One error in a policy file.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct PolicyError {
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
    pub(crate) fn of(source: &SourceFile, mut diagnostics: Vec<Diagnostic>) -> Option<Self> {
        // An error in the defaults is found again in each rule.
        diagnostics.sort_by(|a, b| a.order().cmp(&b.order()));
        diagnostics.dedup_by(|a, b| a.order() == b.order());
        if let Some((first, _)) = diagnostics.get(MOST).map(Diagnostic::order) {
            let what =
                format!("{} more errors from here on are not shown", diagnostics.len() - MOST);
            diagnostics.truncate(MOST);
            diagnostics.push(Diagnostic::new(first..first, what));
        }
        let errors: Vec<_> =
            diagnostics.into_iter().map(|diagnostic| diagnostic.on(source)).collect();
        if errors.is_empty() { None } else { Some(Self(errors)) }
    }

    pub(crate) fn of_file(file: &str, message: String, help: &str) -> Self {
        Self(vec![PolicyError {
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

impl PolicyError {
    fn to_json(&self) -> Value {
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
        write!(f, "{}:", self.file)?;
        if self.line > 0 {
            write!(f, "{}:{}:", self.line, self.column)?;
        }
        write!(f, " error: {}", self.message)?;
        match (&self.snippet, &self.help) {
            (Some(snippet), _) => write!(f, "\n{snippet}"),
            (None, Some(help)) => write!(f, "\n = help: {help}"),
            (None, None) => Ok(()),
        }
    }
}

impl Error for PolicyErrors {}

impl Error for PolicyError {}
