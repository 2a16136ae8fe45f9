//! What can go wrong, and what may be assumed about the lock when it has.

use std::{borrow::Cow, error::Error as StdError, fmt, sync::Arc, time::Duration};

use thiserror::Error;

use crate::{KeyError, Kind, LockKey, Mode};

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

    /// How many waiters there were: before the key, or [in all](Self::in_all).
    #[must_use]
    pub fn waiters(&self) -> usize {
        self.waiters
    }

    /// Whether it was the bound on the waiters of all keys together that was reached:
    /// [`max_waiters_in_all`](crate::LockClientBuilder::max_waiters_in_all).
    #[must_use]
    pub fn in_all(&self) -> bool {
        self.in_all
    }
}

/// The store did not do what it was asked, or nobody knows whether it did.
#[derive(Clone, Error)]
pub struct Unavailable {
    pub(crate) reason: String,
    pub(crate) may_be_held_for: Duration,
    /// Whether that is because the store did not answer, or there was no connection to it.
    pub(crate) silent: bool,
    /// Whether the caller's own wait was over before there was an answer: of the store that says
    /// nothing.
    pub(crate) late: bool,
    #[source]
    pub(crate) source: Option<Arc<dyn StdError + Send + Sync>>,
}

impl Unavailable {
    /// For a [store](crate::store::LockStore) that could not do what it was asked: with the reason,
    /// after "the lock store is unavailable: ". What the lock may still be held for is the client's
    /// to add.
    #[must_use]
    pub fn new(reason: impl Into<String>) -> Self {
        Self::unsent(reason)
    }

    /// As [`new`](Self::new), for a store that did not answer in time or has no connection: it is
    /// probed from then on, and acquisitions that [fail fast](crate::Acquire::fail_fast) are refused
    /// until it answers.
    #[must_use]
    pub fn no_answer(reason: impl Into<String>) -> Self {
        Self::unsent(reason).silence()
    }

    /// Nothing was sent.
    pub(crate) fn unsent(reason: impl Into<String>) -> Self {
        Self {
            reason: reason.into(),
            may_be_held_for: Duration::ZERO,
            silent: false,
            late: false,
            source: None,
        }
    }

    /// The wait was over before the last try was answered.
    pub(crate) fn late() -> Self {
        let why = "the wait was over before the last try was answered";
        Self { late: true, ..Self::unsent(why) }
    }

    pub(crate) fn because(
        reason: impl Into<String>,
        source: impl StdError + Send + Sync + 'static,
    ) -> Self {
        Self { source: Some(Arc::new(source)), ..Self::unsent(reason) }
    }

    /// The store did not answer.
    pub(crate) fn silence(mut self) -> Self {
        self.silent = true;
        self
    }

    pub(crate) fn held_for(mut self, lease: Duration) -> Self {
        self.may_be_held_for = lease;
        self
    }

    /// For how long the lock may still be held on the caller's behalf, although nobody uses it: at
    /// most the lease, and only if the release that follows does not get through. Zero: it is
    /// certainly not held.
    #[must_use]
    pub fn may_be_held_for(&self) -> Duration {
        self.may_be_held_for
    }
}

impl fmt::Display for Unavailable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the lock store is unavailable: {}", self.reason)
    }
}

impl fmt::Debug for Unavailable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Unavailable")
            .field("reason", &self.reason)
            .field("may_be_held_for", &self.may_be_held_for)
            .finish_non_exhaustive()
    }
}

/// The lock store cannot do this at all. Nothing was changed, and nothing is held.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("this lock store does not support {what}")]
pub struct Unsupported {
    what: Cow<'static, str>,
}

impl Unsupported {
    /// What is not supported, as it ends a sentence: "fair locks".
    #[must_use]
    pub fn new(what: impl Into<Cow<'static, str>>) -> Self {
        Self { what: what.into() }
    }

    /// What is not supported.
    #[must_use]
    pub fn what(&self) -> &str {
        &self.what
    }
}

/// Why a [store](crate::store::LockStore) did not carry out a command.
#[derive(Debug, Clone, Error)]
#[non_exhaustive]
pub enum StoreError {
    /// It did not answer, or could not. The command may have been carried out.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
    /// It cannot do this at all. Nothing has changed.
    #[error(transparent)]
    Unsupported(#[from] Unsupported),
}

impl StoreError {
    /// Whether the store did not answer.
    pub(crate) fn is_silent(&self) -> bool {
        matches!(self, Self::Unavailable(why) if why.silent)
    }

    /// The command may have been carried out, and the lock be held for so long.
    pub(crate) fn held_for(self, lease: Duration) -> Self {
        match self {
            Self::Unavailable(why) => Self::Unavailable(why.held_for(lease)),
            unsupported @ Self::Unsupported(_) => unsupported,
        }
    }
}

/// Where it makes no difference.
impl From<StoreError> for Unavailable {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Unavailable(why) => why,
            StoreError::Unsupported(what) => Self::because(what.to_string(), what),
        }
    }
}

/// The errors of operations that a store may not support.
macro_rules! from_store_error {
    ($($error:ident)*) => {
        $(impl From<StoreError> for $error {
            fn from(error: StoreError) -> Self {
                match error {
                    StoreError::Unavailable(why) => Self::Unavailable(why),
                    StoreError::Unsupported(what) => Self::Unsupported(what),
                }
            }
        })*
    };
}

