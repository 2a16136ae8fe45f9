//! Commands as they are sent, one after another in a single buffer: RESP arrays of texts.

use redis::{Cmd, Pipeline};

/// Commands that go in one write. Each has one reply.
#[derive(Debug, Default)]
pub(crate) struct Packed {
    pub(crate) bytes: Vec<u8>,
    /// How many commands there are.
    pub(crate) count: usize,
}

impl Packed {
    pub(crate) fn with_capacity(bytes: usize) -> Self {
        Self { bytes: Vec::with_capacity(bytes), count: 0 }
    }

    /// Starts a command of `args` arguments, its name included. They must follow.
    #[inline]
    pub(crate) fn command(&mut self, args: usize) -> &mut Self {
        self.count += 1;
        push_header(&mut self.bytes, b'*', args);
        self
    }

    #[inline]
    pub(crate) fn arg(&mut self, text: impl AsRef<[u8]>) -> &mut Self {
        self.joined(&[text.as_ref()])
    }

    /// Adds one argument that consists of these parts.
    #[inline]
    pub(crate) fn joined(&mut self, parts: &[&[u8]]) -> &mut Self {
        push_text(&mut self.bytes, parts);
        self
    }

    #[inline]
    pub(crate) fn number(&mut self, number: u64) -> &mut Self {
        push_text(&mut self.bytes, &[Decimal::of(number).as_ref()]);
        self
    }

    /// Adds arguments.
    #[inline]
    pub(crate) fn args(&mut self, args: &ArgBuffer) -> &mut Self {
        self.bytes.extend_from_slice(args.packed());
        self
    }

    pub(crate) fn append(&mut self, others: &Self) -> &mut Self {
        self.count += others.count;
        self.bytes.extend_from_slice(&others.bytes);
        self
    }
}

impl From<&Cmd> for Packed {
    fn from(command: &Cmd) -> Self {
        Self { bytes: command.get_packed_command(), count: 1 }
    }
}

impl From<&Pipeline> for Packed {
    fn from(commands: &Pipeline) -> Self {
        Self { bytes: commands.get_packed_pipeline(), count: commands.len() }
    }
}

/// Adds a text that consists of these parts.
#[inline]
fn push_text(bytes: &mut Vec<u8>, parts: &[&[u8]]) {
    push_header(bytes, b'$', parts.iter().map(|part| part.len()).sum());
    parts.iter().for_each(|part| bytes.extend_from_slice(part));
    bytes.extend_from_slice(b"\r\n");
}

#[inline]
fn push_header(bytes: &mut Vec<u8>, kind: u8, length: usize) {
    // Nearly every length is below 100: without the loop it costs a quarter.
    let digit = |number: usize| b'0' + (number % 10) as u8;
    match length {
        0..10 => return bytes.extend_from_slice(&[kind, digit(length), b'\r', b'\n']),
        10..100 => {
            let tens = digit(length / 10);
            return bytes.extend_from_slice(&[kind, tens, digit(length), b'\r', b'\n']);
        }
        _ => {}
    }
    let mut line = [kind; 23];
    let first = write_decimal(&mut line[1..21], length as u64);
    line[first] = kind;
    line[21..].copy_from_slice(b"\r\n");
    bytes.extend_from_slice(&line[first..]);
}

/// A number as text.
pub(crate) struct Decimal {
    digits: [u8; 20],
    first: usize,
}

impl Decimal {
    #[inline]
    pub(crate) fn of(number: u64) -> Self {
        let mut digits = [0; 20];
        let first = write_decimal(&mut digits, number);
        Self { digits, first }
    }
}

impl AsRef<[u8]> for Decimal {
    fn as_ref(&self) -> &[u8] {
        &self.digits[self.first..]
    }
}

/// Writes the digits to the end, and returns where they begin.
#[inline]
fn write_decimal(digits: &mut [u8], mut number: u64) -> usize {
    let mut first = digits.len();
    while let Some(before) = first.checked_sub(1) {
        first = before;
        digits[first] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    first
}

/// Keys or arguments: a call has a dozen, and each would otherwise be allocated, grown and freed separately.
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
    fn commands_are_packed_as_the_redis_crate_packs_them() {
        for (number, length) in [(0, 0), (9, 9), (10, 10), (4_711, 99), (u64::MAX, 100)] {
            let text = "x".repeat(length);
            let mut packed = Packed::default();
            packed
                .command(4)
                .arg("SET")
                .joined(&[b"lock:", "k\u{fc}".as_bytes()])
                .arg(&text)
                .number(number);
            packed.append(&(&redis::cmd("PING")).into());
            let set = redis::cmd("SET").arg("lock:k\u{fc}").arg(&text).arg(number).to_owned();
            let mut both = redis::pipe();
            both.add_command(set).cmd("PING");
            let both = Packed::from(&both);
            assert_eq!(
                packed.bytes.escape_ascii().to_string(),
                both.bytes.escape_ascii().to_string()
            );
            assert_eq!(packed.count, both.count);
        }
    }

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
