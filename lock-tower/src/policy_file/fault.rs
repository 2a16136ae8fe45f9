use std::{ops::Range, sync::Arc};

use super::{
    error::{PolicyError, RelatedPlace},
    page::{Page, Place},
    snippet::Snippet,
};

/// An error on its way, its places still in bytes.
#[derive(Debug)]
pub(super) struct Fault {
    span: Range<usize>,
    message: String,
    help: Option<String>,
    related: Vec<(Range<usize>, String)>,
}

impl Fault {
    pub(super) fn new(span: Range<usize>, message: impl Into<String>) -> Self {
        Self { span, message: message.into(), help: None, related: Vec::new() }
    }

    /// Where it is, and what.
    pub(super) fn order(&self) -> (usize, &str) {
        (self.span.start, &self.message)
    }

    pub(super) fn help(mut self, help: impl Into<Option<String>>) -> Self {
        self.help = help.into();
        self
    }

    pub(super) fn related(mut self, span: Range<usize>, message: &str) -> Self {
        self.related.push((span, message.to_owned()));
        self
    }

    pub(super) fn on(self, page: &Page) -> PolicyError {
        let (Place { line, column }, snippet) = shown(page, &self.span);
        let related = self.related.into_iter().map(|(span, message)| {
            let (Place { line, column }, snippet) = shown(page, &span);
            RelatedPlace { line, column, message, snippet }
        });
        PolicyError {
            file: Arc::clone(&page.name),
            line,
            column,
            message: self.message,
            help: self.help,
            related: related.collect(),
            snippet: Some(snippet),
        }
    }
}

fn shown(page: &Page, span: &Range<usize>) -> (Place, Snippet) {
    let (line, marked) = page.line(span);
    (page.place(span.start), Snippet::new(line, marked))
}
