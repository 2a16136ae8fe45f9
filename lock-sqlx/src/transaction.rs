use std::{convert::Infallible, future::Future, time::Duration};

use lock_tower::{
    FencedTable, FencingToken, LockGuard, Locked, Mode, fence::InvalidName, locks::LockView,
};
use sqlx::{Encode, Pool, Transaction, Type};

use crate::{ClaimedRow, FencedDatabase, TransactionError};

/// The time for which the lock must still be good when the commit is sent, on this process' clock.
pub const COMMIT_MARGIN: Duration = Duration::from_secs(1);

/// A lock that is held: a guard, a view of one, or in a handler `Locked`. Other crates cannot
/// implement it.
pub trait HeldLock: sealed::Sealed {
    /// The lock, or why its token claims nothing.
    #[doc(hidden)]
    fn lock(&self) -> Result<LockView, &'static str>;
}

mod sealed {
    use super::{LockGuard, LockView, Locked};

    pub trait Sealed {}
    impl Sealed for LockGuard {}
    impl Sealed for LockView {}
    impl Sealed for Locked {}
}

impl HeldLock for LockGuard {
    fn lock(&self) -> Result<LockView, &'static str> {
        Ok(self.view())
    }
}

impl HeldLock for LockView {
    fn lock(&self) -> Result<LockView, &'static str> {
        Ok(self.clone())
    }
}

impl HeldLock for Locked {
    fn lock(&self) -> Result<LockView, &'static str> {
        if self.unlocked().is_some() {
            return Err("without its lock: the policy lets the request run without it");
        }
        let several = "under a lock on several keys: take the view of the row's key from \
                       `Locked::views`";
        self.view().cloned().ok_or(several)
    }
}

/// Transactions under a lock: see the [crate](crate).
pub trait FencedTransaction: HeldLock {
    /// Runs `work` in a transaction that has claimed the row with this `id`, and commits it if the
    /// work succeeds and the lock is still good for [`COMMIT_MARGIN`].
    ///
    /// The work is given the transaction, and has to drop it before it returns: it must not be moved
    /// into another task.
    ///
    /// `table` is its name, with the columns `id` and `fence`, or a [`FencedTable`] with others.
    ///
    /// # Errors
    ///
    /// [`TransactionError`]; nothing is committed unless it is
    /// [`CommitUnknown`](TransactionError::CommitUnknown).
    ///
    /// # Cancel safety
    ///
    /// Dropping this rolls the transaction back, unless the commit has been sent.
    fn transaction<DB, I, F, T, E>(
        &self,
        pool: &Pool<DB>,
        table: impl TryInto<FencedTable, Error: Into<InvalidName>>,
        id: I,
        work: impl FnOnce(ClaimedRow<DB>) -> F + Send,
    ) -> impl Future<Output = Result<T, TransactionError<E>>> + Send
    where
        DB: FencedDatabase,
        I: for<'q> Encode<'q, DB> + Type<DB> + Clone + Send,
        F: Future<Output = Result<T, E>> + Send,
        T: Send,
        E: Send,
    {
        self.transaction_within(COMMIT_MARGIN, pool, table, id, work)
    }

    /// Runs `work` as [`transaction`](Self::transaction) does, with another margin than
    /// [`COMMIT_MARGIN`]: less than the lease, and more than a commit takes.
    ///
    /// # Errors
    ///
    /// As for [`transaction`](Self::transaction).
    ///
    /// # Cancel safety
    ///
    /// As for [`transaction`](Self::transaction).
    fn transaction_within<DB, I, F, T, E>(
        &self,
        margin: Duration,
        pool: &Pool<DB>,
        table: impl TryInto<FencedTable, Error: Into<InvalidName>>,
        id: I,
        work: impl FnOnce(ClaimedRow<DB>) -> F + Send,
    ) -> impl Future<Output = Result<T, TransactionError<E>>> + Send
    where
        DB: FencedDatabase,
        I: for<'q> Encode<'q, DB> + Type<DB> + Clone + Send,
        F: Future<Output = Result<T, E>> + Send,
        T: Send,
        E: Send,
    {
        let (lock, table) = (self.lock(), table.try_into().map_err(Into::into));
        async move {
            let lock = lock.map_err(TransactionError::NoToken)?;
            let (row, returned) = ClaimedRow::new(begin(&lock, pool, table?, id).await?);
            let done = lock.protect(work(row)).await.map_err(TransactionError::lost)?;
            let done = done.map_err(TransactionError::Work)?;
            let transaction = returned.take().ok_or(TransactionError::NotReturned)?;
            lock.ensure(margin).await?;
            transaction.commit().await.map_err(TransactionError::of_commit)?;
            Ok(done)
        }
    }
}

