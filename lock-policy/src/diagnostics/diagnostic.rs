use std::{ops::Range, sync::Arc};

use super::{
    error::{PolicyError, RelatedPlace},
    snippet::render,
    source_file::{LineColumn, SourceFile},
};

/// An error under construction, with its places still in bytes.
#[derive(Debug)]
pub(crate) struct Diagnostic {
    span: Range<usize>,
    message: String,
    help: Option<String>,
    related: Vec<(Range<usize>, String)>,
}

impl Diagnostic {
    pub(crate) fn new(span: Range<usize>, message: impl Into<String>) -> Self {
        Self { span, message: message.into(), help: None, related: Vec::new() }
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
        let snippet = render(source, &self.span, &self.related, self.help.as_deref());
        let related = self.related.into_iter().map(|(span, message)| {
            let LineColumn { line, column } = source.place(span.start);
            RelatedPlace { line, column, message }
        });
        PolicyError {
            file: Arc::clone(&source.name),
            line,
            column,
            message: self.message,
            help: self.help,
            related: related.collect(),
            snippet: Some(snippet),
        }
    }
}
