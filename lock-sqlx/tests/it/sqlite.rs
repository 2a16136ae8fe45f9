use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions};
use tempfile::TempDir;

pub(crate) type Pool = sqlx::SqlitePool;

/// A database in a file, so that several connections share it.
pub(crate) async fn start() -> (TempDir, Pool) {
    let directory = TempDir::new().unwrap();
    let options = SqliteConnectOptions::new()
        .filename(directory.path().join("shop.db"))
        .journal_mode(SqliteJournalMode::Wal)
        .create_if_missing(true);
    let pool = SqlitePoolOptions::new().max_connections(4).connect_with(options);
    (directory, pool.await.unwrap())
}

#[path = "cases.rs"]
mod cases;
