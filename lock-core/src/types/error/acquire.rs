//! Why a lock was not acquired.

use std::time::Duration;

use lock_store::{ClientInfo, KeyError, LockKey, Mode};
use lock_store::{InvalidOptions, Unavailable, Unsupported};
use thiserror::Error;

use super::{Lost, WrongKind};
use crate::types::WorkInfo;

/// The reason why a lock was not acquired.
///
/// Nothing is held, except after [`Unavailable`](Self::Unavailable): then the lock may be held for
/// [`Unavailable::may_be_held_for`], unless the queued release reaches the store first.
#[derive(Debug, Clone, Error)]
#[non_exhaustive]
pub enum AcquireError {
    /// The key is not valid. Nothing was sent.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// A wait, lease or `max_hold` is out of bounds. Nothing was sent.
    #[error(transparent)]
    InvalidOptions(#[from] InvalidOptions),
    /// Another holder has the lock, and the wait has ended. Safe to retry.
    #[error(transparent)]
    Busy(#[from] Busy),
    /// The scope waits for itself, through other processes, and this acquisition was the last to
    /// wait: only if [deadlocks are refused](crate::Acquire::refuse_deadlock).
    #[error(transparent)]
    Deadlock(#[from] Deadlock),
    /// Too many acquisitions of this process wait for this key, or for all keys in total. Safe to
    /// retry later.
    #[error(transparent)]
    Overloaded(#[from] Overloaded),
    /// The store did not answer, or not in time. A release is queued.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
    /// The client is shutting down and grants no more locks.
    #[error("the lock client is shutting down: it grants no more locks")]
    Draining,
    /// The scope holds the lock for reading and acquires it for writing: it would wait for itself
    /// forever.
    #[error(
        "this scope holds \"{key}\" for reading and acquires it for writing: it would wait for itself \
         forever; acquire the write lock first, or use LockGuard::upgrade"
    )]
    ReadHeld {
        /// The key.
        key: LockKey,
    },
    /// The scope holds the lock, which is not reentrant, and acquires it again: it would wait for
    /// itself forever.
    #[error(
        "this scope holds \"{key}\" and acquires it again, but the lock is not reentrant: it would \
         wait for itself forever; pass the guard along, or use a reentrant kind"
    )]
    AlreadyHeld {
        /// The key.
        key: LockKey,
    },
    /// The scope's own hold, which this acquisition would have re-entered, is lost. Or one of
    /// several locks was lost while the caller waited for another one.
    #[error(transparent)]
    Lost(#[from] Lost),
    /// A newer caller has come while this one waited, and [the latest
    /// wins](crate::Acquire::replace_after).
    #[error("a newer caller of \"{key}\" has replaced this one, which waited")]
    Replaced {
        /// The key.
        key: LockKey,
    },
    /// The key holds a value that is not a lock of this kind.
    #[error(transparent)]
    WrongKind(#[from] WrongKind),
    /// The store does not support this. A retry does not help.
    #[error(transparent)]
    Unsupported(#[from] Unsupported),
}

/// The error of an acquisition while another holder has the lock. The caller holds nothing.
#[derive(Debug, Clone, Error)]
#[error("\"{key}\" is locked by another holder; waited {waited:?} to {mode} it")]
pub struct Busy {
    pub(crate) key: LockKey,
    pub(crate) mode: Mode,
    pub(crate) waited: Duration,
    pub(crate) holder_remaining: Option<Duration>,
    pub(crate) holder: Option<Box<BusyHolder>>,
    pub(crate) is_early: bool,
}

impl Busy {
    /// The same, of an acquisition that has waited for `waited`.
    pub(crate) fn after(self, waited: Duration) -> Self {
        Self { waited, ..self }
    }

    /// Returns the key of the acquisition.
    #[must_use]
    pub fn key(&self) -> &LockKey {
        &self.key
    }

    /// Returns the mode of the acquisition.
    #[must_use]
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// Returns how long the caller waited, on its own clock.
    #[must_use]
    pub fn waited(&self) -> Duration {
        self.waited
    }

    /// Returns the rest of the holder's lease at the last attempt; a live holder renews it. `None`
    /// if it is not known, or does not end.
    #[must_use]
    pub fn holder_remaining(&self) -> Option<Duration> {
        self.holder_remaining
    }

    /// Whether the caller was refused before its wait was over, because it would almost surely have waited
    /// in vain: only where a policy has `refuse_early`.
    #[must_use]
    pub fn is_early(&self) -> bool {
        self.is_early
    }

    /// Returns a holder of the lock, as it was when the acquisition had waited for half a second.
    /// `None` after a shorter wait, behind another waiter of this process, which alone looks, or if
    /// the client does not [record](crate::LockClientBuilder::record_work) the work under locks.
    /// For the log, not for clients.
    #[must_use]
    pub fn holder(&self) -> Option<&BusyHolder> {
        self.holder.as_deref()
    }
}

/// The holder of a lock that was waited for: from [`Busy::holder`].
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct BusyHolder {
    /// The process that has this client, if it has set a client name.
    pub client: Option<ClientInfo>,
    /// The work it does, if it had held the lock for long.
    pub work: Option<WorkInfo>,
}

/// The error of an acquisition that would wait for itself: the owner of the lock waits, directly or
/// through others, for a lock of this scope. The caller did not get the lock and keeps its other
/// holds. It must release them so that the others can continue, and may try again then.
#[derive(Debug, Clone, Error)]
#[error(
    "acquiring \"{key}\" would wait forever: its holder waits, itself or through others, for a lock that \
     this scope holds; acquire locks in the same order everywhere, or all of them at once"
)]
pub struct Deadlock {
    pub(crate) key: LockKey,
    pub(crate) keys: Vec<String>,
}

impl Deadlock {
    /// Returns the key of the acquisition.
    #[must_use]
    pub fn key(&self) -> &LockKey {
        &self.key
    }

    /// Returns the keys of the circle, from the one that was waited for to the one that this scope
    /// holds: the holder of each waits for the next.
    #[must_use]
    pub fn keys(&self) -> &[String] {
        &self.keys
    }
}

/// The error of an acquisition beside which too many of this process wait, for one key or for all
/// keys in total. The caller holds nothing.
#[derive(Debug, Clone, Error)]
#[error(
    "too many acquisitions are waiting in this process {}: {waiters}, limit reached",
    if *in_all { "for all locks".to_owned() } else { format!("for \"{key}\"") }
)]
pub struct Overloaded {
    pub(crate) key: LockKey,
    pub(crate) waiters: usize,
    pub(crate) in_all: bool,
}

impl Overloaded {
    /// Returns the key of the acquisition.
    #[must_use]
    pub fn key(&self) -> &LockKey {
        &self.key
    }

    /// Returns how many acquisitions wait: for the key, or [in total](Self::is_total).
    #[must_use]
    pub fn waiters(&self) -> usize {
        self.waiters
    }

    /// Returns whether the limit for all keys in total was reached:
    /// [`max_waiters_total`](crate::LockClientBuilder::max_waiters_total).
    #[must_use]
    pub fn is_total(&self) -> bool {
        self.in_all
    }
}
