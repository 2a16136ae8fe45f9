//! Counts of a client since it was built, for metrics and for operators.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{LeaderStatus, as_json};

/// The longest record that is read: more than the longest that is written.
const LONGEST_RECORD: usize = 32 * 1024;

/// Counts of one client since it was built: from
/// [`LockClient::statistics`](crate::LockClient::statistics). Counters never fall.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ClientStatistics {
    /// Commands that acquire, each answered by one round trip to the store.
    pub acquire: RoundTrips,
    /// Commands that release.
    pub release: RoundTrips,
    /// Commands that renew, each for up to 32 locks.
    pub renew: RoundTrips,
    /// How many locks the commands that renew were for: divided by their number, the mean size of a
    /// batch.
    pub renewed: u64,
    /// Grants to readers that share the lease of another reader of this process, without a command.
    pub shared_reads: u64,
    /// Grants that the holder before, in this process, passed on without a command.
    pub local_handoffs: u64,
    /// Deadlocks that were found by a waiter of this process, refused or not. Every member of a
    /// deadlock that looks finds it.
    pub deadlocks: u64,
    /// How often the store, or a part of it, was found not to answer.
    pub breaker_opened: u64,
    /// Whether it is known not to answer at this moment.
    pub breaker_open: bool,
    /// Acquisitions that wait for another one of this process at this moment.
    pub waiting: usize,
    /// How many of them wait for the same key, at most.
    pub longest_queue: usize,
    /// Locks that are being acquired, held or released at this moment.
    pub holds: usize,
    /// The [leaders](crate::LockClient::leader) that are running at this moment.
    pub leaders: Vec<LeaderStatus>,
}

/// Commands to the store that were answered, or failed, and how long that took in total.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RoundTrips {
    /// How many.
    pub count: u64,
    /// From sending each to its outcome, on this process' clock.
    pub time: Duration,
}

/// A key that acquisitions of one client had to wait for: from
/// [`LockClient::hot_keys`](crate::LockClient::hot_keys).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct HotKey {
    /// The key. It may be personal data: do not use it as a label of a metric.
    pub key: String,
    /// How many acquisitions found the lock taken. At least this many less
    /// [`overcount`](Self::overcount).
    pub contended: u64,
    /// By how much `contended` may be too large.
    pub overcount: u64,
    /// How long those of them waited in total that are counted for certain.
    #[serde(rename = "waited_ms", serialize_with = "as_json::duration")]
    #[serde(deserialize_with = "as_json::from_millis")]
    pub waited: Duration,
}

impl HotKey {
    /// Parses the record of another client; `None` if it is something else.
    pub(crate) fn parse_all(text: &str) -> Vec<Self> {
        if text.len() > LONGEST_RECORD {
            return Vec::new();
        }
        serde_json::from_str(text).unwrap_or_default()
    }
}
