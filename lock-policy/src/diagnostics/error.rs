use std::{error::Error, fmt, sync::Arc};

use serde_json::{Value, json};

use super::{diagnostic::Diagnostic, source_file::SourceFile};

/// A text that is no policy file at all has more errors than anybody reads, or a log takes.
const MOST: usize = 100;

/// What is wrong with a policy file: all of it (of more than 100 errors the first), in the order of the file. At least one error.
///
/// Shown, each error has its file, line and column, the line itself with what is meant underlined,
/// and what to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyErrors(Vec<PolicyError>);

/// One thing that is wrong with a policy file.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct PolicyError {
    /// The file's name, as it was given.
    pub file: Arc<str>,
    /// The line, from 1; 0 when the file as a whole is meant.
    pub line: usize,
    /// The column in characters, from 1; 0 when the file as a whole is meant.
    pub column: usize,
    /// What is wrong.
    pub message: String,
    /// What to do, when more can be said than the message does.
    pub help: Option<String>,
    /// Other places that it has to do with.
    pub related: Vec<RelatedPlace>,
    /// The lines that it is about, and the help; `None`: the file as a whole is meant.
    pub(super) snippet: Option<String>,
}

/// Another place of the file that an error has to do with.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RelatedPlace {
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
    /// What it is.
    pub message: String,
}

impl PolicyErrors {
    /// `None`: there are none.
    pub(crate) fn of(source: &SourceFile, mut diagnostics: Vec<Diagnostic>) -> Option<Self> {
        // What is wrong in the defaults is found again in each rule.
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

    /// One by one, in the order of the file.
    pub fn iter(&self) -> impl Iterator<Item = &PolicyError> {
        self.0.iter()
    }

    /// The errors for other programs: an array of objects with `file`, `line`, `column`,
    /// `message`, `help` (or null) and `related`.
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
