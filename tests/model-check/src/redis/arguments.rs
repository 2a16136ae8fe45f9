//! Reading a command's arguments as strictly as Redis does.

use super::Reply;

pub(super) type Answer = Result<Reply, Reply>;

/// Redis takes a number for one when it is written as Redis would write it.
pub(super) fn whole(bytes: &[u8]) -> Result<i64, Reply> {
    let error = || Reply::error("ERR value is not an integer or out of range");
    let text = std::str::from_utf8(bytes).map_err(|_| error())?;
    let number: i64 = text.parse().map_err(|_| error())?;
    if number.to_string() == text { Ok(number) } else { Err(error()) }
}

pub(super) fn float(bytes: &[u8]) -> Result<f64, Reply> {
    let error = || Reply::error("ERR value is not a valid float");
    let text = std::str::from_utf8(bytes).map_err(|_| error())?;
    let number: f64 = text.parse().map_err(|_| error())?;
    if number.is_nan() { Err(error()) } else { Ok(number) }
}

/// As Redis 7.0 writes a score.
pub(super) fn written(score: f64) -> Vec<u8> {
    if score.fract() == 0.0 && score.abs() < 1e17 {
        return format!("{score:.0}").into_bytes();
    }
    format!("{score}").into_bytes()
}

pub(super) fn is(word: &[u8], name: &str) -> bool {
    word.eq_ignore_ascii_case(name.as_bytes())
}

pub(super) fn syntax<T>() -> Result<T, Reply> {
    Err(Reply::error("ERR syntax error"))
}

/// From a range of positions that may count from the end to one that exists.
pub(super) fn positions(from: i64, to: i64, len: usize) -> std::ops::Range<usize> {
    let len = i64::try_from(len).unwrap_or(i64::MAX);
    let from = if from < 0 { (from + len).max(0) } else { from };
    let to = if to < 0 { to + len } else { to.min(len - 1) };
    let place = |at: i64| usize::try_from(at).unwrap_or_default();
    if from > to || from >= len { 0..0 } else { place(from)..place(to + 1) }
}
