//! What is left where a right is missing.

use crate::acl::{ask, user};
use crate::call::{LEASE, acquire_read, acquire_write, downgrade, release_read, release_write};
use crate::keys::{FOREVER, LOCK, lock, read};
use crate::store::Store;
use crate::waiter::{WAITERS, waiting};

/// The message is a hint: what it tells of has happened, and waiters find the lock free by looking.
#[tokio::test]
async fn without_publish_a_release_counts_and_nobody_is_told() {
    let mut store = Store::start().await;
    for missing in ["+publish", "&redisson_rwlock:{lock:*"] {
        let cli = user(&store, &[missing]).await;
        for (acquire, release) in [
            (acquire_read("a:1", 1), release_read("a:1", 0)),
            (acquire_write("a:1", 1), release_write("a:1", 0)),
        ] {
            assert_eq!(ask(&store, &cli, &acquire).await.unwrap()[0], "GRANTED");
            assert_eq!(ask(&store, &cli, &release).await.unwrap(), ["FREED"]);
            store.stands([]).await;
        }

        assert_eq!(ask(&store, &cli, &acquire_write("a:1", 1)).await.unwrap()[0], "GRANTED");
        assert_eq!(ask(&store, &cli, &downgrade("a:1", 1, 0)).await.unwrap(), ["RELEASED"]);
        store.stands([lock("a:1=1 mode=read", 600_000), read("a:1", 1, 600_000)]).await;
        assert_eq!(ask(&store, &cli, &release_read("a:1", 0)).await.unwrap(), ["FREED"]);
        store.stands([]).await;
    }
    assert!(store.told().await.is_empty());
}

/// The same for a waiter: it is no more in anybody's way, and nobody hears of that at once.
#[tokio::test]
async fn without_publish_a_waiter_that_leaves_takes_its_mark_along() {
    for waiter in WAITERS {
        let mut store = waiting(waiter).await;
        let cli = user(&store, &["+publish"]).await;
        let leave = (waiter.release)("b:2", 0).with("marked", 1);
        assert_eq!(ask(&store, &cli, &leave).await.unwrap(), ["GONE"]);
        store.stands([lock("a:1:write=1 mode=write", LEASE)]).await;
        assert!(store.told().await.is_empty());
    }
}

/// Why a client must try its rights before it serves: Redis gives no way to set a hash and its TTL
/// in one command. The release that follows every failed acquire takes the lock away.
#[tokio::test]
async fn without_pexpire_an_acquire_fails_and_leaves_a_lock_to_be_released() {
    let store = Store::start().await;
    let cli = user(&store, &["+pexpire"]).await;
    for (acquire, release) in [
        (acquire_read("a:1", 1), release_read("a:1", 0)),
        (acquire_write("a:1", 1), release_write("a:1", 0)),
    ] {
        ask(&store, &cli, &acquire).await.unwrap_err();
        assert_eq!(store.cli.pttl(LOCK).await, FOREVER);
        ask(&store, &cli, &release).await.unwrap();
        store.stands([]).await;
    }
}
