//! The outcomes of commands.
//!
//! Their enums are exhaustive: a client that ignored an outcome that it does not know would grant or lose
//! a lock in silence. A new outcome is a new version of the contract.

use std::{future::ready, time::Duration};

use futures_util::{FutureExt, future::BoxFuture};

use crate::types::{FencingToken, StoreError, Unavailable, Unsupported};

/// The future of a command's outcome.
pub type StoreFuture<'a, T> = BoxFuture<'a, Result<T, StoreError>>;

pub(crate) fn unsupported<'a, T: Send + 'a>(what: &'static str) -> StoreFuture<'a, T> {
    ready(Err(Unsupported::new(what).into())).boxed()
}

/// The outcome of an [`AcquireCommand`](super::AcquireCommand).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Acquired {
    /// The owner has the requested holds. With a token if this is its first hold on the key and the
    /// kind has tokens: a re-entry has none, and a semaphore has none.
    Granted(Option<FencingToken>),
    /// Others hold the lock, or are ahead in line.
    Busy {
        /// After how long another try may succeed without a wake-up: the remaining time of the
        /// longest holder, or of the places of waiters ahead. `None`: not known.
        remaining: Option<Duration>,
        /// Whether the requested place in line is taken.
        in_line: bool,
    },
    /// Others read, and a writer that waits is ahead of this reader.
    Yield {
        /// How long the writer's place has to live.
        remaining: Duration,
        /// Whether the requested place in line is taken.
        in_line: bool,
    },
    /// A re-entry whose outer hold is gone.
    Lost,
    /// The key holds something that is not a lock of this kind.
    WrongKind,
}

/// The outcome of several [`AcquireCommand`](super::AcquireCommand)s that were executed as one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AcquiredAll {
    /// Each is granted, with its token, in the order of the commands.
    Granted(Vec<Option<FencingToken>>),
    /// One was refused, and none is held.
    Refused {
        /// The position of the command that was refused.
        at: usize,
        /// Its outcome.
        answer: Acquired,
    },
}

/// The outcome of a [`ReleaseCommand`](super::ReleaseCommand).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Released {
    /// Released, and the lock is free.
    Freed,
    /// As [`Freed`](Self::Freed), and the lock is reserved for waiters in the store's line. The client lets
    /// them try first. A hint: a store may answer `Freed` instead.
    Reserved,
    /// Released, and the owner or other readers still hold the lock.
    StillHeld,
    /// The owner had no such hold: it has ended, was taken away, or was released before.
    Gone,
}

/// The outcome of a [`RenewCommand`](super::RenewCommand).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Renewal {
    /// The hold lasts for another lease.
    Renewed,
    /// The owner has no such hold.
    Lost,
    /// It is not known. The client logs the reason, and tries again until the lease ends on its own
    /// clock.
    Failed {
        /// The error of the store.
        reason: String,
    },
}

impl Renewal {
    /// Returns a renewal of which it is not known whether it was done, for this reason.
    #[must_use]
    pub fn failed(reason: impl Into<String>) -> Self {
        Self::Failed { reason: reason.into() }
    }
}

/// The outcome of a [`TransferCommand`](super::TransferCommand).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transferred {
    /// The new owner has the hold, by this command or an earlier one of the same owners.
    Done,
    /// The former owner has no such hold, and neither has the new one.
    Gone,
}

/// The outcome of an upgrade.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Upgraded {
    /// The owner writes, with a new token.
    Granted(FencingToken),
    /// Others read too. Nothing has changed.
    NotSole,
    /// The owner has no such hold.
    Lost,
}

/// The outcome of a downgrade.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Downgraded {
    /// The owner has the requested holds.
    Done,
    /// The owner has no such hold.
    Lost,
}

/// The identity of the server that a store is on.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct StoreIdentity {
    /// The identity: a new one after every start that may have forgotten locks.
    pub id: String,
    /// The time since it started, at least.
    pub up: Duration,
}

impl StoreIdentity {
    /// Creates a server's identity.
    #[must_use]
    pub fn new(id: impl Into<String>, up: Duration) -> Self {
        Self { id: id.into(), up }
    }
}

/// The state of a store, for `LockClient::health`.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct StoreHealth {
    /// The kind of store, such as `"memory"`.
    pub kind: &'static str,
    /// How long the store took to answer just now, or why it did not.
    pub round_trip: Result<Duration, Unavailable>,
    /// Dangers for locks, such as an eviction policy.
    pub warnings: Vec<String>,
    /// Further details that help to find the client in the store, such as its session.
    pub details: Vec<String>,
}

impl StoreHealth {
    /// Creates the state of a store without warnings.
    #[must_use]
    pub fn new(kind: &'static str, round_trip: Result<Duration, Unavailable>) -> Self {
        Self { kind, round_trip, warnings: Vec::new(), details: Vec::new() }
    }
}
