//! Locks that end with a transaction: PostgreSQL's advisory locks.

use std::time::Duration;

use hmac_sha256::Hash;
use lock_tower::{LockKey, Mode, errors::KeyError, key::IntoLockKey};
use sqlx::{Error, Executor, Postgres, Row, Transaction};
use thiserror::Error;

/// Precedes the key in the text that is hashed, so that the numbers differ from plain hashes of the
/// same keys by other programs.
const PREFIX: &str = "lock:";

/// Undoes a wait that failed: the transaction is usable again, with its own `lock_timeout`.
const UNDO: &str = "ROLLBACK TO SAVEPOINT lock_tower; RELEASE SAVEPOINT lock_tower";

/// The reason why a transaction does not have its lock.
///
/// After [`Busy`](Self::Busy), [`Deadlock`](Self::Deadlock), [`Isolation`](Self::Isolation) and
/// [`Key`](Self::Key) the transaction is as it was before, and can be used.
///
/// `?` makes it from any error of sqlx, so it can be the error of all that a handler does in the
/// transaction. With the feature `axum` it is a response, as of a layer: 423 `lock-busy`, 409
/// `lock-deadlock`, 400 `lock-key-invalid`, 500 `lock-misconfigured` for the isolation, and a plain
/// 500 for an error of the database.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum TransactionLockError {
    /// The key is not valid. Nothing was sent.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// Another transaction has the lock, and the wait is over, or the server has ended it earlier: by
    /// its `statement_timeout`, or because an operator cancelled the statement. Safe to retry.
    #[error("\"{key}\" is locked by another transaction, and the wait to {mode} it is over")]
    Busy {
        /// The key.
        key: LockKey,
        /// The mode that was to be acquired.
        mode: Mode,
    },
    /// This transaction and others wait for each other. They wait until this one ends, which should
    /// therefore be rolled back. Safe to retry from its beginning.
    #[error(
        "acquiring \"{key}\" would wait forever: its holder waits, itself or through others, for this \
         transaction; acquire locks in the same order everywhere"
    )]
    Deadlock {
        /// The key.
        key: LockKey,
    },
    /// The transaction is `REPEATABLE READ` or `SERIALIZABLE`: all it reads is as it was before it
    /// has the lock, so the last holder's writes are missing.
    #[error(
        "the transaction would read data from before it has the lock: begin it with \
         ISOLATION LEVEL READ COMMITTED"
    )]
    Isolation,
    /// Any other error of the database.
    #[error("the database failed, or refused a statement of the transaction")]
    Database(#[from] Error),
}

/// Returns the number by which PostgreSQL knows the lock on this key: the first eight bytes, big
/// endian, of the SHA-256 of `lock:` and the key. It never changes.
///
/// Programs without this crate share the lock by the same number. In SQL, for the key `order:42`:
///
/// ```sql
/// SELECT pg_advisory_xact_lock(
///     ('x' || left(encode(sha256(convert_to('lock:order:42', 'UTF8')), 'hex'), 16))::bit(64)::bigint
/// );
/// ```
///
/// ```
/// assert_eq!(lock_sqlx::advisory_number("order:42")?, -5_964_250_311_708_943_310);
/// # Ok::<(), lock_sqlx::KeyError>(())
/// ```
///
/// # Errors
///
/// A [`KeyError`] if the key is not valid.
pub fn advisory_number(key: impl IntoLockKey) -> Result<i64, KeyError> {
    key.into_lock_key().map(|key| number(&key))
}

fn number(key: &LockKey) -> i64 {
    let mut hash = Hash::new();
    hash.update(PREFIX);
    hash.update(key.as_str());
    let [a, b, c, d, e, f, g, h, ..] = hash.finalize();
    i64::from_be_bytes([a, b, c, d, e, f, g, h])
}

