use lock_tower::{EnsureError, InvalidName, Lost};
use thiserror::Error;

/// Why a transaction under a lock was not committed, or why that is not known.
///
/// After every error but [`CommitUnknown`](Self::CommitUnknown) the transaction was rolled back, and
/// nothing that it wrote is in the database.
///
/// With the feature `axum` it is a response: a stale claim and a lock that is not good for the commit
/// as the layer answers a lost lock (503 `lock-lost`), a missing row 404, a mistake of the service
/// 500 `lock-misconfigured`, an error of the work as that error answers itself, and the rest 500.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum TransactionError<E> {
    /// A holder with a later token has claimed the row: the lock was lost.
    #[error("a later holder of the lock has claimed the row: this one is too late")]
    Stale,
    /// There is no row with this id. A row has to be inserted before it can be claimed.
    #[error("there is no such row: insert it before it is claimed")]
    Missing,
    /// The lock was lost, or cannot be relied upon for as long as the commit may take.
    #[error(transparent)]
    Lock(#[from] EnsureError),
    /// The lock has no token that excludes others.
    #[error("a row cannot be claimed {0}")]
    NoToken(&'static str),
    /// The work has moved the transaction elsewhere, where it may still be used.
    #[error("the work returned without its transaction: drop it before")]
    NotReturned,
    /// The name of the table or of a column is not usable.
    #[error(transparent)]
    Name(#[from] InvalidName),
    /// The work returned this error.
    #[error(transparent)]
    Work(E),
    /// The database refused, or did not answer, before the commit.
    #[error("the transaction failed, and is rolled back")]
    Database(#[source] sqlx::Error),
    /// The database did not answer the commit: the work may be done, and may not.
    #[error("the database did not answer the commit: whether it was executed is not known")]
    CommitUnknown(#[source] sqlx::Error),
}

impl<E> TransactionError<E> {
    pub(crate) fn lost(lost: Lost) -> Self {
        Self::Lock(lost.into())
    }

    /// An error of the commit: what the database itself refuses is rolled back for certain.
    pub(crate) fn of_commit(error: sqlx::Error) -> Self {
        match error {
            refused @ sqlx::Error::Database(_) => Self::Database(refused),
            unknown => Self::CommitUnknown(unknown),
        }
    }
}
