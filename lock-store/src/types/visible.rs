//! Text from outside that people read: on a terminal, in a log, on a page.

use std::borrow::Cow;

/// Whether a character moves the cursor, changes colours, turns the direction of the text, or is not
/// seen: control characters of both sets, and those that order or join text without a glyph.
#[must_use]
pub fn misleads(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{61C}' | '\u{200B}' | '\u{200E}' | '\u{200F}' | '\u{2028}'..='\u{202E}'
                | '\u{2060}' | '\u{2066}'..='\u{2069}' | '\u{FEFF}'
        )
}

/// Replaces each character that misleads by its code, such as `\u{202e}`.
#[must_use]
pub fn visible(text: &str) -> Cow<'_, str> {
    if !text.contains(misleads) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        if misleads(c) {
            shown.extend(c.escape_unicode());
        } else {
            shown.push(c);
        }
    }
    Cow::Owned(shown)
}

#[cfg(test)]
mod tests {
    use super::visible;

    #[test]
    fn what_misleads_is_shown_by_its_code() {
        assert_eq!(visible("a\u{1b}[2J\u{9b}2J\r\n\u{7f}"), r"a\u{1b}[2J\u{9b}2J\u{d}\u{a}\u{7f}");
        for c in ['\u{61c}', '\u{200e}', '\u{200f}', '\u{202a}', '\u{202e}', '\u{2066}', '\u{2069}']
        {
            assert_eq!(visible(&format!("a{c}b")), format!("a\\u{{{:x}}}b", u32::from(c)));
        }
        for plain in ["", "order:42", "größe 鍵 \"'\\", "עברית"] {
            assert_eq!(visible(plain), plain);
        }
    }
}
