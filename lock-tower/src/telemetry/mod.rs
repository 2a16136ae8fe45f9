//! Metrics, spans and logs of requests' locks.

mod lock_label;
pub mod metrics;
pub(crate) mod record;
pub(crate) mod spans;

use std::time::Duration;

pub(crate) use lock_label::LockLabel;

/// Converts to whole milliseconds.
pub(crate) fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
