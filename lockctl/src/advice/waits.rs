//! The waits that are compared.

use std::time::Duration;

/// Round values, so that a policy file stays readable.
const LADDER: [u64; 14] =
    [0, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 20_000, 30_000, 60_000];

/// The wait of a rule that sets none: the client's, by default.
pub(crate) const DEFAULT_WAIT: Duration = Duration::from_secs(1);
/// The lease of a rule that sets none: the client's, by default.
pub(crate) const DEFAULT_LEASE: Duration = Duration::from_secs(30);

/// Returns the waits to compare, ascending.
pub(crate) fn ladder() -> impl Iterator<Item = Duration> {
    LADDER.into_iter().map(Duration::from_millis)
}

/// Writes a duration as policy files have it.
pub(crate) fn written(duration: Duration) -> String {
    let ms = duration.as_millis();
    if ms > 0 && ms.is_multiple_of(1_000) { format!("{}s", ms / 1_000) } else { format!("{ms}ms") }
}

/// Whether a shorter wait is worth a change: half of the present one at most.
pub(crate) fn is_much_shorter(wait: Duration, present: Duration) -> bool {
    wait * 2 <= present
}
