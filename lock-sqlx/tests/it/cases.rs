use std::{thread, time::Duration};

use lock_sqlx::{FencedTable, FencedTransaction, TransactionError};
use lock_tower::{FencingToken, LockClient, LockGuard, MemoryStore, errors::EnsureError};

use super::{Pool, start};

/// A lease that a test outlasts.
const SHORT: Duration = Duration::from_millis(300);

/// An order in a database, and two processes with locks.
struct World {
    _server: Box<dyn std::any::Any>,
    pool: Pool,
    store: MemoryStore,
    here: LockClient,
    there: LockClient,
}

impl World {
    async fn start() -> Self {
        let (server, pool) = start().await;
        for statement in [
            "CREATE TABLE orders (id BIGINT PRIMARY KEY, state TEXT NOT NULL)",
            &FencedTable::try_from("orders").unwrap().migration_sql(),
            "INSERT INTO orders (id, state) VALUES (7, 'new')",
        ] {
            sqlx::query(statement).execute(&pool).await.unwrap();
        }
        let store = MemoryStore::new();
        let client = || LockClient::builder().in_memory_on(&store);
        Self { _server: Box::new(server), pool, here: client(), there: client(), store }
    }

    async fn lock(&self, client: &LockClient) -> LockGuard {
        client.write("order:7").wait(Duration::from_secs(20)).acquire().await.unwrap()
    }

    async fn state(&self) -> String {
        let select = "SELECT state FROM orders WHERE id = 7";
        sqlx::query_scalar(select).fetch_one(&self.pool).await.unwrap()
    }

    async fn set(
        &self,
        lock: &LockGuard,
        state: &str,
    ) -> Result<u64, TransactionError<sqlx::Error>> {
        lock.transaction(&self.pool, "orders", 7_i64, async |mut tx| {
            let set = sqlx::query("UPDATE orders SET state = $1 WHERE id = 7").bind(state);
            Ok(set.execute(&mut *tx).await?.rows_affected())
        })
        .await
    }
}

#[tokio::test]
async fn the_row_is_claimed_and_the_work_committed() {
    let world = World::start().await;
    let lock = world.lock(&world.here).await;
    assert_eq!(world.set(&lock, "paid").await.unwrap(), 1);
    assert_eq!(world.state().await, "paid");
    let fence: i64 =
        sqlx::query_scalar("SELECT fence FROM orders").fetch_one(&world.pool).await.unwrap();
    assert_eq!(fence, lock.fencing_token().as_i64());
    // The same holder may continue.
    world.set(&lock, "shipped").await.unwrap();
    assert_eq!(world.state().await, "shipped");
}

#[tokio::test]
async fn a_holder_that_is_late_claims_nothing() {
    let world = World::start().await;
    let late = world.lock(&world.here).await;
    // Its lock is gone, of which it does not know.
    world.store.remove(late.key());
    let next = world.lock(&world.there).await;
    world.set(&next, "theirs").await.unwrap();
    assert!(late.is_held());
    let refused = world.set(&late, "ours").await;
    assert!(matches!(refused, Err(TransactionError::Stale)), "{refused:?}");
    assert_eq!(world.state().await, "theirs");
}

/// The process is stopped after the claim for longer than its lease, and then continues.
async fn paused(renew: bool) {
    let world = World::start().await;
    let lock = world.here.write("order:7").lease(SHORT).renew(renew).acquire().await.unwrap();
    let paused = lock
        .transaction_within(SHORT / 4, &world.pool, "orders", 7_i64, async |mut tx| {
            let set = sqlx::query("UPDATE orders SET state = 'late' WHERE id = 7");
            set.execute(&mut *tx).await?;
            // Of the whole runtime, which renews nothing meanwhile.
            thread::sleep(SHORT * 2);
            Ok::<_, sqlx::Error>(())
        })
        .await;
    let refused = matches!(paused, Err(TransactionError::Lock(EnsureError::Lost(_))));
    assert!(refused, "{paused:?}");
    let next = world.lock(&world.there).await;
    world.set(&next, "paid").await.unwrap();
    assert_eq!(world.state().await, "paid", "nothing of the late one is committed");
}

#[tokio::test]
async fn a_holder_paused_between_claim_and_commit_commits_nothing() {
    paused(false).await;
}

#[tokio::test]
async fn nor_does_one_whose_lease_is_renewed_when_it_is_not_paused() {
    paused(true).await;
}

#[tokio::test]
async fn work_that_outlasts_its_lock_is_cut_short() {
    let world = World::start().await;
    let lock = world.here.write("order:7").lease(SHORT).renew(false).acquire().await.unwrap();
    let cut = lock.transaction(&world.pool, "orders", 7_i64, async |mut tx| {
        sqlx::query("UPDATE orders SET state = 'late' WHERE id = 7").execute(&mut *tx).await?;
        std::future::pending::<Result<(), sqlx::Error>>().await
    });
    let cut = cut.await;
    assert!(matches!(cut, Err(TransactionError::Lock(EnsureError::Lost(_)))), "{cut:?}");
    assert_eq!(world.state().await, "new");
}

