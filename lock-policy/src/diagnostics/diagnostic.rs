use std::{ops::Range, sync::Arc};

use lock_core::__private::visible;

use super::{
    error::{PolicyError, RelatedPlace, Severity},
    snippet::render,
    source_file::{LineColumn, SourceFile},
};

/// An error or warning under construction, with its places still in bytes.
#[derive(Debug)]
pub(crate) struct Diagnostic {
    pub(crate) severity: Severity,
    span: Range<usize>,
    message: String,
    help: Option<String>,
    related: Vec<(Range<usize>, String)>,
}

impl Diagnostic {
    pub(crate) fn new(span: Range<usize>, message: impl Into<String>) -> Self {
        Self::of(Severity::Error, span, message.into())
    }

    pub(crate) fn warning(span: Range<usize>, message: impl Into<String>) -> Self {
        Self::of(Severity::Warning, span, message.into())
    }

    pub(crate) fn of(severity: Severity, span: Range<usize>, message: String) -> Self {
        Self { severity, span, message, help: None, related: Vec::new() }
    }

    /// Returns the position and the message, to sort by.
    pub(crate) fn order(&self) -> (usize, &str) {
        (self.span.start, &self.message)
    }

    pub(crate) fn help(mut self, help: impl Into<Option<String>>) -> Self {
        self.help = help.into();
        self
    }

    pub(crate) fn related(mut self, span: Range<usize>, message: &str) -> Self {
        self.related.push((span, message.to_owned()));
        self
    }

    pub(crate) fn on(self, source: &SourceFile) -> PolicyError {
        let LineColumn { line, column } = source.place(self.span.start);
        let help = self.help.as_deref().map(visible);
        let snippet = render(source, &self.span, &self.related, help.as_deref());
        let related = self.related.into_iter().map(|(span, message)| {
            let LineColumn { line, column } = source.place(span.start);
            RelatedPlace { line, column, message }
        });
        PolicyError {
            severity: self.severity,
            file: Arc::clone(&source.name),
            line,
            column,
            message: visible(&self.message).into_owned(),
            help: help.map(|help| help.into_owned()),
            related: related.collect(),
            snippet: Some(snippet),
        }
    }
}
