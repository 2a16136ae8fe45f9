//! Why a hold cannot be relied upon for as long as was requested.

use std::time::Duration;

use lock_store::LockKey;
use lock_store::Unavailable;
use thiserror::Error;

use super::Lost;

/// The reason why a hold cannot be relied upon for as long as the caller wants. The guard stays:
/// after every error except [`Lost`](Self::Lost) the lock is still held, for as long as
/// [`remaining`](crate::LockGuard::remaining) returns.
#[derive(Debug, Clone, Error)]
#[non_exhaustive]
pub enum EnsureError {
    /// The hold is lost.
    #[error(transparent)]
    Lost(#[from] Lost),
    /// The store did not confirm the renewal. It is tried again in the background.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
    /// More than the lease or `max_hold` can give. Nothing was sent, unless the answer to the renewal
    /// took too long.
    #[error(
        "the lock on \"{key}\" is guaranteed for only {available:?}, not for {wanted:?}: set a \
         longer lease, or extend max_hold"
    )]
    TooLong {
        /// The key.
        key: LockKey,
        /// The time that the caller wants.
        wanted: Duration,
        /// The most that there is.
        available: Duration,
    },
}
