//! Why work under a lock did not finish.

use thiserror::Error;

use super::{AcquireError, Lost};

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
