//! Transactions of [sqlx] under a lock of [lock-tower](lock_tower), which a late holder cannot
//! commit.
//!
//! A lock is a lease: a process that was stopped for longer than its lease continues for a moment
//! as if it still had the lock. [`transaction`](FencedTransaction::transaction) makes that harmless
//! for its writes:
//!
//! 1. The first statement *claims* the row with the lock's fencing token, and refuses a holder that is
//!    late: [`TransactionError::Stale`]. The rule and its reason are those of [`FencedTable`].
//! 2. The work runs in the transaction, for as long as the lock is held: see
//!    [`LockView::protect`](lock_tower::locks::LockView::protect).
//! 3. Before COMMIT the lock must be good for [`COMMIT_MARGIN`] more, by a renewal if need be.
//!    Otherwise the transaction is rolled back: [`TransactionError::Lock`].
//!
//! ```
//! use lock_sqlx::{FencedTransaction, TransactionError};
//! use lock_tower::LockClient;
//! use sqlx::SqlitePool;
//!
//! async fn ship(
//!     locks: &LockClient,
//!     pool: &SqlitePool,
//!     id: i64,
//! ) -> Result<(), Box<dyn std::error::Error>> {
//!     let lock = locks.write(format!("order:{id}")).acquire().await?;
//!     let shipped = lock.transaction(pool, "orders", id, async |mut tx| {
//!         let ship = sqlx::query("UPDATE orders SET state = 'shipped' WHERE id = $1").bind(id);
//!         ship.execute(&mut *tx).await.map(drop)
//!     });
//!     match shipped.await {
//!         Err(TransactionError::Stale | TransactionError::Lock(_)) => {
//!             println!("the lock was lost, and nothing is written");
//!             Ok(())
//!         }
//!         shipped => Ok(shipped?),
//!     }
//! }
//! # let _ = ship;
//! ```
//!
//! # Guarantees and limits
//!
//! Between the last look at the clock and the database's COMMIT a process may still be stopped. Then
//! the transaction stays open, and its claim keeps the row locked in the database: the next holder's
//! claim waits for it, in PostgreSQL and MySQL until the transaction ends, in SQLite until the busy
//! timeout. So the next holder claims and reads what the late one has committed, and never works beside
//! it. A late holder whose connection was dropped by the database commits nothing.
//!
//! All writes to the row have to go through such a transaction, or through the statements of a
//! [`FencedTable`] with the same columns.
//!
//! # Databases
//!
//! Each is a feature, and none is a default: `postgres` and `sqlite`, on which this is tested, and
//! `mysql`, whose statements alone are. The table needs a column for the token:
//! [`FencedTable::migration_sql`] adds it. With `postgres` there are also locks that end with a
//! transaction, for which no other lock is needed.
//!
//! With `sqlite` the program contains the SQLite that sqlx 0.8 bundles, which is 3.46.0. A service that
//! runs statements or opens files of others links the system's instead: build it with the environment
//! variable `LIBSQLITE3_SYS_USE_PKG_CONFIG=1`.
//!
//! # In a handler
//!
//! With the feature `axum` a [`TransactionError`] is a response: see there.
//!
//! ```
//! # #[cfg(feature = "axum")] {
//! use axum::{extract::{Path, State}, http::StatusCode};
//! use lock_sqlx::{FencedTransaction, TransactionError};
//! use lock_tower::{Locked, distributed_lock};
//! use sqlx::SqlitePool;
//!
//! #[distributed_lock(key = "order:{id}")]
//! async fn ship(
//!     State(pool): State<SqlitePool>,
//!     Path(id): Path<i64>,
//!     lock: Locked,
//! ) -> Result<StatusCode, TransactionError<StatusCode>> {
//!     lock.transaction(&pool, "orders", id, async |mut tx| {
//!         let ship = sqlx::query("UPDATE orders SET state = 'shipped' WHERE id = $1").bind(id);
//!         let shipped = ship.execute(&mut *tx).await;
//!         shipped.map(|_| StatusCode::OK).map_err(|_| StatusCode::INTERNAL_SERVER_ERROR)
//!     })
//!     .await
//! }
//! # let _ = axum::Router::<SqlitePool>::new().route("/orders/{id}", axum::routing::put(ship));
//! # }
//! ```
//!
//! [sqlx]: https://docs.rs/sqlx
#![cfg_attr(feature = "postgres", doc = include_str!("transaction_lock.md"))]
#![cfg_attr(docsrs, feature(doc_cfg))]

mod claimed_row;
mod database;
mod error;
#[cfg(feature = "axum")]
mod response;
mod transaction;
#[cfg(feature = "postgres")]
mod transaction_lock;

pub use claimed_row::ClaimedRow;
pub use database::FencedDatabase;
pub use error::TransactionError;
pub use lock_tower::{FencedTable, fence::InvalidName};
#[cfg(feature = "postgres")]
pub use lock_tower::{Mode, errors::KeyError};
pub use transaction::{COMMIT_MARGIN, FencedTransaction, HeldLock, claim};
#[cfg(feature = "postgres")]
pub use transaction_lock::{TransactionLockError, advisory_number, lock, try_lock};
