//! Reads the deadline that a client sets for its request.

use std::time::Duration;

use http::{HeaderMap, HeaderName};

/// Returns the whole milliseconds in this header, if the request has it, or what is wrong with it.
/// The unit is never guessed: a client that means seconds would get a different wait from the one
/// it intended.
pub(crate) fn read(name: &HeaderName, headers: &HeaderMap) -> Result<Option<Duration>, String> {
    let mut values = headers.get_all(name).iter();
    let Some(value) = values.next() else { return Ok(None) };
    if values.next().is_some() {
        return Err(format!("the header `{name}` is given more than once; send it once"));
    }
    let digits = value.to_str().ok().map(str::trim);
    let digits = digits.filter(|digits| digits.bytes().all(|digit| digit.is_ascii_digit()));
    match digits.and_then(|digits| digits.parse().ok()) {
        Some(milliseconds) => Ok(Some(Duration::from_millis(milliseconds))),
        None => Err(format!(
            "the header `{name}` is not a whole number of milliseconds from 0 to {}",
            u64::MAX
        )),
    }
}