from_store_error! { AcquireError UpgradeError DowngradeError InspectError }

/// The lock is no longer the holder's. The work under it must stop: somebody else may hold it now.
#[derive(Debug, Clone, Error)]
#[error("the lock on \"{key}\" is lost: {cause}")]
pub struct Lost {
    pub(crate) key: LockKey,
    pub(crate) cause: LostCause,
}

impl Lost {
    /// The key.
    #[must_use]
    pub fn key(&self) -> &LockKey {
        &self.key
    }

    /// Why it is lost.
    #[must_use]
    pub fn cause(&self) -> LostCause {
        self.cause
    }
}

/// Why a hold is lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum LostCause {
    /// The store said that the hold is not there: expired, deleted, or gone with the store's data.
    Refused,
    /// The lease ran out on the holder's clock before a renewal was confirmed.
    Expired,
    /// The hold reached its `max_hold` and was released.
    MaxHold,
    /// The guard was released, and somebody still worked under a view of it.
    Released,
}

impl fmt::Display for LostCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            LostCause::Refused => "the store no longer knows the hold",
            LostCause::Expired => "no renewal was confirmed before the lease ran out",
            LostCause::MaxHold => "it was held for longer than max_hold allows",
            LostCause::Released => "its guard was released",
        })
    }
}

/// Something else than a lock of the kind that was asked for stands under the key. Nothing is held.
#[derive(Debug, Clone, Error)]
#[error(
    "under \"{key}\" stands something that is no {kind} lock: use another key or another prefix, \
     and never two kinds of lock on one key"
)]
pub struct WrongKind {
    pub(crate) key: LockKey,
    pub(crate) kind: Kind,
}

impl WrongKind {
    /// The key.
    #[must_use]
    pub fn key(&self) -> &LockKey {
        &self.key
    }

    /// The kind that was asked for.
    #[must_use]
    pub fn kind(&self) -> Kind {
        self.kind
    }
}

/// An option of an acquisition is out of bounds. Nothing was sent.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct InvalidOptions(pub(crate) String);

/// Why a release was not confirmed. Either way the guard is gone and the work under it has ended.
#[derive(Debug, Clone, Error)]
#[non_exhaustive]
pub enum ReleaseError {
    /// The lock was lost before it was released: the end of the work was not protected.
    #[error(transparent)]
    Lost(#[from] Lost),
    /// The store did not confirm. The release is tried again in the background until the lease
    /// must have ended; until then the lock may be held.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
}

/// Why a read hold did not become a write hold.
#[derive(Debug, Clone, Error)]
#[non_exhaustive]
pub enum UpgradeError {
    /// Others read too. The guard still reads.
    #[error("\"{key}\" is read by others too: only the sole reader can become the writer")]
    NotSole {
        /// The key.
        key: LockKey,
    },
    /// The hold is lost.
    #[error(transparent)]
    Lost(#[from] Lost),
    /// The store did not answer. The guard still reads; an upgrade that happened is taken back.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
    /// The store knows no upgrades. The guard still reads.
    #[error(transparent)]
    Unsupported(#[from] Unsupported),
}

/// Why a write hold was not confirmed to be a read hold. The guard reads in any case except
/// [`NoReaders`](Self::NoReaders) and [`Unsupported`](Self::Unsupported).
#[derive(Debug, Clone, Error)]
#[non_exhaustive]
pub enum DowngradeError {
    /// This kind of lock cannot be read. Nothing has changed.
    #[error("\"{key}\" is a {kind} lock, which has no read mode")]
    NoReaders {
        /// The key.
        key: LockKey,
        /// The kind.
        kind: Kind,
    },
    /// The hold is lost.
    #[error(transparent)]
    Lost(#[from] Lost),
    /// The store did not answer. The downgrade is tried again in the background; until it gets
    /// through, others find the lock held for writing.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
    /// The store knows no downgrades. The guard still writes.
    #[error(transparent)]
    Unsupported(#[from] Unsupported),
}

/// Why a lock could not be looked at.
#[derive(Debug, Clone, Error)]
#[non_exhaustive]
pub enum InspectError {
    /// The key is not valid.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// The store did not answer.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
    /// Something else than a lock stands under this key.
    #[error(transparent)]
    WrongKind(#[from] WrongKind),
    /// The store cannot do this at all. Nothing was changed.
    #[error(transparent)]
    Unsupported(#[from] Unsupported),
}

/// A shutdown ended at its deadline with locks left over.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error(
    "the lock client was shut down with {held} locks held or not confirmed as released: Redis \
     frees them when their leases end"
)]
#[non_exhaustive]
pub struct ShutdownError {
    /// Locks whose guards were still alive, or whose release was not confirmed.
    pub held: usize,
}

/// Why work under a lock did not run to its end: see [`Acquire::run`](crate::Acquire::run).
#[derive(Debug, Clone, Error)]
#[non_exhaustive]
pub enum LockError {
    /// The lock was not acquired; the work did not start.
    #[error(transparent)]
    Acquire(#[from] AcquireError),
    /// The lock was lost while the work ran, and the work was cancelled where it stood.
    #[error(transparent)]
    Lost(#[from] Lost),
    /// A value could not stand in the key; the work did not start.
    #[error(transparent)]
    Value(#[from] lock_key::ValueError),
}
