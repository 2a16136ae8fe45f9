//! What stands in a store for a key.

use std::time::Duration;

use super::command::Holds;
use crate::{FencingToken, Kind, Mode};

/// What stands in the store for a key.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct LockSnapshot {
    /// `None`: nobody holds it and nobody waits.
    pub(crate) kind: Option<Kind>,
    pub(crate) mode: Option<Mode>,
    /// Whose time is not over.
    pub(crate) holders: Vec<HolderSnapshot>,
    /// What is left of the lease that ends last; `None` without holders, and for one without end.
    pub(crate) remaining: Option<Duration>,
    /// In order, where there is one.
    pub(crate) waiters: Vec<WaiterSnapshot>,
    /// A semaphore's free permits.
    pub(crate) free_permits: Option<i64>,
    /// The last fencing token that was given out, as far as it is still known.
    pub(crate) token: Option<FencingToken>,
    /// Whether all holders and waiters are listed.
    pub(crate) complete: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct HolderSnapshot {
    pub(crate) owner: String,
    pub(crate) holds: Holds,
    /// `None`: without end.
    pub(crate) remaining: Option<Duration>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WaiterSnapshot {
    pub(crate) owner: String,
    pub(crate) mode: Mode,
}
