//! Why a lock could not be inspected.

use thiserror::Error;

use super::{Unavailable, Unsupported, WrongKind};
use crate::types::KeyError;

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
