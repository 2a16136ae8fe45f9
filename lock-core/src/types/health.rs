use std::time::{Duration, SystemTime};

use lock_store::{FencingToken, LockKey, Unavailable};

/// The state of a client and its store: from [`LockClient::health`](crate::LockClient::health).
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Health {
    /// The kind of store: `"memory"`, `"redis"`, `"zookeeper"`, or the name of your own.
    pub store: &'static str,
    /// How long the store took to answer just now, or why it did not.
    pub round_trip: Result<Duration, Unavailable>,
    /// Dangers for locks in the store, such as an eviction policy.
    pub warnings: Vec<String>,
    /// Further details that help to find this client in the store, such as its session.
    pub details: Vec<String>,
    /// Locks of this client that are being acquired, held or released.
    pub holds: usize,
    /// Acquisitions that wait for another one of this process.
    pub waiting: usize,
    /// Whether the store, or a part of it, is known not to answer: acquisitions that
    /// [fail fast](crate::Acquire::fail_fast) are refused there until a probe is answered.
    pub breaker_open: bool,
    /// Whether the client is shutting down.
    pub draining: bool,
    /// The [leaders](crate::LockClient::leader) of this client that are running.
    pub leaders: Vec<LeaderStatus>,
}

impl Health {
    /// Returns whether locks can be acquired: the store answers and the client is not shutting
    /// down.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.round_trip.is_ok() && !self.draining
    }
}

/// The state of a running leader: from [`Health::leaders`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct LeaderStatus {
    /// Its [name](crate::Leader::name).
    pub name: Option<String>,
    /// Its key.
    pub key: LockKey,
    /// The fencing token of its term. `None`: it is a candidate, and does not lead.
    pub term: Option<FencingToken>,
    /// Since when it leads, or does not, by the clock of the host.
    pub since: SystemTime,
}

/// The state of a lease, as far as it is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum LeaseState {
    /// Granted, and not renewed yet.
    Held,
    /// Renewed at least once.
    Renewed,
    /// The last renewal failed or was not answered. It is tried again; the lock is still held.
    Unknown,
    /// Over: another owner may hold the lock.
    Lost,
}
