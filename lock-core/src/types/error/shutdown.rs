//! A shutdown that left locks over.

use thiserror::Error;

/// The error of a shutdown that ended at its deadline while locks were still held.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error(
    "the lock client was shut down with {held} locks held or not confirmed as released: the \
     store frees them when their leases end"
)]
#[non_exhaustive]
pub struct ShutdownError {
    /// Locks whose guards were still alive, or whose release was not confirmed.
    pub held: usize,
}
