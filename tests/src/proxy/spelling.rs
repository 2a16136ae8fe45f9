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

#[cfg(test)]
mod tests {
    use super::*;

    fn respelled(text: &str, piece: usize) -> String {
        let mut spelling = Spelling::new(Some(7));
        let mut bytes = text.as_bytes().to_vec();
        bytes.chunks_mut(piece).for_each(|piece| spelling.respell(piece));
        String::from_utf8(bytes).expect("digits are text")
    }

    #[test]
    fn the_address_is_another_wherever_it_stands_and_however_it_is_cut() {
        for piece in [1, 2, 3, 100] {
            let text = "MOVED 5 127.0.0.1:80 1127.0.0.1 127.127.0.0.1 127.1.0.1";
            let wanted = "MOVED 5 127.0.7.1:80 1127.0.7.1 127.127.0.7.1 127.1.0.1";
            assert_eq!(respelled(text, piece), wanted, "in pieces of {piece}");
        }
    }
}
