//! From the source of a template to its segments.

use std::ops::Range;

use crate::template_error::{TemplateError, TemplateFault};
use crate::{Hole, HoleType, MAX_KEY_BYTES, Segment, brace};

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
            scan.hole(source, at)?
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

/// Each step takes what begins at one byte of the source and says at which byte it ended.
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
            return Err(TemplateError::new(TemplateFault::UnopenedHole, at..end));
        }
        if c.is_control() {
            let fault = TemplateFault::ControlCharacter(c);
            return Err(TemplateError::new(fault, at..end));
        }
        self.text.push(c);
        Ok(end)
    }

    fn hole(&mut self, source: &str, at: usize) -> Result<usize, TemplateError> {
        let start = at + 1;
        let rest = &source[start..];
        let end = match rest.find(['{', '}']) {
            Some(length) if rest[length..].starts_with('}') => start + length,
            _ => return Err(TemplateError::new(TemplateFault::UnclosedHole, at..start)),
        };
        self.end_literal();
        self.segments.push(Segment::Hole(hole(source, start..end)?));
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

/// The fewest bytes that a segment adds to a key.
fn shortest(segment: &Segment) -> usize {
    match segment {
        Segment::Literal(text) => text.len(),
        Segment::Hole(hole) if hole.ty == HoleType::Uuid => 36,
        Segment::Hole(_) => 1,
    }
}

/// The hole whose inside, without the braces, is at `inside`.
fn hole(source: &str, inside: Range<usize>) -> Result<Hole, TemplateError> {
    let text = &source[inside.clone()];
    let (path, ty) = match text.split_once(':') {
        Some((path, ty)) => (path, Some(ty)),
        None => (text, None),
    };
    if path.is_empty() {
        let whole = inside.start - 1..inside.end + 1;
        return Err(TemplateError::new(TemplateFault::EmptyHole, whole));
    }
    let span = inside.start..inside.start + path.len();
    let path = names(path, span.start)?;
    let ty = match ty {
        None => HoleType::Text,
        Some(word) => word.parse().map_err(|_| {
            // An empty type has no place of its own: point at its colon.
            let start = if word.is_empty() { span.end } else { span.end + 1 };
            TemplateError::new(TemplateFault::UnknownType(word.to_owned()), start..inside.end)
        })?,
    };
    Ok(Hole { path, ty, span })
}

/// The words of a path that begins at byte `start`.
fn names(path: &str, start: usize) -> Result<Vec<String>, TemplateError> {
    let mut names = Vec::new();
    let mut at = start;
    for word in path.split('.') {
        let legal = is_name(word) || (!names.is_empty() && is_index(word));
        if !legal {
            // An empty word has no place of its own: show the whole path.
            let (word, span) = match word {
                "" => (path, start..start + path.len()),
                word => (word, at..at + word.len()),
            };
            return Err(TemplateError::new(TemplateFault::BadName(word.to_owned()), span));
        }
        at += word.len() + 1;
        names.push(word.to_owned());
    }
    Ok(names)
}

fn is_name(word: &str) -> bool {
    word != "_"
        && word.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && word.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

/// A field of a tuple, spelled as Rust spells it.
fn is_index(word: &str) -> bool {
    word.parse::<u32>().is_ok_and(|index| index.to_string() == word)
}
