//! Finds the replies in a server's bytes, and decodes them: RESP2 and RESP3.

use std::str;

use redis::{Value, parse_redis_value};
use thiserror::Error;

/// Longer replies are not read: the longest that a request of this library has is a page of a list.
const MAX_REPLY: usize = 16 * 1_024 * 1_024;
/// Replies of more values are not read: each takes many times its bytes in memory. The slots of a large
/// cluster are some thousands.
const MAX_VALUES: usize = 131_072;
/// Longer lines are not read. Only texts and errors are lines; everything longer has a length.
const MAX_LINE: usize = 64 * 1_024;
/// The room that is kept between replies.
const ROOM: usize = 8 * 1_024;
/// The replies to most commands fit into it.
const SHORT: usize = 1_024;
/// Scripts nest their replies less deep. Values that are nested deeper are left to the redis crate.
const MAX_DEPTH: usize = 4;

/// Why a reply is not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub(crate) enum Malformed {
    #[error("the server sends something that is not a reply")]
    NoReply,
    #[error("the server sends a reply of more than {} MB, or a line of more than 64 kB", MAX_REPLY >> 20)]
    TooLong,
    #[error("the server sends a reply of more than {} values", MAX_VALUES)]
    TooManyValues,
}

/// The bytes that have arrived and are not yet taken.
pub(crate) struct ReplyReader {
    bytes: Vec<u8>,
    /// The first reply that is not taken begins here.
    start: usize,
    /// The bytes that have arrived end here.
    end: usize,
    /// How many bytes of that reply are complete, and how many values are still missing. A long
    /// reply that arrives in many pieces is searched once, not once for each piece.
    complete: usize,
    missing: usize,
    /// The values of that reply, as far as it names them.
    values: usize,
}

impl Default for ReplyReader {
    fn default() -> Self {
        Self { bytes: vec![0; ROOM], start: 0, end: 0, complete: 0, missing: 1, values: 1 }
    }
}

impl ReplyReader {
    /// Room for the bytes that arrive next; it is never empty.
    pub(crate) fn room(&mut self) -> &mut [u8] {
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
            if self.bytes.len() > ROOM {
                // The memory of one long reply must not stay allocated for the life of the
                // connection.
                self.bytes = vec![0; ROOM];
            }
        }
        if self.end == self.bytes.len() {
            self.bytes.copy_within(self.start.., 0);
            (self.start, self.end) = (0, self.end - self.start);
            if self.end > self.bytes.len() / 2 {
                self.bytes.resize(2 * self.bytes.len(), 0);
            }
        }
        &mut self.bytes[self.end..]
    }

    /// `length` bytes have arrived in the room.
    pub(crate) fn arrived(&mut self, length: usize) {
        self.end = (self.end + length).min(self.bytes.len());
    }

    /// The first line that is not taken, as far as it has arrived, for an error.
    pub(crate) fn beginning(&self) -> String {
        let bytes = self.bytes[self.start..self.end].split(|byte| b"\r\n".contains(byte)).next();
        let bytes = bytes.unwrap_or_default();
        bytes[..bytes.len().min(60)].escape_ascii().to_string()
    }

    /// Takes the next reply, if it is complete.
    pub(crate) fn next(&mut self) -> Result<Option<Value>, Malformed> {
        // Most replies are short and have arrived as a whole: they are read once, not twice. None of them is
        // longer than a reply may be.
        let arrived = &self.bytes[self.start..self.end];
        if self.complete == 0
            && let Some((value, rest)) = decode(&arrived[..arrived.len().min(SHORT)], MAX_DEPTH)
        {
            self.start += arrived.len().min(SHORT) - rest.len();
            return Ok(Some(value));
        }
        if !self.is_complete()? {
            return Ok(None);
        }
        let reply = &self.bytes[self.start..self.start + self.complete];
        let value = match decode(reply, MAX_DEPTH) {
            Some((value, [])) => value,
            _ => parse_redis_value(reply).map_err(|_| Malformed::NoReply)?,
        };
        self.start += self.complete;
        (self.complete, self.missing, self.values) = (0, 1, 1);
        Ok(Some(value))
    }

    fn is_complete(&mut self) -> Result<bool, Malformed> {
        let bytes = &self.bytes[self.start..self.end];
        while self.missing > 0 {
            if self.complete > MAX_REPLY {
                return Err(Malformed::TooLong);
            }
            let Some((kind, rest)) = bytes[self.complete..].split_first() else { return Ok(false) };
            let line = split_line(rest).map(|(line, _)| line);
            if line.unwrap_or(rest).len() > MAX_LINE {
                return Err(Malformed::TooLong);
            }
            let Some(line) = line else { return Ok(false) };
            let mut end = self.complete + 1 + line.len() + 2;
            let more = match kind {
                b'+' | b'-' | b':' | b',' | b'(' | b'#' | b'_' => 0,
                b'$' | b'=' | b'!' => {
                    if let Some(length) = length(line)? {
                        end += length + 2;
                        match bytes.get(end - 2..end) {
                            Some(b"\r\n") => {}
                            Some(_) => return Err(Malformed::NoReply),
                            None => return Ok(false),
                        }
                    }
                    0
                }
                b'*' | b'~' | b'>' => length(line)?.unwrap_or(0),
                b'%' => 2 * length(line)?.ok_or(Malformed::NoReply)?,
                // Attributes precede the value that they describe.
                b'|' => 2 * length(line)?.ok_or(Malformed::NoReply)? + 1,
                _ => return Err(Malformed::NoReply),
            };
            // Counted by the headers, before the values have arrived: a value takes many times its
            // bytes in memory, so a reply with too many of them is refused early.
            self.values = self.values.saturating_add(more);
            if self.values > MAX_VALUES {
                return Err(Malformed::TooManyValues);
            }
            self.complete = end;
            self.missing = self.missing - 1 + more;
        }
        Ok(true)
    }
}

