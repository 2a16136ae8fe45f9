//! Texts of a file with the position of each character.

use std::ops::Range;

/// A text with escapes and environment variables replaced.
#[derive(Debug, Clone)]
pub(crate) struct Text {
    pub(crate) value: String,
    /// The position of the whole literal, with its quotes.
    pub(crate) span: Range<usize>,
    /// The position of each character of `value` in the file.
    places: Vec<Range<usize>>,
}

/// Characters with their positions in the file.
pub(crate) type Placed = Vec<(char, Range<usize>)>;

impl Text {
    pub(crate) fn new(placed: Placed, span: Range<usize>) -> Self {
        let (value, places) = placed.into_iter().unzip();
        Self { value, span, places }
    }

    /// Returns the position of a part of the value, given in bytes. An empty part has the position
    /// of the whole literal.
    pub(crate) fn part(&self, part: Range<usize>) -> Range<usize> {
        let mut places = self
            .value
            .char_indices()
            .zip(&self.places)
            .filter_map(|((at, _), place)| part.contains(&at).then_some(place));
        match places.next() {
            Some(first) => first.start..places.last().unwrap_or(first).end,
            None => self.span.clone(),
        }
    }
}

/// Returns the characters of the literal `raw`, which begins at byte `at` and has the value
/// `value`. If they cannot be matched, each character has the position of the whole literal.
pub(crate) fn placed(raw: &str, at: usize, value: &str) -> Placed {
    let placed = decode(raw, at);
    if placed.iter().map(|(c, _)| *c).eq(value.chars()) {
        return placed;
    }
    value.chars().map(|c| (c, at..at + raw.len())).collect()
}

fn decode(raw: &str, at: usize) -> Placed {
    let quote = if raw.starts_with("\"\"\"") || raw.starts_with("'''") { 3 } else { 1 };
    let Some(inside) = raw.get(quote..raw.len().saturating_sub(quote)) else {
        return Vec::new();
    };
    // A line break directly after three quotes is not part of the text.
    let skip = match inside {
        text if quote == 3 && text.starts_with("\r\n") => 2,
        text if quote == 3 && text.starts_with('\n') => 1,
        _ => 0,
    };
    let start = at + quote + skip;
    let mut rest = inside[skip..].char_indices().peekable();
    let mut placed = Vec::new();
    while let Some((from, c)) = rest.next() {
        let c = if c == '\\' && raw.starts_with('"') { escape(&mut rest) } else { Some(c) };
        let to = rest.peek().map_or(inside.len() - skip, |(to, _)| *to);
        placed.extend(c.map(|c| (c, start + from..start + to)));
    }
    placed
}

/// Returns the character for an escape; `None` if the escape is unknown.
fn escape(rest: &mut impl Iterator<Item = (usize, char)>) -> Option<char> {
    match rest.next()?.1 {
        'b' => Some('\u{8}'),
        't' => Some('\t'),
        'n' => Some('\n'),
        'f' => Some('\u{c}'),
        'r' => Some('\r'),
        'e' => Some('\u{1b}'),
        'x' => hex(rest, 2),
        'u' => hex(rest, 4),
        'U' => hex(rest, 8),
        c => Some(c),
    }
}

fn hex(rest: &mut impl Iterator<Item = (usize, char)>, digits: usize) -> Option<char> {
    let hex: String = rest.take(digits).map(|(_, c)| c).collect();
    u32::from_str_radix(&hex, 16).ok().and_then(char::from_u32)
}
