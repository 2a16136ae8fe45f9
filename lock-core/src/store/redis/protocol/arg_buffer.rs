//! Keys or arguments, packed one after another in a single buffer: a call has a dozen, and each would
//! otherwise be allocated, grown and freed separately.

use super::packed::{Decimal, push_text};

#[derive(Debug, Default)]
pub(crate) struct ArgBuffer {
    packed: Vec<u8>,
    count: usize,
}

/// Room for the arguments of most calls.
const ROOM: usize = 192;

impl ArgBuffer {
    pub(crate) fn push(&mut self, text: &[u8]) {
        self.push_joined(&[text]);
    }

    /// Adds one text that consists of these parts.
    pub(crate) fn push_joined(&mut self, parts: &[&[u8]]) {
        if self.packed.capacity() == 0 {
            self.packed.reserve(ROOM);
        }
        push_text(&mut self.packed, parts);
        self.count += 1;
    }

    pub(crate) fn push_number(&mut self, number: u64) {
        self.push(Decimal::of(number).as_ref());
    }

    pub(crate) fn append(&mut self, others: &Self) {
        self.packed.extend_from_slice(&others.packed);
        self.count += others.count;
    }

    /// Removes trailing texts that equal the end of `texts`. No text has a line break.
    pub(crate) fn trim(&mut self, texts: &[&str]) {
        for text in texts.iter().rev() {
            let mut last = Vec::new();
            push_text(&mut last, &[text.as_bytes()]);
            if !self.packed.ends_with(&last) {
                return;
            }
            self.packed.truncate(self.packed.len() - last.len());
            self.count -= 1;
        }
    }

    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// As they are sent.
    pub(crate) fn packed(&self) -> &[u8] {
        &self.packed
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &[u8]> {
        let mut rest = self.packed.as_slice();
        std::iter::from_fn(move || {
            let end = rest.iter().position(|byte| *byte == b'\r')?;
            let length: usize = std::str::from_utf8(rest.get(1..end)?).ok()?.parse().ok()?;
            let (text, after) = rest.get(end + 2..)?.split_at_checked(length)?;
            rest = after.get(2..)?;
            Some(text)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trailing_defaults_are_removed_and_the_rest_is_kept() {
        let mut args = ArgBuffer::default();
        for text in ["k", "", "10", "0", "0"] {
            args.push(text.as_bytes());
        }
        args.trim(&["1", "0", "0"]);
        assert_eq!(args.iter().collect::<Vec<_>>(), [&b"k"[..], b"", b"10"]);
        assert_eq!(args.count(), 3);
        args.trim(&["k", "", "0"]);
        assert_eq!(args.count(), 3);
    }
}
