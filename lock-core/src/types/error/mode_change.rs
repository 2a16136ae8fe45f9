//! Why an upgrade or downgrade failed.

use thiserror::Error;

use super::{Lost, Unavailable, Unsupported};
use crate::types::{Kind, LockKey};

/// Why a read hold did not become a write hold.
#[derive(Debug, Clone, Error)]
#[non_exhaustive]
pub enum UpgradeError {
    /// Others read too. The guard still reads.
    #[error("\"{key}\" is read by others too: only the sole reader can become the writer")]
    NotSole {
        /// The key.
        key: LockKey,
    },
    /// The hold is lost.
    #[error(transparent)]
    Lost(#[from] Lost),
    /// The store did not answer. The guard still reads; an upgrade that happened is taken back.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
    /// The store knows no upgrades. The guard still reads.
    #[error(transparent)]
    Unsupported(#[from] Unsupported),
}

/// Why a write hold was not confirmed to be a read hold. The guard reads in any case except
/// [`NoReaders`](Self::NoReaders) and [`Unsupported`](Self::Unsupported).
#[derive(Debug, Clone, Error)]
#[non_exhaustive]
pub enum DowngradeError {
    /// This kind of lock cannot be read. Nothing has changed.
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
    /// The store did not answer. The downgrade is tried again in the background; until it gets
    /// through, others find the lock held for writing.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
    /// The store knows no downgrades. The guard still writes.
    #[error(transparent)]
    Unsupported(#[from] Unsupported),
}
