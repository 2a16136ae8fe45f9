use lock_tower::{
    errors::{EnsureError, Lost},
    fence::InvalidName,
};
use thiserror::Error;

/// The reason why a transaction under a lock was not committed, or why that is not known.
///
/// After every error except [`CommitUnknown`](Self::CommitUnknown) the transaction was rolled back,
/// and nothing that it wrote is in the database.
///
/// With the feature `axum` it is a response: a stale claim and a lock that is not good for the commit
/// as the layer answers a lost lock (503 `lock-lost`), a missing row 404, a mistake of the service
/// 500 `lock-misconfigured`, an error of the work as that error answers itself, and the rest 500.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum TransactionError<E> {
    /// A holder with a later token has claimed the row: the lock was lost.
    #[error("a newer holder has already claimed the row: the lock was lost")]
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
    #[error("the closure kept the transaction: drop every use of `tx` before it returns")]
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
    /// The database did not answer the commit, or by an error that proves no rollback: the work may be
    /// done, and may not.
    #[error("the database did not confirm the commit: whether it was executed is not known")]
    CommitUnknown(#[source] sqlx::Error),
}

impl<E> TransactionError<E> {
    pub(crate) fn lost(lost: Lost) -> Self {
        Self::Lock(lost.into())
    }

    /// An error of the commit: what the database itself refuses is rolled back, unless the error is of
    /// the database and not of the transaction.
    pub(crate) fn of_commit(error: sqlx::Error) -> Self {
        match &error {
            sqlx::Error::Database(why) if !may_be_committed(why.code().as_deref()) => {
                Self::Database(error)
            }
            _ => Self::CommitUnknown(error),
        }
    }
}

/// Whether a commit that ended with this SQLSTATE may have been executed: the connection failed (08), the
/// server was stopped (57) or failed itself (58, XX), or it says so (40003). MySQL has HY000 for
/// its own failures. The codes of SQLite are shorter; it rolls back what it does not commit.
fn may_be_committed(code: Option<&str>) -> bool {
    let unsure = ["08", "57", "58", "XX", "40003", "HY000"];
    code.is_some_and(|code| code.len() == 5 && unsure.iter().any(|each| code.starts_with(each)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_of_the_database_itself_proves_no_rollback() {
        for code in ["08000", "08006", "08S01", "40003", "57P01", "58030", "XX000", "HY000"] {
            assert!(may_be_committed(Some(code)), "{code}");
        }
        // The last are of SQLite.
        for code in
            ["23505", "40001", "40P01", "40002", "25P02", "P0001", "5", "787", "2067", "5642"]
        {
            assert!(!may_be_committed(Some(code)), "{code}");
        }
        assert!(!may_be_committed(None));
    }
}