/// Locks a key until the transaction ends, by a commit, a rollback, or the end of its connection:
/// nothing else releases it. Waits at most for `wait`, in order of arrival at the server.
///
/// Call it before the transaction reads what the lock is about. A free lock costs one round trip. The
/// transaction holds a lock that it acquires again once, and a rollback to a savepoint releases what
/// was acquired since.
///
/// `wait` replaces the transaction's own `lock_timeout` meanwhile. It is rounded up to milliseconds, and
/// ends after 24 days in any case. Zero does not wait. Every caller that waits keeps its connection, and
/// with it a place in the pool.
///
/// Two keys may have one [number](advisory_number), by a chance of one in 2^64: then they wait for
/// each other. See the [crate](crate#locks-of-the-transaction-itself) for when this lock is enough.
///
/// ```
/// use std::time::Duration;
///
/// use lock_sqlx::{Mode, TransactionLockError};
///
/// async fn book(pool: &sqlx::PgPool, room: i64) -> Result<(), TransactionLockError> {
///     let mut tx = pool.begin().await?;
///     let wait = Duration::from_secs(5);
///     lock_sqlx::lock(&mut tx, Mode::Write, format!("room:{room}"), wait).await?;
///     let book = "INSERT INTO bookings (room) SELECT $1 \
///                 WHERE (SELECT count(*) FROM bookings WHERE room = $1) < 10";
///     sqlx::query(book).bind(room).execute(&mut *tx).await?;
///     tx.commit().await?;
///     Ok(())
/// }
/// # let _ = book;
/// ```
///
/// # Errors
///
/// [`TransactionLockError`].
///
/// # Cancel safety
///
/// Drop the transaction as well: whether it has the lock is not known, and it may be aborted. It is
/// rolled back, and holds nothing after that. If the server still waits for the lock, the connection
/// returns to the pool when that wait is over: after `wait` at the latest.
pub async fn lock(
    transaction: &mut Transaction<'_, Postgres>,
    mode: Mode,
    key: impl IntoLockKey,
    wait: Duration,
) -> Result<(), TransactionLockError> {
    let key = key.into_lock_key()?;
    let lock = match mode {
        Mode::Read => "advisory_xact_lock_shared",
        Mode::Write => "advisory_xact_lock",
    };
    // In quotation marks, because the least number has no literal. The statements are sent as text
    // without parameters: a pooler in front of the server needs no prepared statements for them.
    let number = format!("'{}'::bigint", number(&key));
    // The savepoint is refused outside of a transaction block, such as after a COMMIT by hand: there
    // the lock would end with its own statement, and exclude nothing. An isolation level with one
    // snapshot takes it with this statement, and would hide what the last holder writes meanwhile.
    let attempt = format!(
        "SAVEPOINT lock_tower; RELEASE SAVEPOINT lock_tower; \
         SELECT CASE WHEN current_setting('transaction_isolation') LIKE 'read %' \
         THEN pg_try_{lock}({number}) END, current_setting('lock_timeout')"
    );
    let answer = transaction.fetch_one(&*attempt).await?;
    match answer.try_get(0)? {
        None => return Err(TransactionLockError::Isolation),
        Some(true) => return Ok(()),
        Some(false) if wait.is_zero() => return Err(TransactionLockError::Busy { key, mode }),
        Some(false) => {}
    }

    // A number with a unit, such as `7s`.
    let own_timeout: &str = answer.try_get(1)?;
    // Rounded down, a short wait would be zero, by which the server waits forever.
    let timeout = wait.as_nanos().div_ceil(1_000_000).min(i32::MAX.unsigned_abs().into());
    let queue = format!(
        "SAVEPOINT lock_tower; SET LOCAL lock_timeout = {timeout}; SELECT pg_{lock}({number}); \
         SET LOCAL lock_timeout = '{own_timeout}'; RELEASE SAVEPOINT lock_tower"
    );
    let Err(error) = transaction.execute(&*queue).await else { return Ok(()) };
    let code = error.as_database_error().and_then(|refused| Some(refused.code()?.into_owned()));
    let undone = transaction.execute(UNDO).await;
    Err(match code.as_deref() {
        // `lock_timeout`, and `statement_timeout` or an operator.
        Some("55P03" | "57014") if undone.is_ok() => TransactionLockError::Busy { key, mode },
        Some("40P01") if undone.is_ok() => TransactionLockError::Deadlock { key },
        _ => TransactionLockError::Database(error),
    })
}

/// Locks a key as [`lock`] does, without waiting.
///
/// # Errors
///
/// [`TransactionLockError::Busy`] if another transaction has the lock, or waits for it; the others as
/// for [`lock`].
///
/// # Cancel safety
///
/// As for [`lock`]; nothing waits in the server.
pub async fn try_lock(
    transaction: &mut Transaction<'_, Postgres>,
    mode: Mode,
    key: impl IntoLockKey,
) -> Result<(), TransactionLockError> {
    lock(transaction, mode, key, Duration::ZERO).await
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The numbers are those of `printf %s lock:KEY | sha256sum | cut -c1-16`, as signed numbers: by
    /// another program, so no compiler, version or machine can change them.
    #[test]
    fn the_number_of_a_key_never_changes() {
        for (key, hash) in [
            ("order:42", 0xad3a_b9f1_0313_5c32_u64),
            ("a", 0xce9f_5ee7_0ea3_57ff),
            ("order:{42}", 0xf376_95b0_296c_5ce5),
            ("stra\u{df}e:\u{fc}", 0xcb2c_8177_e3c5_1f4c),
            (&"x".repeat(512), 0x2cb5_e053_a10f_8f11),
        ] {
            assert_eq!(advisory_number(key), Ok(hash.cast_signed()), "{key}");
        }
        assert_eq!(advisory_number(""), Err(KeyError::Empty));
    }
}
