//! Why a release was not confirmed.

use lock_store::Unavailable;
use thiserror::Error;

use super::Lost;

/// The reason why a release was not confirmed. In both cases the guard is gone and the work under
/// it has ended.
#[derive(Debug, Clone, Error)]
#[non_exhaustive]
pub enum ReleaseError {
    /// The lock was lost before it was released: the end of the work was not protected.
    #[error(transparent)]
    Lost(#[from] Lost),
    /// The store did not confirm. The release is retried in the background until the lease must have
    /// ended; until then the lock may be held.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
}
