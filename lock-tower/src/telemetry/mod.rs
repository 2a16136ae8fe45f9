//! Metrics, spans and logs of locks.

mod client_metrics;
pub(crate) mod keys;
pub mod metrics;
mod observer;
pub(crate) mod record;
pub(crate) mod spans;

use std::time::Duration;

use lock_core::{Kind, Mode};
use lock_policy::__private::LockName;

/// The description of a lock in logs, metrics, spans and problem documents. Never contains its key.
#[derive(Debug, Clone)]
pub(crate) struct LockLabel {
    pub(crate) name: LockName,
    /// `None` for several locks of different kinds.
    pub(crate) kind: Option<Kind>,
    pub(crate) mode: Mode,
}

/// Converts to whole milliseconds.
pub(crate) fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
