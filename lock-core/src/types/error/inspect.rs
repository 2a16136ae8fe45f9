//! Why a lock could not be inspected.

use lock_store::KeyError;
use lock_store::{Unavailable, Unsupported};
use thiserror::Error;

use super::WrongKind;

/// The reason why a lock could not be inspected.
#[derive(Debug, Clone, Error)]
#[non_exhaustive]
pub enum InspectError {
    /// The key is not valid.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// The store did not answer.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
    /// The key holds a value that is not a lock.
    #[error(transparent)]
    WrongKind(#[from] WrongKind),
    /// The store does not support this. Nothing has changed.
    #[error(transparent)]
    Unsupported(#[from] Unsupported),
}
