//! Reads the deadline of a gRPC request.

use std::time::Duration;

use http::{HeaderMap, HeaderName};

use super::deadline_header::only_value;

pub(super) const GRPC_TIMEOUT: HeaderName = HeaderName::from_static("grpc-timeout");
/// The protocol allows as many, which also keeps every product below within bounds.
const MOST_DIGITS: usize = 8;

/// Returns the time that a gRPC client gives its request, or what is wrong with its header.
///
/// Its value is one to eight digits and a unit, such as `300m` for 300 milliseconds:
/// <https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md>.
pub(crate) fn read(headers: &HeaderMap) -> Result<Option<Duration>, String> {
    let Some(value) = only_value(&GRPC_TIMEOUT, headers)? else { return Ok(None) };
    let parsed = value.to_str().ok().and_then(parse);
    parsed.map(Some).ok_or_else(|| {
        "the header `grpc-timeout` is not one to eight digits with a unit: H, M, S, m, u or n"
            .to_owned()
    })
}

fn parse(value: &str) -> Option<Duration> {
    let (digits, unit) = value.split_at_checked(value.len().checked_sub(1)?)?;
    let well_formed = (1..=MOST_DIGITS).contains(&digits.len())
        && digits.bytes().all(|digit| digit.is_ascii_digit());
    let number = digits.parse().ok().filter(|_| well_formed)?;
    match unit {
        "H" => Some(Duration::from_secs(number * 60 * 60)),
        "M" => Some(Duration::from_secs(number * 60)),
        "S" => Some(Duration::from_secs(number)),
        "m" => Some(Duration::from_millis(number)),
        "u" => Some(Duration::from_micros(number)),
        "n" => Some(Duration::from_nanos(number)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_unit() {
        for (value, milliseconds) in
            [("2H", 7_200_000), ("3M", 180_000), ("4S", 4_000), ("300m", 300), ("5000u", 5)]
        {
            assert_eq!(parse(value), Some(Duration::from_millis(milliseconds)), "{value}");
        }
        assert_eq!(parse("99999999n"), Some(Duration::from_nanos(99_999_999)));
        assert_eq!(parse("99999999H"), Some(Duration::from_secs(99_999_999 * 3_600)));
    }

    #[test]
    fn what_is_not_a_timeout() {
        for value in ["", "S", "5", "123456789S", "-1S", "+1S", "1.5S", "5s", "5 S", "5€", "€"]
        {
            assert_eq!(parse(value), None, "{value}");
        }
    }
}
