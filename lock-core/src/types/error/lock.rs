//! Why work under a lock did not finish.

use thiserror::Error;

use super::{AcquireError, Lost};

/// The reason why work under a lock did not finish: see [`Acquire::run`](crate::Acquire::run).
#[derive(Debug, Clone, Error)]
#[non_exhaustive]
pub enum LockError {
    /// The lock was not acquired; the work did not start.
    #[error(transparent)]
    Acquire(#[from] AcquireError),
    /// The lock was lost while the work ran, and the work was cancelled at its next `.await`.
    #[error(transparent)]
    Lost(#[from] Lost),
    /// A value is not valid in a key; the work did not start.
    #[error(transparent)]
    Value(#[from] lock_key::ValueError),
}
