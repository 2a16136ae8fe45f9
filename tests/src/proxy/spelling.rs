//! Replaces 127.0.0.1 by another address of the same length.

/// The text before the digit that differs, and that digit.
const ADDRESS: &[u8] = b"127.0.0";

/// Rewrites one connection's bytes as they pass, however they are split into pieces.
pub(super) struct Spelling {
    digit: Option<u8>,
    /// How much of [`ADDRESS`] the last bytes matched.
    matched: usize,
}

impl Spelling {
    pub(super) fn new(digit: Option<u8>) -> Self {
        Self { digit: digit.map(|digit| b'0' + digit), matched: 0 }
    }

    pub(super) fn respell(&mut self, bytes: &mut [u8]) {
        let Some(digit) = self.digit else {
            return;
        };
        for byte in bytes {
            // No part of the address repeats its beginning, so a mismatch starts again from zero.
            self.matched = match (*byte == ADDRESS[self.matched], *byte == ADDRESS[0]) {
                (true, _) => self.matched + 1,
                (false, true) => 1,
                (false, false) => 0,
            };
            if self.matched == ADDRESS.len() {
                *byte = digit;
                self.matched = 0;
            }
        }
    }
}