/// The first line, and the bytes behind it.
fn split_line(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let mut from = 0;
    loop {
        let end = from + bytes[from..].iter().position(|byte| *byte == b'\r')?;
        match bytes.get(end + 1)? {
            b'\n' => return Some((&bytes[..end], &bytes[end + 2..])),
            _ => from = end + 1,
        }
    }
}

/// `None` for the length of a null.
fn length(line: &[u8]) -> Result<Option<usize>, Malformed> {
    if line == b"-1" {
        return Ok(None);
    }
    let length = number(line).and_then(|length| usize::try_from(length).ok());
    match length {
        Some(length) if length <= MAX_REPLY => Ok(Some(length)),
        Some(_) => Err(Malformed::TooLong),
        None => Err(Malformed::NoReply),
    }
}

fn number(line: &[u8]) -> Option<i64> {
    match line {
        [b'-', digits @ ..] => natural(digits)?.checked_neg(),
        digits => natural(digits),
    }
}

fn natural(digits: &[u8]) -> Option<i64> {
    let digit = |digit: &u8| digit.is_ascii_digit().then(|| i64::from(digit - b'0'));
    let add = |number: i64, next| number.checked_mul(10)?.checked_add(digit(next)?);
    let (first, rest) = digits.split_first()?;
    rest.iter().try_fold(digit(first)?, add)
}

