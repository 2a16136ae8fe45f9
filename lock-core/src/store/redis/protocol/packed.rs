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

    /// Starts a command of so many arguments, its name included. They must follow.
    pub(crate) fn command(&mut self, args: usize) -> &mut Self {
        self.count += 1;
        self.header(b'*', args)
    }

    pub(crate) fn arg(&mut self, text: impl AsRef<[u8]>) -> &mut Self {
        self.joined(&[text.as_ref()])
    }

    /// Adds one argument that consists of these parts.
    pub(crate) fn joined(&mut self, parts: &[&[u8]]) -> &mut Self {
        self.header(b'$', parts.iter().map(|part| part.len()).sum());
        parts.iter().for_each(|part| self.bytes.extend_from_slice(part));
        self.bytes.extend_from_slice(b"\r\n");
        self
    }

    pub(crate) fn number(&mut self, number: u64) -> &mut Self {
        let mut digits = [0; 20];
        let digits = decimal(number, &mut digits);
        self.joined(&[digits])
    }

    fn header(&mut self, kind: u8, length: usize) -> &mut Self {
        self.bytes.push(kind);
        let mut digits = [0; 20];
        self.bytes.extend_from_slice(decimal(length as u64, &mut digits));
        self.bytes.extend_from_slice(b"\r\n");
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

fn decimal(mut number: u64, digits: &mut [u8; 20]) -> &[u8] {
    let mut first = digits.len();
    loop {
        first -= 1;
        digits[first] = b'0' + u8::try_from(number % 10).unwrap_or_default();
        number /= 10;
        if number == 0 {
            return &digits[first..];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_packed_as_the_redis_crate_packs_them() {
        for number in [0, 9, 10, 4_711, u64::MAX] {
            let mut packed = Packed::default();
            packed
                .command(4)
                .arg("SET")
                .joined(&[b"lock:", "k\u{fc}".as_bytes()])
                .arg("")
                .number(number);
            packed.append(&(&redis::cmd("PING")).into());
            let set = redis::cmd("SET").arg("lock:k\u{fc}").arg("").arg(number).to_owned();
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
}
