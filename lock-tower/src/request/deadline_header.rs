//! Reads the deadline that a client sets for its request.

use std::time::Duration;

use http::{HeaderMap, HeaderName, HeaderValue, request::Parts};

use super::{
    deadline::RequestDeadline,
    grpc_timeout::{self, GRPC_TIMEOUT},
};

/// Applies the deadline of the client to the request: that of the header `name`, if the service has
/// named one. Returns what is wrong with the header, if anything is.
pub(crate) fn limit_time(name: Option<&HeaderName>, parts: &mut Parts) -> Result<(), String> {
    let Some(name) = name else { return Ok(()) };
    let deadline = if *name == GRPC_TIMEOUT {
        // The client and its server each have a timer of the same length, which ends the request.
        grpc_timeout::read(&parts.headers)?.map(RequestDeadline::before)
    } else {
        read(name, &parts.headers)?.map(RequestDeadline::within)
    };
    if let Some(deadline) = deadline {
        deadline.shorten(&mut parts.extensions);
    }
    Ok(())
}

/// Returns the whole milliseconds in this header, if the request has it, or what is wrong with it.
/// The unit is never guessed: a client that means seconds would get a different wait from the one
/// it intended.
pub(crate) fn read(name: &HeaderName, headers: &HeaderMap) -> Result<Option<Duration>, String> {
    let Some(value) = only_value(name, headers)? else { return Ok(None) };
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

/// Returns the value of this header, if the request has it. Several values are ambiguous.
pub(super) fn only_value<'h>(
    name: &HeaderName,
    headers: &'h HeaderMap,
) -> Result<Option<&'h HeaderValue>, String> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (_, Some(_)) => Err(format!("the header `{name}` is given more than once; send it once")),
        (value, None) => Ok(value),
    }
}
