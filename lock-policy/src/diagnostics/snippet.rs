//! A line of a file with what is wrong in it underlined.

use std::ops::Range;

use unicode_width::UnicodeWidthChar;

/// The most characters of a line that are shown; of a longer one those around the mistake.
const WINDOW: usize = 100;

/// The line, and below it as many spaces and carets as it takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Snippet {
    pub(crate) line: String,
    pub(crate) carets: String,
}

impl Snippet {
    /// `marked` counts bytes of `line`.
    pub(crate) fn new(line: &str, marked: Range<usize>) -> Self {
        let marked_chars = line[marked.clone()].chars().count();
        let before = line[..marked.start].chars().count();
        let (skip, cut) = window(line.chars().count(), before..before + marked_chars);
        let mut snippet = Self { line: String::new(), carets: String::new() };
        if skip > 0 {
            snippet.line.push_str("...");
            snippet.carets.push_str("   ");
        }
        for (nth, c) in line.chars().enumerate().skip(skip).take(WINDOW) {
            let shown = if misleads(c) { '\u{FFFD}' } else { c };
            snippet.line.push(shown);
            if nth < before {
                snippet.carets.push_str(&blank(shown));
            } else if nth < before + marked_chars {
                snippet.carets.push_str(&"^".repeat(width(shown)));
            }
        }
        if cut {
            snippet.line.push_str("...");
        }
        // A place between two characters, behind the last, or of one that takes no room.
        if !snippet.carets.ends_with('^') {
            snippet.carets.push('^');
        }
        snippet
    }
}

/// How many characters are left out before the window, and whether some are behind it.
fn window(length: usize, marked: Range<usize>) -> (usize, bool) {
    if length <= WINDOW {
        return (0, false);
    }
    // What leads to the mistake says more than what follows it.
    let lead = WINDOW.saturating_sub(marked.len()).min(WINDOW * 2 / 3);
    let skip = marked.start.saturating_sub(lead).min(length - WINDOW);
    (skip, skip + WINDOW < length)
}

/// Whether it moves the cursor, turns the direction of the text, or is there and not seen.
fn misleads(c: char) -> bool {
    let hidden = ['\u{61C}', '\u{200B}', '\u{2060}', '\u{FEFF}'].contains(&c);
    let turns =
        matches!(c, '\u{200E}' | '\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}');
    (c.is_control() && c != '\t') || hidden || turns
}

fn width(c: char) -> usize {
    if c == '\t' { 1 } else { c.width().unwrap_or(1) }
}

/// As wide as `c`; a tab stays one, whose width nobody knows.
fn blank(c: char) -> String {
    if c == '\t' { c.to_string() } else { " ".repeat(width(c)) }
}

#[cfg(test)]
mod tests {
    use super::Snippet;

    fn snippet(line: &str, marked: &str) -> (String, String) {
        let at = line.find(marked).expect("it is in the line");
        let snippet = Snippet::new(line, at..at + marked.len());
        (snippet.line, snippet.carets)
    }

    #[test]
    fn carets_stand_under_what_is_meant() {
        assert_eq!(snippet("wait = 1", "1").1, "       ^");
        assert_eq!(snippet("\twait = 11", "11").1, "\t       ^^");
        assert_eq!(snippet("x = '鍵' bad", "bad").1, "         ^^^");
        assert_eq!(snippet("x = '鍵'", "鍵").1, "     ^^");
        assert_eq!(Snippet::new("", 0..0).carets, "^");
    }

    #[test]
    fn a_long_line_is_shown_in_part() {
        let line = format!("{}BAD{}", "a".repeat(500), "b".repeat(500));
        let (text, carets) = snippet(&line, "BAD");
        assert!(text.len() < 110 && text.starts_with("...a") && text.ends_with("b..."), "{text}");
        assert_eq!(&text[carets.find('^').expect("a caret")..carets.len()], "BAD");
    }

    #[test]
    fn what_takes_no_room_has_a_caret_all_the_same() {
        assert_eq!(
            snippet("x = 'a\u{202e}b'", "\u{202e}"),
            ("x = 'a\u{FFFD}b'".into(), "      ^".into())
        );
        assert_eq!(snippet("x = 'e\u{301}'", "\u{301}").1, "      ^");
    }

    #[test]
    fn nothing_moves_the_cursor() {
        assert_eq!(snippet("a\u{1b}[2Jb", "b"), ("a\u{FFFD}[2Jb".into(), "     ^".into()));
    }
}