#[tokio::test]
async fn a_commit_needs_more_of_the_lease_than_its_margin() {
    let world = World::start().await;
    let lease = Duration::from_millis(900);
    let lock = world.here.write("order:7").lease(lease).acquire().await.unwrap();
    let refused = world.set(&lock, "paid").await;
    let too_long = matches!(refused, Err(TransactionError::Lock(EnsureError::TooLong { .. })));
    assert!(too_long, "{refused:?}");
    assert_eq!(world.state().await, "new");
    let paid = lock.transaction_within(lease / 2, &world.pool, "orders", 7_i64, async |mut tx| {
        sqlx::query("UPDATE orders SET state = 'paid'").execute(&mut *tx).await.map(drop)
    });
    paid.await.unwrap();
    assert_eq!(world.state().await, "paid");
}

#[tokio::test]
async fn work_that_fails_is_rolled_back() {
    let world = World::start().await;
    let lock = world.lock(&world.here).await;
    let failed = lock.transaction(&world.pool, "orders", 7_i64, async |mut tx| {
        sqlx::query("UPDATE orders SET state = 'paid'").execute(&mut *tx).await.unwrap();
        Err::<(), _>("no money")
    });
    let failed = failed.await;
    assert!(matches!(failed, Err(TransactionError::Work("no money"))), "{failed:?}");
    assert_eq!(world.state().await, "new");
    let broken = lock.transaction(&world.pool, "orders", 7_i64, async |mut tx| {
        sqlx::query("UPDATE nothing SET state = 'paid'").execute(&mut *tx).await.map(drop)
    });
    let broken = broken.await;
    assert!(matches!(broken, Err(TransactionError::Work(sqlx::Error::Database(_)))), "{broken:?}");
    world.set(&lock, "paid").await.unwrap();
}

#[tokio::test]
async fn work_that_panics_or_is_dropped_is_rolled_back() {
    let world = World::start().await;
    let (pool, client) = (world.pool.clone(), world.here.clone());
    let panics = tokio::spawn(async move {
        let lock = client.write("order:7").acquire().await.unwrap();
        let work = lock.transaction(&pool, "orders", 7_i64, async |mut tx| {
            sqlx::query("UPDATE orders SET state = 'paid'").execute(&mut *tx).await?;
            if pool.size() > 0 {
                panic!("in the middle of it");
            }
            Ok::<_, sqlx::Error>(())
        });
        work.await.unwrap();
    });
    assert!(panics.await.unwrap_err().is_panic());
    assert_eq!(world.state().await, "new");

    let lock = world.lock(&world.here).await;
    let (wrote, was_written) = tokio::sync::oneshot::channel();
    let work = lock.transaction(&world.pool, "orders", 7_i64, async |mut tx| {
        sqlx::query("UPDATE orders SET state = 'paid'").execute(&mut *tx).await?;
        wrote.send(()).unwrap();
        std::future::pending::<Result<(), sqlx::Error>>().await
    });
    tokio::select! {
        never = work => panic!("{never:?}"),
        written = was_written => written.unwrap(),
    }
    assert_eq!(world.state().await, "new");
    world.set(&lock, "shipped").await.unwrap();
}

#[tokio::test]
async fn rows_tables_and_locks_that_cannot_be_claimed() {
    let world = World::start().await;
    let lock = world.lock(&world.here).await;
    let none = async |_| Ok::<_, sqlx::Error>(());
    let missing = lock.transaction(&world.pool, "orders", 8_i64, none).await;
    assert!(matches!(missing, Err(TransactionError::Missing)), "{missing:?}");
    for name in ["", "or ders", "orders;--", "orders\"", "7orders"] {
        let refused = lock.transaction(&world.pool, name, 7_i64, none).await;
        assert!(matches!(refused, Err(TransactionError::Name(_))), "{name}: {refused:?}");
    }
    let unknown = lock.transaction(&world.pool, "nothing", 7_i64, none).await;
    assert!(matches!(unknown, Err(TransactionError::Database(_))), "{unknown:?}");
    let other = FencedTable::new("orders", "id", "state_fence").unwrap();
    let unknown = lock.transaction(&world.pool, other, 7_i64, none).await;
    assert!(matches!(unknown, Err(TransactionError::Database(_))), "{unknown:?}");

    let reads = world.here.read("other").acquire().await.unwrap();
    let refused = reads.transaction(&world.pool, "orders", 7_i64, none).await;
    assert!(matches!(refused, Err(TransactionError::NoToken(_))), "{refused:?}");
    let view = lock.view();
    lock.release().await.unwrap();
    let refused = view.transaction(&world.pool, "orders", 7_i64, none).await;
    assert!(matches!(refused, Err(TransactionError::Lock(_))), "{refused:?}");

    let lock = world.lock(&world.here).await;
    world.pool.close().await;
    let closed = lock.transaction(&world.pool, "orders", 7_i64, none).await;
    assert!(
        matches!(closed, Err(TransactionError::Database(sqlx::Error::PoolClosed))),
        "{closed:?}"
    );
}

#[tokio::test]
async fn a_token_of_another_service_claims_a_row() {
    let world = World::start().await;
    let claim = async |id: i64, token: u64| {
        let mut tx = world.pool.begin().await.unwrap();
        let claimed = lock_sqlx::claim(&mut tx, "orders", id, FencingToken::new(token)).await;
        tx.commit().await.unwrap();
        claimed
    };
    claim(7, 5).await.unwrap();
    claim(7, 5).await.unwrap();
    claim(7, 9).await.unwrap();
    assert!(matches!(claim(7, 8).await, Err(TransactionError::Stale)));
    assert!(matches!(claim(8, 9).await, Err(TransactionError::Missing)));
    assert!(matches!(claim(7, 0).await, Err(TransactionError::NoToken(_))));
}
