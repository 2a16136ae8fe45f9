//! Renders the lines of a file that an error concerns, with the place underlined.

use std::{borrow::Cow, ops::Range};

use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet, renderer::DecorStyle};

use super::source_file::SourceFile;

/// The width of a snippet, including the gutter. Terminals are at least this wide.
const WIDTH: usize = 110;

/// Only this many bytes around its mark are rendered of a longer line. Layout takes time for each
/// character, and a text that is not a policy file may be a single line.
const MAX_LINE: usize = 1_000;

/// Renders the lines with `span` and with the `related` places and their descriptions, followed by
/// `help`.
pub(super) fn render(
    source: &SourceFile,
    span: &Range<usize>,
    related: &[(Range<usize>, String)],
    help: Option<&str>,
) -> String {
    let mut places = vec![source.place(span.start)];
    places.extend(related.iter().map(|(span, _)| source.place(span.start)));
    let lines = places.iter().map(|place| place.line);
    let (first, last) = (lines.clone().min().unwrap_or(1), lines.max().unwrap_or(1));

    let mut excerpt = Excerpt { source, text: String::new(), marks: Vec::new() };
    let spans: Vec<_> = std::iter::once(span).chain(related.iter().map(|(span, _)| span)).collect();
    for line in first..=last {
        let here = places.iter().enumerate().filter(|(_, place)| place.line == line);
        let here: Vec<_> = here.map(|(nth, _)| (nth, spans[nth])).collect();
        excerpt.push(line, &here);
    }
    excerpt.marks.sort_by_key(|(nth, _)| *nth);
    let marks = excerpt.marks.into_iter().map(|(_, mark)| mark);
    let text = printable(&excerpt.text);
    let mut snippet = Snippet::source(text).line_start(first);
    for (nth, mark) in marks.enumerate() {
        snippet = snippet.annotation(match nth.checked_sub(1) {
            None => AnnotationKind::Primary.span(mark),
            Some(nth) => AnnotationKind::Context.span(mark).label(related[nth].1.as_str()),
        });
    }
    let mut group = Group::with_level(Level::ERROR).element(snippet);
    if let Some(help) = help {
        group = group.element(Level::HELP.message(help));
    }
    Renderer::plain().decor_style(DecorStyle::Ascii).term_width(WIDTH).render(&[group])
}

/// Some lines of a file.
struct Excerpt<'s> {
    source: &'s SourceFile,
    text: String,
    /// The index of each place, and its position in `text`.
    marks: Vec<(usize, Range<usize>)>,
}

impl Excerpt<'_> {
    /// Adds a line with the places that begin in it.
    fn push(&mut self, line: usize, places: &[(usize, &Range<usize>)]) {
        let (start, text) = self.source.line(line);
        let in_line = |at: usize| at.saturating_sub(start).min(text.len());
        let mark = places.first().map_or(0, |(_, span)| in_line(span.start));
        let from = boundary(text, mark.saturating_sub(MAX_LINE / 2));
        let to = boundary(text, from + MAX_LINE);
        let begin = self.text.len();
        self.text.push_str(&text[from..to]);
        self.text.push('\n');
        for (nth, span) in places {
            let at = |byte: usize| begin + in_line(byte).clamp(from, to) - from;
            // The part of a place on further lines is not rendered.
            self.marks.push((*nth, at(span.start)..at(span.end)));
        }
    }
}

/// Returns the last character boundary up to this byte.
fn boundary(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// Replaces characters that are invisible or change the text direction with visible ones of the
/// same length in bytes. (The renderer replaces the control characters of ASCII.)
fn printable(text: &str) -> Cow<'_, str> {
    if !text.contains(misleads) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            c if !misleads(c) => shown.push(c),
            c if c.len_utf8() == char::REPLACEMENT_CHARACTER.len_utf8() => {
                shown.push(char::REPLACEMENT_CHARACTER);
            }
            c => shown.extend(std::iter::repeat_n('?', c.len_utf8())),
        }
    }
    Cow::Owned(shown)
}

fn misleads(c: char) -> bool {
    !c.is_ascii() && lock_core::__private::misleads(c)
}

#[cfg(test)]
mod tests {
    use super::render;
    use crate::diagnostics::SourceFile;

    /// Returns the line and the carets below it, without the gutter.
    fn shown(line: &str, marked: &str) -> (String, String) {
        let at = line.find(marked).expect("it is in the line");
        let source = SourceFile::new("locks.toml", line);
        let text = render(&source, &(at..at + marked.len()), &[], None);
        let lines: Vec<_> = text.lines().map(|line| line.split_once("| ")).collect();
        let [_, Some((_, line)), Some((_, carets))] = lines[..] else { panic!("{text}") };
        (line.to_owned(), carets.to_owned())
    }

    #[test]
    fn carets_stand_under_what_is_meant() {
        assert_eq!(shown("wait = 1", "1").1, "       ^");
        assert_eq!(shown("\twait = 11", "11").1, "           ^^");
        assert_eq!(shown("x = '鍵' bad", "bad").1, "         ^^^");
        assert_eq!(shown("x = '鍵'", "鍵").1, "     ^^");
    }

    #[test]
    fn related_places_and_help_stand_with_the_line() {
        let text = "a = 1\nb = 2\nc = 3\nd = 4\ne = 5\nf = 6\n";
        let source = SourceFile::new("locks.toml", text);
        let related = [(4..5, "given first here".to_owned())];
        assert_eq!(
            render(&source, &(34..35), &related, Some("remove one")),
            "  |\n1 | a = 1\n  |     - given first here\n...\n6 | f = 6\n  |     ^\n  |\n  = help: remove one"
        );
    }

    #[test]
    fn a_long_line_is_shown_in_part() {
        let line = format!("{}BAD{}", "a".repeat(50_000), "鍵".repeat(50_000));
        let (text, carets) = shown(&line, "BAD");
        assert!(text.chars().count() < 120, "{text}");
        assert!(text.starts_with("...a") && text.ends_with("鍵..."), "{text}");
        assert_eq!(&text[carets.find('^').expect("a caret")..carets.len()], "BAD");
    }

    #[test]
    fn what_takes_no_room_has_a_caret_all_the_same() {
        assert_eq!(
            shown("x = 'a\u{202e}b'", "\u{202e}"),
            ("x = 'a\u{FFFD}b'".into(), "      ^".into())
        );
        assert!(shown("x = 'e\u{301}'", "\u{301}").1.ends_with('^'));
    }

    #[test]
    fn nothing_moves_the_cursor_or_hides() {
        for c in ['\u{1b}', '\u{9b}', '\u{200b}', '\u{61c}', '\u{2066}', '\r'] {
            let (line, _) = shown(&format!("a{c}[2Jb"), "b");
            assert!(!line.contains(c), "{c:?}: {line:?}");
        }
    }
}