impl<L: HeldLock + ?Sized> FencedTransaction for L {}

/// Begins a transaction whose first statement claims the row.
async fn begin<DB, I, E>(
    lock: &LockView,
    pool: &Pool<DB>,
    table: FencedTable,
    id: I,
) -> Result<Transaction<'static, DB>, TransactionError<E>>
where
    DB: FencedDatabase,
    I: for<'q> Encode<'q, DB> + Type<DB> + Clone + Send,
{
    lock.ensure_held().map_err(TransactionError::lost)?;
    let token = lock.fencing_token();
    if token == FencingToken::NONE {
        return Err(TransactionError::NoToken("under a semaphore, whose permits have no token"));
    }
    if lock.mode() == Mode::Read {
        return Err(TransactionError::NoToken("under a read lock, whose token others may share"));
    }
    let mut transaction = pool.begin().await.map_err(TransactionError::Database)?;
    claim_row::<DB, _, _>(&mut transaction, table, id, token).await?;
    Ok(transaction)
}

/// Claims a row in a transaction of the caller's own, with a token that another service has sent:
/// `IncomingFence::token` of lock-tower. The first statement of the transaction.
///
/// `table` is as for [`transaction`](FencedTransaction::transaction). The row is the resource's own
/// memory of the newest token.
///
/// ```
/// use lock_sqlx::TransactionError;
/// use lock_tower::FencingToken;
///
/// async fn ship(pool: &sqlx::SqlitePool, id: i64, token: FencingToken) -> sqlx::Result<bool> {
///     let mut tx = pool.begin().await?;
///     match lock_sqlx::claim(&mut tx, "orders", id, token).await {
///         Ok(()) => {}
///         Err(TransactionError::Database(error)) => return Err(error),
///         Err(_) => return Ok(false), // too late, or there is no such order
///     }
///     let ship = sqlx::query("UPDATE orders SET state = 'shipped' WHERE id = $1").bind(id);
///     ship.execute(&mut *tx).await?;
///     tx.commit().await?;
///     Ok(true)
/// }
/// # let _ = ship;
/// ```
///
/// # Errors
///
/// [`TransactionError::Stale`], `Missing`, `Name`, `NoToken` and `Database`.
///
/// # Cancel safety
///
/// The row may be claimed, if the transaction is committed.
pub async fn claim<DB, I>(
    transaction: &mut Transaction<'_, DB>,
    table: impl TryInto<FencedTable, Error: Into<InvalidName>>,
    id: I,
    token: FencingToken,
) -> Result<(), TransactionError<Infallible>>
where
    DB: FencedDatabase,
    I: for<'q> Encode<'q, DB> + Type<DB> + Clone + Send,
{
    let table = table.try_into().map_err(Into::into)?;
    claim_row::<DB, _, _>(transaction, table, id, token).await
}

async fn claim_row<DB, I, E>(
    connection: &mut DB::Connection,
    table: FencedTable,
    id: I,
    token: FencingToken,
) -> Result<(), TransactionError<E>>
where
    DB: FencedDatabase,
    I: for<'q> Encode<'q, DB> + Type<DB> + Clone + Send,
{
    if token == FencingToken::NONE {
        return Err(TransactionError::NoToken("without a token"));
    }
    let table = table.placeholders(DB::PLACEHOLDERS);
    let statement = DB::dialect(table.claim_sql());
    let claimed = DB::claim(connection, &statement, token.as_i64(), id.clone()).await;
    if claimed.map_err(TransactionError::Database)? > 0 {
        return Ok(());
    }
    let exists = DB::dialect(table.exists_sql());
    let exists = DB::exists(connection, &exists, id).await.map_err(TransactionError::Database)?;
    Err(if exists { TransactionError::Stale } else { TransactionError::Missing })
}
