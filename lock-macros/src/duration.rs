//! Durations as options spell them: a whole number and a unit.

use syn::{Error, LitStr, Result};

/// The longest duration an option takes: 365 days.
pub(crate) const LONGEST_MS: u64 = 365 * 24 * 60 * 60 * 1000;

/// The milliseconds that `text` stands for.
pub(crate) fn milliseconds(text: &LitStr) -> Result<u64> {
    parse(&text.value()).map_err(|message| Error::new(text.span(), message))
}

fn parse(text: &str) -> std::result::Result<u64, String> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    let factor: u64 = match unit {
        "ms" => 1,
        "s" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        _ => return Err(illegal(text)),
    };
    if number.is_empty() {
        return Err(illegal(text));
    }
    // A number that overflows is as certainly too long as one that does not.
    let ms = number.parse::<u64>().ok().and_then(|number| number.checked_mul(factor));
    ms.filter(|ms| *ms <= LONGEST_MS)
        .ok_or_else(|| format!("`{text}` is too long; a duration is at most 365 days"))
}

fn illegal(text: &str) -> String {
    format!(
        "`{}` is not a duration; write a whole number and a unit (ms, s, m or h), \
         such as \"500ms\", \"2s\", \"5m\" or \"1h\"",
        text.escape_debug()
    )
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn legal_durations() {
        assert_eq!(parse("0s"), Ok(0));
        assert_eq!(parse("500ms"), Ok(500));
        assert_eq!(parse("2s"), Ok(2_000));
        assert_eq!(parse("5m"), Ok(300_000));
        assert_eq!(parse("8760h"), Ok(31_536_000_000));
    }

    #[test]
    fn texts_that_are_no_durations() {
        for text in ["", "2", "s", "2 s", "2sec", "-2s", "+2s", "1.5s", "2S", "1m30s", "٢s"] {
            let message = parse(text).expect_err(text);
            assert!(message.contains("\"500ms\", \"2s\", \"5m\" or \"1h\""), "{message}");
        }
    }

    #[test]
    fn durations_beyond_a_year() {
        for text in ["8761h", "18446744073709551616ms", "18446744073709551615h"] {
            let message = parse(text).expect_err(text);
            assert!(message.contains("at most 365 days"), "{message}");
        }
    }
}
