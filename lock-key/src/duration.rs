use std::{fmt, time::Duration};

/// The shortest lease: 100 ms. A shorter one, renewed at a third of its time, could not be kept up.
pub const MIN_LEASE: Duration = Duration::from_millis(100);

/// The longest duration of an option: 365 days.
pub const MAX_DURATION: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// Parses a duration: a whole number and a unit (`ms`, `s`, `m` or `h`), such as `"500ms"` or `"2s"`.
///
/// # Errors
///
/// The text is something else, or the duration is longer than [`MAX_DURATION`].
pub fn parse_duration(text: &str) -> Result<Duration, DurationError> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    let factor: u64 = match unit {
        "ms" => 1,
        "s" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        _ => return Err(DurationError::Malformed),
    };
    if number.is_empty() {
        return Err(DurationError::Malformed);
    }
    // A number that overflows is certainly too long.
    let ms = number.parse::<u64>().ok().and_then(|number| number.checked_mul(factor));
    let duration = ms.map(Duration::from_millis).filter(|duration| *duration <= MAX_DURATION);
    duration.ok_or(DurationError::TooLong)
}

/// The reason why a text is not a valid duration for an option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum DurationError {
    /// It is not a whole number and a unit.
    Malformed,
    /// It is longer than [`MAX_DURATION`].
    TooLong,
}

impl fmt::Display for DurationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Malformed => "a duration is a whole number and a unit (ms, s, m or h)",
            Self::TooLong => "a duration is at most 365 days",
        })
    }
}

impl std::error::Error for DurationError {}
