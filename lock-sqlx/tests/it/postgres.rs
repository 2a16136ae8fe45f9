use std::sync::{
    Arc, Weak,
    atomic::{AtomicU32, Ordering},
};

use lock_tests::PostgresServer;
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

#[path = "cases.rs"]
mod cases;
