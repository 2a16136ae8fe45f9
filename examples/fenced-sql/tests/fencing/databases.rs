//! Each case is written once and runs on every database.

use std::sync::{
    Arc, Weak,
    atomic::{AtomicU32, Ordering},
};

use fenced_sql::Accounts;
use lock_tests::PostgresServer;
use lock_tower::{LockClient, LockGuard, MemoryStore};
use sqlx::{AnyPool, any::install_default_drivers};
use tempfile::TempDir;
use tokio::sync::Mutex;

pub(crate) const ADA: i64 = 7;

/// A database of the test's own, with an account that has 100. It is removed when this is dropped.
pub(crate) struct Database {
    pub(crate) accounts: Accounts,
    url: String,
    _owned: Owned,
}

#[expect(dead_code, reason = "held for as long as they are needed")]
enum Owned {
    File(TempDir),
    Server(Arc<PostgresServer>),
}

/// Shared by the tests that run at the same time, because it is slow to start. It ends with the last
/// of them, because statics are never dropped.
static POSTGRES: Mutex<Weak<PostgresServer>> = Mutex::const_new(Weak::new());
static DATABASES: AtomicU32 = AtomicU32::new(0);

async fn shared_postgres() -> Arc<PostgresServer> {
    let mut shared = POSTGRES.lock().await;
    if let Some(server) = shared.upgrade() {
        return server;
    }
    let server = Arc::new(PostgresServer::start().await);
    *shared = Arc::downgrade(&server);
    server
}

impl Database {
    pub(crate) async fn sqlite() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("accounts.sqlite");
        Self::at(format!("sqlite://{}?mode=rwc", file.display()), Owned::File(directory)).await
    }

    pub(crate) async fn postgres() -> Self {
        let server = shared_postgres().await;
        let name = format!("test_{}", DATABASES.fetch_add(1, Ordering::Relaxed));
        Self::at(server.create_database(&name), Owned::Server(server)).await
    }

    async fn at(url: String, owned: Owned) -> Self {
        let accounts = Accounts::open(&url).await.unwrap();
        accounts.create_table().await.unwrap();
        accounts.create(ADA, 100).await.unwrap();
        Self { accounts, url, _owned: owned }
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// Direct access, beside the statements of the accounts.
    pub(crate) async fn pool(&self) -> AnyPool {
        install_default_drivers();
        AnyPool::connect(&self.url).await.unwrap()
    }

    pub(crate) async fn balance(&self) -> i64 {
        self.accounts.balance(ADA).await.unwrap()
    }
}

/// Two holders of one lock at the same time, because the first has lost it and does not know it yet.
pub(crate) async fn two_holders() -> (LockGuard, LockGuard) {
    let store = MemoryStore::new();
    let here = LockClient::builder().in_memory_on(&store);
    let there = LockClient::builder().in_memory_on(&store);
    let first = here.write("account:7").acquire().await.unwrap();
    store.remove(first.key());
    let second = there.write("account:7").acquire().await.unwrap();
    (first, second)
}

/// Makes a test of each case, which takes a `Database`.
macro_rules! on_every_database {
    ($($case:ident),* $(,)?) => {
        mod sqlite {
            $(#[tokio::test]
            async fn $case() {
                super::$case(crate::databases::Database::sqlite().await).await;
            })*
        }

        mod postgres {
            $(#[tokio::test]
            async fn $case() {
                super::$case(crate::databases::Database::postgres().await).await;
            })*
        }
    };
}
pub(crate) use on_every_database;
