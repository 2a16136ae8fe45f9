//! Keys or arguments, one after another in a single buffer: a call has a dozen, and each would
//! otherwise be allocated, grown and freed separately.

use std::{fmt, io::Write};

#[derive(Debug, Default)]
pub(crate) struct ArgBuffer {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl ArgBuffer {
    pub(crate) fn with_room_for(count: usize, bytes: usize) -> Self {
        Self { bytes: Vec::with_capacity(bytes), ends: Vec::with_capacity(count) }
    }

    pub(crate) fn push(&mut self, text: &[u8]) {
        self.bytes.extend_from_slice(text);
        self.ends.push(self.bytes.len());
    }

    pub(crate) fn push_display(&mut self, text: impl fmt::Display) {
        write!(self.bytes, "{text}").expect("BUG: memory takes whatever is written");
        self.ends.push(self.bytes.len());
    }

    pub(crate) fn append(&mut self, others: &Self) {
        for text in others.iter() {
            self.push(text);
        }
    }

    /// Removes trailing texts that equal the end of `texts`.
    pub(crate) fn trim(&mut self, texts: &[&str]) {
        for text in texts.iter().rev() {
            let start = self.ends.iter().rev().nth(1).copied().unwrap_or_default();
            if self.ends.is_empty() || &self.bytes[start..] != text.as_bytes() {
                return;
            }
            self.bytes.truncate(start);
            self.ends.pop();
        }
    }

    pub(crate) fn count(&self) -> usize {
        self.ends.len()
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes.len()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &[u8]> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, end)| &self.bytes[start..*end])
    }
}
