//! Snapshots of a key: its lock, holders and waiters.

use std::time::Duration;

use super::command::Holds;
use crate::types::{ClientInfo, FencingToken, Kind, Mode};

/// The state of a key in the store. The default is a key of which nothing is known.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct LockSnapshot {
    /// The kind of the lock; `None`: there are neither holders nor waiters.
    pub kind: Option<Kind>,
    /// The mode in which it is held; `None`: it is free.
    pub mode: Option<Mode>,
    /// The owners whose lease has not ended.
    pub holders: Vec<HolderSnapshot>,
    /// The remaining time of the lease that ends last. `None`: it is free, or held without end.
    pub remaining: Option<Duration>,
    /// The waiters, in the order of the line, if there is one.
    pub waiters: Vec<WaiterSnapshot>,
    /// A semaphore's free permits where the store keeps their number, negative while more are in use.
    pub free_permits: Option<i64>,
    /// The last fencing token that was given out or reserved, if it is still known.
    pub token: Option<FencingToken>,
    /// Whether all holders and waiters are listed.
    pub complete: bool,
}

impl Default for LockSnapshot {
    fn default() -> Self {
        Self {
            kind: None,
            mode: None,
            holders: Vec::new(),
            remaining: None,
            waiters: Vec::new(),
            free_permits: None,
            token: None,
            complete: true,
        }
    }
}

/// One owner that holds a lock.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct HolderSnapshot {
    /// Its [`OwnerId`](super::OwnerId) as text.
    pub owner: String,
    /// The counts of its holds.
    pub holds: Holds,
    /// The remaining time of its lease. `None`: it has no end, or none that is known.
    pub remaining: Option<Duration>,
    /// Its client's name, if the store has it beside the owner. `None`: see
    /// [`StoreAdmin::client_names`](super::StoreAdmin::client_names).
    pub client: Option<ClientInfo>,
    /// For how long it has been at the lock, if the store knows: its wait included.
    pub age: Option<Duration>,
    /// Its work, if the store has that beside the owner. `None`: see
    /// [`StoreAdmin::work`](super::StoreAdmin::work).
    pub work: Option<String>,
}

impl HolderSnapshot {
    /// Creates the snapshot of one holder.
    #[must_use]
    pub fn new(owner: impl Into<String>, holds: Holds, remaining: Option<Duration>) -> Self {
        Self { owner: owner.into(), holds, remaining, client: None, age: None, work: None }
    }
}

/// One owner that waits for a lock.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct WaiterSnapshot {
    /// Its [`OwnerId`](super::OwnerId) as text.
    pub owner: String,
    /// The mode that it waits for.
    pub mode: Mode,
    /// Its client's name, as that of a [holder](HolderSnapshot::client).
    pub client: Option<ClientInfo>,
    /// For how long it has waited, if the store knows.
    pub age: Option<Duration>,
    /// Its work, as that of a [holder](HolderSnapshot::work).
    pub work: Option<String>,
}

impl WaiterSnapshot {
    /// Creates the snapshot of one waiter.
    #[must_use]
    pub fn new(owner: impl Into<String>, mode: Mode) -> Self {
        Self { owner: owner.into(), mode, client: None, age: None, work: None }
    }
}
