//! The results of inspecting and listing locks.

use std::time::Duration;

use lock_store::{ClientInfo, FencingToken, Kind, LockKey, Mode};
use serde::Serialize;

use super::{as_json, work::WorkInfo};

/// The state of a key in the store at the time of the call: from
/// [`LockClient::inspect`](crate::LockClient::inspect).
///
/// It serializes as `lockctl inspect --json` prints it: times as whole milliseconds
/// (`remaining_ms`, `age_ms`), a client as `service` and `instance`, and unknown values as `null`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Inspection {
    /// The kind of the lock; `None`: it has neither holders nor waiters. The plain kinds share one
    /// shape: with waiters in line it is [`Kind::Fair`], with a permanent token [`Kind::Fenced`],
    /// else [`Kind::Reentrant`].
    #[serde(serialize_with = "as_json::kind")]
    pub kind: Option<Kind>,
    /// The mode in which it is held; `None`: not at all.
    #[serde(serialize_with = "as_json::optional_mode")]
    pub mode: Option<Mode>,
    /// The holders.
    pub holders: Vec<HolderInfo>,
    /// The remaining time of the lease that ends last, on the store's clock; a live holder renews
    /// it. `None`: it is not held, or the lease has no end.
    #[serde(rename = "remaining_ms", serialize_with = "as_json::millis")]
    pub remaining: Option<Duration>,
    /// The waiters that the store knows: of the fair kinds in order, up to 64 of each process; of
    /// the others one writer of each process, and readers. The others are counted in [`waiting`](Self::waiting).
    pub waiters: Vec<WaiterInfo>,
    /// How many callers wait for it: the waiters listed here, and those in the queues of their processes
    /// and of the holders' as these have [recorded](WorkInfo::local_waiters) it. They are counted once one
    /// of them has waited for a second or two, and only by processes that record the work under locks.
    pub waiting: usize,
    /// A semaphore's free permits on Redisson's wire, negative while more are in use than there should
    /// be. On every other store the number of permits is each client's own.
    pub free_permits: Option<i64>,
    /// The last fencing token that was granted, or reserved for local handoffs of the holder. On
    /// the native wire it is that of all locks of the server, in a cluster of the slot. `None` if
    /// it has expired.
    #[serde(serialize_with = "as_json::token")]
    pub fencing_token: Option<FencingToken>,
    /// Whether all holders and waiters are listed: each list ends after about a thousand.
    pub complete: bool,
}

/// One owner that holds a lock.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct HolderInfo {
    /// The owner as `<client>:<number>`, or the permit of a semaphore.
    pub owner: String,
    /// The process that has this client, if it has set a client name.
    #[serde(flatten, serialize_with = "as_json::client")]
    pub client: Option<ClientInfo>,
    /// How often it reads.
    pub reads: u32,
    /// How often it writes, or holds a lock of a kind without readers.
    pub writes: u32,
    /// The remaining time of its lease, on the store's clock. `None`: it has no end, or the store
    /// does not know, as ZooKeeper, whose locks end with a session.
    #[serde(rename = "remaining_ms", serialize_with = "as_json::millis")]
    pub remaining: Option<Duration>,
    /// For how long it has held the lock, if it has written that [down](Self::work), by the clocks of its
    /// host and of this one. On ZooKeeper always, its wait included, by the clocks of the server and of
    /// this host.
    #[serde(rename = "age_ms", serialize_with = "as_json::millis")]
    pub age: Option<Duration>,
    /// The work it does, if it has held the lock for long.
    pub work: Option<WorkInfo>,
}

/// One owner that waits for a lock.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct WaiterInfo {
    /// The owner as `<client>:<number>`.
    pub owner: String,
    /// The process that has this client, if it has set a client name.
    #[serde(flatten, serialize_with = "as_json::client")]
    pub client: Option<ClientInfo>,
    /// The mode that it waits for.
    #[serde(serialize_with = "as_json::mode")]
    pub mode: Mode,
    /// For how long it has waited, if that is known: see [`HolderInfo::age`].
    #[serde(rename = "age_ms", serialize_with = "as_json::millis")]
    pub age: Option<Duration>,
    /// The work it does, if it has waited for long.
    pub work: Option<WorkInfo>,
}

/// The locks under a prefix: from [`LockClient::list`](crate::LockClient::list).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct KeyList {
    /// Their keys, sorted.
    pub keys: Vec<LockKey>,
    /// Whether these are all: not cut at the limit, not given up halfway, and no node of a cluster
    /// missing.
    pub complete: bool,
}

/// Events of one client's locks in the last quarter of an hour: from
/// [`LockClient::recent_events`](crate::LockClient::recent_events).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct RecentEvents {
    /// How long each period is. It serializes as `period_ms`.
    #[serde(rename = "period_ms", serialize_with = "as_json::duration")]
    pub period: Duration,
    /// How many acquisitions ended without the lock, oldest period first; the last one has not ended.
    /// Always sixty: periods before the client was built have none.
    pub refused: Vec<u32>,
    /// How many locks were lost while they were held, by the same periods.
    pub lost: Vec<u32>,
}
