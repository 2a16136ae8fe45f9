//! Why a single flight had no result.

use thiserror::Error;

use super::LockError;

/// The reason why a caller of [`Acquire::once`](crate::Acquire::once) has no result.
#[derive(Debug, Clone, Error)]
#[non_exhaustive]
pub enum OnceError<E> {
    /// The lock was not acquired within the wait, or was lost while `fill` ran and the wait was over.
    /// Another caller may have filled, or may still fill.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// The caller's own `check` or `fill` returned this error. The lock is released.
    #[error(transparent)]
    Work(E),
}
