use std::sync::{
    Arc, Weak,
    atomic::{AtomicU32, Ordering},
};

use lock_sqlx::{ClaimedRow, FencedTable, FencedTransaction, TransactionError};
use lock_tests::PostgresServer;
use lock_tower::LockClient;
use tokio::sync::Mutex;

pub(crate) type Pool = sqlx::PgPool;

/// Shared by the tests that run at the same time, because it is slow to start. It ends with the last
/// of them, because statics are never dropped.
static SHARED: Mutex<Weak<PostgresServer>> = Mutex::const_new(Weak::new());
static DATABASES: AtomicU32 = AtomicU32::new(0);

/// A database of the test's own.
pub(crate) async fn start() -> (Arc<PostgresServer>, Pool) {
    let server = {
        let mut shared = SHARED.lock().await;
        match shared.upgrade() {
            Some(server) => server,
            None => {
                let server = Arc::new(PostgresServer::start().await);
                *shared = Arc::downgrade(&server);
                server
            }
        }
    };
    let name = format!("test_{}", DATABASES.fetch_add(1, Ordering::Relaxed));
    let url = server.create_database(&name);
    let pool = Pool::connect(&url).await.unwrap();
    (server, pool)
}

/// The commit itself is refused, by a constraint that is checked then: with this SQLSTATE.
async fn refused_commit(code: &str) -> TransactionError<sqlx::Error> {
    let (_server, pool) = start().await;
    let raise = format!(
        "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS \
         $$ BEGIN RAISE EXCEPTION 'refused' USING ERRCODE = '{code}'; END $$"
    );
    for statement in [
        "CREATE TABLE orders (id BIGINT PRIMARY KEY, state TEXT NOT NULL)",
        &FencedTable::try_from("orders").unwrap().migration_sql(),
        "INSERT INTO orders (id, state) VALUES (7, 'new')",
        &raise,
        "CREATE CONSTRAINT TRIGGER refused AFTER UPDATE ON orders DEFERRABLE INITIALLY DEFERRED \
         FOR EACH ROW EXECUTE FUNCTION refuse()",
    ] {
        sqlx::query(statement).execute(&pool).await.unwrap();
    }
    let lock = LockClient::in_memory().write("order:7").acquire().await.unwrap();
    let work = async |mut tx: ClaimedRow<sqlx::Postgres>| {
        let pay = sqlx::query("UPDATE orders SET state = 'paid' WHERE id = 7");
        pay.execute(&mut *tx).await.map(drop)
    };
    lock.transaction(&pool, "orders", 7_i64, work).await.unwrap_err()
}

#[tokio::test]
async fn an_error_of_the_commit_that_proves_no_rollback_is_unknown() {
    for code in ["08006", "40003", "57P01", "57P02", "XX000", "58030"] {
        let error = refused_commit(code).await;
        assert!(matches!(error, TransactionError::CommitUnknown(_)), "{code}: {error:?}");
    }
    for code in ["23514", "40001", "40P01", "P0001"] {
        let error = refused_commit(code).await;
        assert!(matches!(error, TransactionError::Database(_)), "{code}: {error:?}");
    }
}

#[path = "cases.rs"]
mod cases;
