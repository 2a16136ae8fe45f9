//! Why a lock was not acquired.

use std::time::Duration;

use thiserror::Error;

use super::{InvalidOptions, Lost, Unavailable, Unsupported, WrongKind};
use crate::types::{KeyError, LockKey, Mode};

/// Why a lock was not acquired.
///
/// But for [`Unavailable`](Self::Unavailable), nothing is held. After it the lock may be held until
/// [`Unavailable::may_be_held_for`] is over, unless the release that was queued gets through first.
#[derive(Debug, Clone, Error)]
#[non_exhaustive]
pub enum AcquireError {
    /// The key is not valid. Nothing was sent.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// A wait, lease or `max_hold` is out of bounds. Nothing was sent.
    #[error(transparent)]
    InvalidOptions(#[from] InvalidOptions),
    /// Somebody else holds the lock, and the wait is over. Safe to ask again.
    #[error(transparent)]
    Busy(#[from] Busy),
    /// Too many waiters of this process stand before this key, or before all keys together. Safe to
    /// ask again later.
    #[error(transparent)]
    Overloaded(#[from] Overloaded),
    /// The store did not answer, or not in time. A release is on its way.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
    /// The client is shutting down and grants nothing more.
    #[error("the lock client is shutting down: no lock is granted any more")]
    Draining,
    /// The scope holds the lock for reading and asked to write: it would wait for itself for ever.
    #[error(
        "this scope reads \"{key}\" and asked to write it, which would wait for itself for ever: \
         acquire the write lock first, or use LockGuard::upgrade"
    )]
    ReadHeld {
        /// The key.
        key: LockKey,
    },
    /// The scope holds the lock, which is not reentrant, and asked for it again: it would wait for
    /// itself for ever.
    #[error(
        "this scope holds \"{key}\" and asked for it again, but the lock is not reentrant and would \
         wait for itself for ever: pass the guard on, or use a reentrant kind"
    )]
    AlreadyHeld {
        /// The key.
        key: LockKey,
    },
    /// The scope's own hold, which this acquisition would have entered again, is lost; or one of
    /// several locks was, while another of them was waited for.
    #[error(transparent)]
    Lost(#[from] Lost),
    /// Something else than a lock of this kind stands under this key.
    #[error(transparent)]
    WrongKind(#[from] WrongKind),
    /// The store cannot do this at all, whenever it is asked.
    #[error(transparent)]
    Unsupported(#[from] Unsupported),
}

/// Somebody else holds the lock. Nothing is held by the caller.
#[derive(Debug, Clone, Error)]
#[error("\"{key}\" is locked by somebody else; waited {waited:?} to {mode} it")]
pub struct Busy {
    pub(crate) key: LockKey,
    pub(crate) mode: Mode,
    pub(crate) waited: Duration,
    pub(crate) holder_remaining: Option<Duration>,
}

impl Busy {
    /// The key that was asked for.
    #[must_use]
    pub fn key(&self) -> &LockKey {
        &self.key
    }

    /// The mode that was asked for.
    #[must_use]
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// How long the caller waited, on its own clock.
    #[must_use]
    pub fn waited(&self) -> Duration {
        self.waited
    }

    /// What was left of the holder's lease when it was last looked at; a holder that lives renews
    /// it. `None` when it was not looked at, or has no end.
    #[must_use]
    pub fn holder_remaining(&self) -> Option<Duration> {
        self.holder_remaining
    }
}

/// Too many waiters of this process stand before one key, or before all keys together. Nothing is
/// held by the caller.
#[derive(Debug, Clone, Error)]
#[error(
    "{waiters} waiters of this process stand before {} already, which is the most allowed",
    if *in_all { "its locks, all together,".to_owned() } else { format!("\"{key}\"") }
)]
pub struct Overloaded {
    pub(crate) key: LockKey,
    pub(crate) waiters: usize,
    pub(crate) in_all: bool,
}

impl Overloaded {
    /// The key that was asked for.
    #[must_use]
    pub fn key(&self) -> &LockKey {
        &self.key
    }

    /// How many waiters there were: before the key, or [in all](Self::is_total).
    #[must_use]
    pub fn waiters(&self) -> usize {
        self.waiters
    }

    /// Whether it was the bound on the waiters of all keys together that was reached:
    /// [`max_waiters_total`](crate::LockClientBuilder::max_waiters_total).
    #[must_use]
    pub fn is_total(&self) -> bool {
        self.in_all
    }
}
