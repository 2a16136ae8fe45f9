//! The tests of lock-sqlx: the same cases on each database.
#![allow(missing_docs, clippy::unwrap_used)]
#![allow(clippy::duplicate_mod, reason = "each case runs on each database")]

mod handler;
mod postgres;
mod sqlite;
mod transaction_lock;
