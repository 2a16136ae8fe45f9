//! Times as an operator reads them.

use std::time::Duration;

pub(crate) fn text(time: Option<Duration>) -> String {
    let Some(time) = time else { return String::new() };
    let seconds = time.as_secs();
    match (seconds / 3_600, seconds / 60 % 60, seconds % 60) {
        (0, 0, 0..10) => format!("{:.1} s", time.as_secs_f64()),
        (0, 0, seconds) => format!("{seconds} s"),
        (0, minutes, seconds) => format!("{minutes} min {seconds} s"),
        (hours, minutes, _) => format!("{hours} h {minutes} min"),
    }
}
