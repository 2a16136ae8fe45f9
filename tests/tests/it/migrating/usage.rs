//! The calls of versions 1 and 2, as the guide shows them.

use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use lock_tests::migrating::hand_rolled::{Both, BothError, OldLocks};
use lock_tests::{LIMIT, RedisServer, bounded, eventually};
use lock_tower::{FencingToken, LockClient, LockError};
use tokio::task::yield_now;

async fn version_1(
    old: &OldLocks,
    locks: &LockClient,
    orders: &Orders,
    id: u64,
) -> Result<(), BothError> {
    let (old_key, new_key) = (format!("order-lock-{id}"), format!("order:{id}"));
    let both = Both::acquire(old, &old_key, locks, &new_key, Duration::from_secs(20)).await?;
    let token = both.fencing_token();
    both.run(orders.change(id, token)).await
}

async fn version_2(locks: &LockClient, orders: &Orders, id: u64) -> Result<(), LockError> {
    let lock = locks.write(format!("order:{id}")).wait(Duration::from_secs(20));
    let guard = lock.acquire().await?;
    guard.protect(orders.change(id, guard.fencing_token())).await?;
    Ok(())
}

async fn same_key(url: &str, orders: &Orders) -> Result<(), Box<dyn Error>> {
    // The old key without the part that varies.
    let builder = LockClient::builder().prefix("order-lock-").beside_set_nx();
    let locks = builder.connect(url).await?;
    let guard = locks.write("42").wait(Duration::from_secs(20)).acquire().await?;
    guard.protect(orders.change(42, guard.fencing_token())).await?;
    Ok(())
}

/// An order that detects a change by two at a time, or by a late one.
#[derive(Debug, Default)]
struct Orders {
    changes: AtomicU64,
    last: AtomicU64,
}

impl Orders {
    async fn change(&self, _id: u64, token: FencingToken) {
        let seen = self.changes.load(Ordering::SeqCst);
        yield_now().await;
        let last = self.last.swap(token.get(), Ordering::SeqCst);
        assert!(last < token.get(), "a late change");
        yield_now().await;
        self.changes.store(seen + 1, Ordering::SeqCst);
    }
}

#[tokio::test]
async fn both_change_one_order_one_at_a_time() {
    const EACH: u64 = 20;
    let redis = RedisServer::start().await;
    let client = redis::Client::open(redis.url()).unwrap();
    let connection = client.get_multiplexed_async_connection().await.unwrap();
    let old = OldLocks { redis: connection, ttl: Duration::from_secs(120) };
    let new = async || LockClient::connect(&redis.url()).await.unwrap();
    let orders = Arc::<Orders>::default();

    let (one, two) = (new().await, new().await);
    let ones = async {
        for _ in 0..EACH {
            version_1(&old, &one, &orders, 42).await.unwrap();
        }
    };
    let twos = async {
        for _ in 0..EACH {
            version_2(&two, &orders, 42).await.unwrap();
        }
    };
    bounded(2 * LIMIT, async { tokio::join!(ones, twos) }).await;
    assert_eq!(orders.changes.load(Ordering::SeqCst), 2 * EACH);
}

#[tokio::test]
async fn the_new_lock_waits_for_the_old_one_under_the_same_key() {
    let redis = RedisServer::start().await;
    let client = redis::Client::open(redis.url()).unwrap();
    let connection = client.get_multiplexed_async_connection().await.unwrap();
    let old = OldLocks { redis: connection, ttl: Duration::from_secs(120) };
    let orders = Orders::default();
    let held = old.try_take("order-lock-42").await.unwrap().unwrap();
    let url = redis.url();
    let waits = async {
        same_key(&url, &orders).await.unwrap();
    };
    let ends = async {
        assert!(held.renew().await.unwrap(), "its text was touched");
        assert_eq!(orders.changes.load(Ordering::SeqCst), 0);
        held.give_back().await;
    };
    bounded(LIMIT, async { tokio::join!(waits, ends) }).await;
    assert_eq!(orders.changes.load(Ordering::SeqCst), 1);
    let is_free = async || old.try_take("order-lock-42").await.unwrap().is_some();
    eventually("the new lock is released", LIMIT, is_free).await;
}
