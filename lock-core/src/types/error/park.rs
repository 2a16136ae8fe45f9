//! Why a hold was not parked, or a ticket not resumed.

use lock_store::LockKey;
use lock_store::{InvalidOptions, Unavailable, Unsupported};
use thiserror::Error;

use super::Lost;

/// The reason why a hold was not parked. No ticket was made.
#[derive(Debug, Clone, Error)]
#[non_exhaustive]
pub enum ParkError {
    /// The lock was lost, or released, before.
    #[error(transparent)]
    Lost(#[from] Lost),
    /// Others rely on the same hold: another guard of the scope, or other readers of this process.
    #[error(
        "the lock on \"{key}\" cannot be parked while others of this process share its hold: drop the \
         scope's other guards first, and acquire a read with max_shared_readers(1)"
    )]
    Shared {
        /// The key.
        key: LockKey,
    },
    /// The store did not confirm the parked lease.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
    /// The client has no usable `ticket_key`, or the lease is out of bounds. Nothing was sent.
    #[error(transparent)]
    InvalidOptions(#[from] InvalidOptions),
    /// The store, or this kind of lock, has no holds that change hands.
    #[error(transparent)]
    Unsupported(#[from] Unsupported),
}

/// The reason why a ticket was not resumed. The caller holds nothing.
#[derive(Debug, Clone, Error)]
#[non_exhaustive]
pub enum ResumeError {
    /// The text is not a ticket, was altered, or was signed with another key. Nothing was sent.
    #[error(transparent)]
    InvalidTicket(#[from] InvalidTicket),
    /// The hold is not parked any more: another client has resumed it, its lease has ended, or it
    /// was taken away. The work must not continue under it.
    #[error(
        "the parked lock on \"{key}\" is gone: its ticket was resumed before, or its lease has ended"
    )]
    Gone {
        /// The key.
        key: LockKey,
    },
    /// The store did not answer. The hold may have been taken over, and is released then: a second
    /// attempt with the same ticket either resumes it or finds it [gone](Self::Gone).
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
    /// The client is shutting down and grants no more locks. The hold stays parked.
    #[error("the lock client is shutting down: it resumes no more locks")]
    Draining,
    /// The client has no usable `ticket_key`. Nothing was sent.
    #[error(transparent)]
    InvalidOptions(#[from] InvalidOptions),
    /// The store has no holds that change hands.
    #[error(transparent)]
    Unsupported(#[from] Unsupported),
}

/// The error for a text that is not a ticket of this service: it has another form, was altered, or
/// was signed with a key that the client does not accept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error(
    "not a ticket of this service: it was altered, or signed with a ticket_key that is not among those of this client"
)]
#[non_exhaustive]
pub struct InvalidTicket;
