//! Splits the source of a template into segments.

use std::ops::Range;

use crate::{
    DIGEST_BYTES, MAX_KEY_BYTES, PlaceholderType, Segment, brace, placeholder_parser,
    template_error::{TemplateError, TemplateFault},
};

pub(crate) fn segments(source: &str) -> Result<Vec<Segment>, TemplateError> {
    if source.is_empty() {
        return Err(TemplateError::new(TemplateFault::Empty, 0..0));
    }
    let mut scan = Scan::default();
    let mut at = 0;
    while let Some(c) = source[at..].chars().next() {
        let rest = &source[at..];
        at = if rest.starts_with("{{") || rest.starts_with("}}") {
            scan.brace(c, at..at + 2)
        } else if c == '{' {
            scan.placeholder(source, at)?
        } else {
            scan.text(c, at)?
        };
    }
    scan.finish(source)
}

#[derive(Default)]
struct Scan {
    segments: Vec<Segment>,
    text: String,
    braces: Vec<(char, Range<usize>)>,
}

/// Each step reads what begins at one byte of the source and returns the byte after it.
impl Scan {
    fn brace(&mut self, brace: char, span: Range<usize>) -> usize {
        let end = span.end;
        self.text.push(brace);
        self.braces.push((brace, span));
        end
    }

    fn text(&mut self, c: char, at: usize) -> Result<usize, TemplateError> {
        let end = at + c.len_utf8();
        if c == '}' {
            return Err(TemplateError::new(TemplateFault::UnopenedPlaceholder, at..end));
        }
        if c.is_control() {
            let fault = TemplateFault::ControlCharacter(c);
            return Err(TemplateError::new(fault, at..end));
        }
        self.text.push(c);
        Ok(end)
    }

    fn placeholder(&mut self, source: &str, at: usize) -> Result<usize, TemplateError> {
        let start = at + 1;
        let rest = &source[start..];
        let end = match rest.find(['{', '}']) {
            Some(length) if rest[length..].starts_with('}') => start + length,
            _ => return Err(TemplateError::new(TemplateFault::UnclosedPlaceholder, at..start)),
        };
        self.end_literal();
        self.segments
            .push(Segment::Placeholder(placeholder_parser::placeholder(source, start..end)?));
        Ok(end + 1)
    }

    fn end_literal(&mut self) {
        if !self.text.is_empty() {
            let text = std::mem::take(&mut self.text);
            self.segments.push(Segment::Literal(text));
        }
    }

    fn finish(mut self, source: &str) -> Result<Vec<Segment>, TemplateError> {
        self.end_literal();
        brace::check(self.braces).map_err(|error| {
            TemplateError::new(TemplateFault::HashTag(error.fault()), error.span())
        })?;
        let shortest: usize = self.segments.iter().map(shortest).sum();
        if shortest > MAX_KEY_BYTES {
            return Err(TemplateError::new(TemplateFault::TooLong, 0..source.len()));
        }
        Ok(self.segments)
    }
}

/// Returns the minimum number of bytes that a segment adds to a key.
fn shortest(segment: &Segment) -> usize {
    match segment {
        Segment::Literal(text) => text.len(),
        Segment::Placeholder(placeholder) if placeholder.hash => DIGEST_BYTES,
        Segment::Placeholder(placeholder) if placeholder.ty == PlaceholderType::Uuid => 36,
        Segment::Placeholder(_) => 1,
    }
}
