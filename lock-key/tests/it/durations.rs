//! Which texts are durations.

use lock_key::{DurationError, parse_duration};

#[test]
fn legal_durations() {
    let milliseconds = |text| parse_duration(text).map(|duration| duration.as_millis());
    assert_eq!(milliseconds("0s"), Ok(0));
    assert_eq!(milliseconds("500ms"), Ok(500));
    assert_eq!(milliseconds("2s"), Ok(2_000));
    assert_eq!(milliseconds("5m"), Ok(300_000));
    assert_eq!(milliseconds("8760h"), Ok(31_536_000_000));
}

#[test]
fn malformed_durations() {
    for text in ["", "2", "s", "2 s", "2sec", "-2s", "+2s", "1.5s", "2S", "1m30s", "٢s"] {
        assert_eq!(parse_duration(text), Err(DurationError::Malformed), "{text}");
    }
}

#[test]
fn durations_beyond_a_year() {
    for text in ["8761h", "18446744073709551616ms", "18446744073709551615h"] {
        assert_eq!(parse_duration(text), Err(DurationError::TooLong), "{text}");
    }
}