/// Decodes the first value, and returns it with the bytes behind it; `None` for rare kinds. The
/// redis crate reads all kinds of values, at ten times the cost.
fn decode(bytes: &[u8], depth: usize) -> Option<(Value, &[u8])> {
    let (kind, rest) = bytes.split_first()?;
    let (line, rest) = split_line(rest)?;
    let value = match kind {
        b'+' if line == b"OK" => Value::Okay,
        b'+' => Value::SimpleString(str::from_utf8(line).ok()?.to_owned()),
        b':' => Value::Int(number(line)?),
        b'_' if line.is_empty() => Value::Nil,
        b'$' => match length(line).ok()? {
            None => Value::Nil,
            Some(length) => {
                let rest_after = rest.get(length..)?.strip_prefix(b"\r\n")?;
                return Some((Value::BulkString(rest[..length].to_owned()), rest_after));
            }
        },
        b'*' => match length(line).ok()? {
            None => Value::Nil,
            Some(length) => {
                let depth = depth.checked_sub(1)?;
                // Before there is room for them: not all of them have arrived.
                if length > rest.len() {
                    return None;
                }
                let (mut values, mut rest) = (Vec::with_capacity(length), rest);
                for _ in 0..length {
                    let (value, after) = decode(rest, depth)?;
                    values.push(value);
                    rest = after;
                }
                return Some((Value::Array(values), rest));
            }
        },
        _ => return None,
    };
    Some((value, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Everything that is read of bytes that arrive in pieces of this size.
    fn read(bytes: &[u8], size: usize) -> Result<Vec<Value>, Malformed> {
        let (mut reader, mut values) = (ReplyReader::default(), Vec::new());
        let mut rest = bytes;
        while !rest.is_empty() {
            let room = reader.room();
            let length = size.min(rest.len()).min(room.len());
            room[..length].copy_from_slice(&rest[..length]);
            reader.arrived(length);
            rest = &rest[length..];
            while let Some(value) = reader.next()? {
                values.push(value);
            }
        }
        Ok(values)
    }

    const ALL_KINDS: &str = "+OK\r\n+PONG\r\n-ERR no\r\n:-7\r\n$5\r\na\r\nbc\r\n$-1\r\n*-1\r\n_\r\n\
        *3\r\n:1\r\n*2\r\n$1\r\nx\r\n+OK\r\n-WRONGTYPE not that\r\n%1\r\n+a\r\n:1\r\n~1\r\n:2\r\n,1.5\r\n\
        #t\r\n(123\r\n=5\r\ntxt:a\r\n!5\r\nERR x\r\n|1\r\n+a\r\n:1\r\n:5\r\n>2\r\n+message\r\n$1\r\nc\r\n\
        *1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n:1\r\n*0\r\n";

    #[test]
    fn every_kind_is_read_however_it_is_cut() {
        let whole = read(ALL_KINDS.as_bytes(), usize::MAX).expect("replies");
        assert_eq!(whole.len(), 20);
        let mut rest = ALL_KINDS.as_bytes();
        for size in 1..rest.len() {
            assert_eq!(read(rest, size).as_ref(), Ok(&whole), "in pieces of {size}");
        }
        for value in whole {
            assert_eq!(parse_redis_value(rest).expect("a value"), value);
            let mut alone = ReplyReader::default();
            alone.room()[..rest.len()].copy_from_slice(rest);
            alone.arrived(rest.len());
            assert_eq!(alone.is_complete(), Ok(true));
            rest = &rest[alone.complete..];
        }
        assert_eq!(rest, b"");
    }

    #[test]
    fn a_line_ends_with_both_characters() {
        for (bytes, line) in [("+a\rb\r\n", "a\rb"), ("+a\r\r\n", "a\r"), ("+\r\n", "")] {
            let expected = Value::SimpleString(line.to_owned());
            assert_eq!(read(bytes.as_bytes(), usize::MAX), Ok(vec![expected]), "{bytes:?}");
        }
        assert_eq!(read(b"+a\r", usize::MAX), Ok(Vec::new()));
    }

    #[test]
    fn attributes_have_as_many_values_as_they_name() {
        let bytes = b"|2\r\n+a\r\n:1\r\n+b\r\n:2\r\n:5\r\n:6\r\n";
        let mut reader = ReplyReader::default();
        reader.room()[..bytes.len()].copy_from_slice(bytes);
        reader.arrived(bytes.len());
        reader.next().expect("a reply").expect("the value with its attributes");
        assert_eq!(reader.next(), Ok(Some(Value::Int(6))));
    }

    #[test]
    fn long_replies_are_read_and_their_room_is_given_back() {
        let long = format!("${}\r\n{}\r\n", 5 * ROOM, "x".repeat(5 * ROOM));
        let several = format!("+OK\r\n{long}:1\r\n{long}");
        let values = read(several.as_bytes(), 1_000).expect("replies");
        assert_eq!(values.len(), 4);
        assert_eq!(values[2], Value::Int(1));
        let mut reader = ReplyReader { bytes: vec![0; 4 * ROOM], ..ReplyReader::default() };
        assert_eq!(reader.room().len(), ROOM);
    }

    #[test]
    fn what_is_no_reply_is_refused() {
        for bytes in ["OK\r\n", "$x\r\n", "$-2\r\n", "$2\r\nabc\r\n", "*?\r\n", "%-1\r\n"] {
            assert_eq!(read(bytes.as_bytes(), usize::MAX), Err(Malformed::NoReply), "{bytes:?}");
        }
        assert_eq!(read(b"$99999999999\r\n", usize::MAX), Err(Malformed::TooLong));
        assert_eq!(read(&vec![b'+'; MAX_LINE + 10], 4_096), Err(Malformed::TooLong), "one line");
        assert_eq!(read(&b"*1\r\n".repeat(200), 9).map(|values| values.len()), Ok(0));
        let item = [b"$1000\r\n".as_slice(), &[b'x'; 1_000], b"\r\n"].concat();
        let long = item.iter().cycle().take(MAX_REPLY + item.len());
        let long: Vec<u8> = b"*100000\r\n".iter().chain(long).copied().collect();
        assert_eq!(read(&long, 60_000), Err(Malformed::TooLong), "an endless list");
        let mut deep = b"*1\r\n".repeat(150);
        deep.extend_from_slice(b":1\r\n");
        assert_eq!(read(&deep, usize::MAX), Err(Malformed::NoReply), "too deep");
    }

    #[test]
    fn a_reply_of_very_many_values_is_refused_before_it_is_kept() {
        let list = |length: usize| format!("*{length}\r\n");
        let many = [list(MAX_VALUES - 1), ":1\r\n".repeat(MAX_VALUES - 1)].concat();
        assert_eq!(read(many.as_bytes(), 60_000).map(|values| values.len()), Ok(1));
        // Its values have not arrived.
        for lists in [list(MAX_VALUES), list(40_000).repeat(4), "*16000000\r\n".repeat(9)] {
            assert_eq!(read(lists.as_bytes(), usize::MAX), Err(Malformed::TooManyValues));
        }
    }
}
