//! A hold that is no longer held.

use std::fmt;

use lock_store::LockKey;
use thiserror::Error;

/// The error of a holder that no longer has the lock. The work under it must stop: another holder
/// may have it now.
#[derive(Debug, Clone, Error)]
#[error("the lock on \"{key}\" is lost: {cause}")]
pub struct Lost {
    pub(crate) key: LockKey,
    pub(crate) cause: LostCause,
}

impl Lost {
    /// Returns the key of the lost lock.
    #[must_use]
    pub fn key(&self) -> &LockKey {
        &self.key
    }

    /// Returns why it is lost.
    #[must_use]
    pub fn cause(&self) -> LostCause {
        self.cause
    }
}

/// The reason why a hold is lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum LostCause {
    /// The store does not have the hold: it has expired, was deleted, or was lost with the store's data.
    Refused,
    /// The lock was taken away on purpose, by
    /// [`force_release`](crate::LockClient::force_release), the operators' page or `lockctl`. Known by a
    /// message: where that is lost, the cause is [`Refused`](Self::Refused); and a hold that goes in the
    /// same moment for another reason has this cause too.
    Taken,
    /// The lease ran out on the holder's clock before a renewal was confirmed.
    Expired,
    /// The hold reached its `max_hold` and was released.
    MaxHold,
    /// The guard was released while work under a view of it still ran.
    Released,
    /// A newer caller [replaces](crate::Acquire::replace_after) the holder, whose work was stopped.
    Replaced,
    /// The hold was parked while work under it still ran: another client may continue with it.
    Parked,
}

impl fmt::Display for LostCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            LostCause::Refused => "the store no longer knows the hold",
            LostCause::Taken => "an operator took it away",
            LostCause::Expired => "no renewal was confirmed before the lease ran out",
            LostCause::MaxHold => "it was held for longer than max_hold allows",
            LostCause::Released => "its guard was released",
            LostCause::Replaced => "a newer caller replaces its holder",
            LostCause::Parked => "it was parked, for another client to resume",
        })
    }
}
