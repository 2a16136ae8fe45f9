//! Times as operators read them, on a terminal and on a page.

use std::time::Duration;

/// Returns a time in its two largest units, rounded down: `3.1 s`, `42 s`, `6 min`, `3 h 12 min`,
/// `2 d 4 h`.
#[must_use]
pub fn time_text(time: Duration) -> String {
    let seconds = time.as_secs();
    let (days, hours, minutes) = (seconds / 86_400, seconds / 3_600 % 24, seconds / 60 % 60);
    match (days, hours, minutes, seconds) {
        (0, 0, 0, 0..10) => format!("{seconds}.{} s", time.subsec_millis() / 100),
        (0, 0, 0, _) => format!("{seconds} s"),
        (0, 0, _, _) => format!("{minutes} min"),
        (0, _, 0, _) => format!("{hours} h"),
        (0, _, _, _) => format!("{hours} h {minutes} min"),
        (_, 0, _, _) => format!("{days} d"),
        _ => format!("{days} d {hours} h"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_has_two_units_at_most() {
        const MINUTE: u64 = 60;
        const HOUR: u64 = 60 * MINUTE;
        const DAY: u64 = 24 * HOUR;
        for (seconds, text) in [
            (0, "0.0 s"),
            (9, "9.0 s"),
            (10, "10 s"),
            (42, "42 s"),
            (MINUTE - 1, "59 s"),
            (MINUTE, "1 min"),
            (6 * MINUTE + 59, "6 min"),
            (HOUR, "1 h"),
            (3 * HOUR + 12 * MINUTE + 59, "3 h 12 min"),
            (DAY, "1 d"),
            (DAY + 59 * MINUTE, "1 d"),
            (2 * DAY + 4 * HOUR, "2 d 4 h"),
        ] {
            assert_eq!(time_text(Duration::from_secs(seconds)), text);
        }
        assert_eq!(time_text(Duration::from_millis(9_960)), "9.9 s", "not 10.0 s");
        assert_eq!(time_text(Duration::MAX), "213503982334601 d 7 h");
    }
}
