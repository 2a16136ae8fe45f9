//! Durations in options: a whole number and a unit.

use std::time::Duration;

use lock_key::{DurationError, parse_duration};
use syn::{Error, LitStr, Result};

pub(crate) fn parse(literal: &LitStr) -> Result<Duration> {
    let text = literal.value();
    parse_duration(&text).map_err(|error| Error::new(literal.span(), refusal(&text, error)))
}

fn refusal(text: &str, error: DurationError) -> String {
    let text = text.escape_debug();
    match error {
        DurationError::TooLong => {
            format!("`{text}` is too long; a duration is at most 365 days")
        }
        _ => format!(
            "`{text}` is not a duration; write a whole number and a unit (ms, s, m or h), \
             such as \"500ms\", \"2s\", \"5m\" or \"1h\""
        ),
    }
}
