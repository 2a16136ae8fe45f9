//! Why an upgrade or downgrade failed.

use lock_store::{Kind, LockKey};
use lock_store::{Unavailable, Unsupported};
use thiserror::Error;

use super::Lost;

/// The reason why a read hold did not become a write hold.
#[derive(Debug, Clone, Error)]
#[non_exhaustive]
pub enum UpgradeError {
    /// There are other readers. The guard still reads.
    #[error("\"{key}\" has other readers: only the sole reader can become the writer")]
    NotSole {
        /// The key.
        key: LockKey,
    },
    /// The hold is lost.
    #[error(transparent)]
    Lost(#[from] Lost),
    /// The store did not answer. The guard still reads; an upgrade that was executed is reversed.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
    /// The store does not support upgrades. The guard still reads.
    #[error(transparent)]
    Unsupported(#[from] Unsupported),
}

/// The reason why a downgrade was not confirmed. The guard reads in any case except
/// [`NoReaders`](Self::NoReaders) and [`Unsupported`](Self::Unsupported).
#[derive(Debug, Clone, Error)]
#[non_exhaustive]
pub enum DowngradeError {
    /// This kind of lock has no readers. Nothing has changed.
    #[error("\"{key}\" is a {kind} lock, which has no read mode")]
    NoReaders {
        /// The key.
        key: LockKey,
        /// The kind.
        kind: Kind,
    },
    /// The hold is lost.
    #[error(transparent)]
    Lost(#[from] Lost),
    /// The store did not answer. The downgrade is retried in the background; until it is executed, the
    /// lock is held for writing.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
    /// The store does not support downgrades. The guard still writes.
    #[error(transparent)]
    Unsupported(#[from] Unsupported),
}
