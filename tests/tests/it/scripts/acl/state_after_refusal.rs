//! What is left where a right is missing.

use crate::scripts::acl::required::{ask, forbidden, user};
use crate::scripts::any::call::{acquire_all, of, request_release};
use crate::scripts::support::call::{
    acquire_read, acquire_write, downgrade, release_read, release_write,
};
use crate::scripts::support::keys::{lock, read};
use crate::scripts::support::store::Store;
use crate::scripts::support::waiter::{WAITERS, waiting};
use crate::scripts::{
    fair::call as fair_call, fair_read_write::call as fair_rw_call, plain::call as plain_call,
};

/// The message is a hint: the lock is free already, and waiters find that by polling.
#[tokio::test]
async fn without_publish_a_release_counts_and_is_not_announced() {
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
    assert!(store.reported().await.is_empty());
}

/// The same for a waiter: it blocks no other any more, though no message is sent at once.
#[tokio::test]
async fn without_publish_a_waiter_that_leaves_takes_its_place_along() {
    for waiter in WAITERS {
        let mut store = waiting(waiter).await;
        store.expire().await;
        let cli = user(&store, &["+publish"]).await;
        let leave = (waiter.release)("b:2", 0).with("queued", 1);
        assert_eq!(ask(&store, &cli, &leave).await.unwrap(), ["GONE"]);
        store.stands([]).await;
        assert!(store.reported().await.is_empty());
    }
}

/// Redis gives no way to set a hash and its TTL in one command. A right that is taken away between
/// two acquisitions must not leave a lock without an end, even if its holder dies before it can
/// release.
#[tokio::test]
async fn without_pexpire_an_acquire_fails_and_leaves_nothing() {
    let store = Store::start().await;
    let cli = user(&store, &["+pexpire"]).await;
    for acquire in [
        acquire_read("a:1", 1),
        acquire_write("a:1", 1),
        plain_call::acquire("a:1", 1),
        fair_call::acquire("a:1", 1),
        fair_rw_call::read("a:1"),
        fair_rw_call::write("a:1"),
        acquire_all(&[of("x", acquire_write("a:1", 1)), of("y", plain_call::acquire("a:1", 1))]),
    ] {
        let refused = ask(&store, &cli, &acquire).await.unwrap_err();
        assert!(forbidden(&refused), "{acquire:?}: {refused}");
        let left = store.keys().await.into_iter().filter(|key| !key.name.contains("token"));
        assert!(left.clone().next().is_none(), "{acquire:?}: {:?}", left.collect::<Vec<_>>());
    }
}

/// Nor a place in line, or a request to release.
#[tokio::test]
async fn without_pexpire_no_waiter_is_queued_for_ever() {
    for (held, waits, leave) in [
        (fair_call::acquire("a:1", 1), fair_call::acquire("b:2", 1), fair_call::release("a:1", 0)),
        (
            fair_rw_call::write("a:1"),
            fair_rw_call::read("b:2"),
            fair_rw_call::release("write", "a:1", 0),
        ),
        (acquire_write("a:1", 1), acquire_read("b:2", 1), release_write("a:1", 0)),
        (acquire_write("a:1", 1), acquire_write("b:2", 1), release_write("a:1", 0)),
        (acquire_read("a:1", 1), acquire_write("b:2", 1), release_read("a:1", 0)),
        (
            plain_call::acquire("a:1", 1),
            plain_call::acquire("b:2", 1),
            plain_call::release("a:1", 0),
        ),
        (plain_call::acquire("a:1", 1), request_release(), plain_call::release("a:1", 0)),
    ] {
        let store = Store::start().await;
        let cli = user(&store, &["+pexpire"]).await;
        assert_eq!(store.ask(&held).await[0], "GRANTED");
        let before = store.keys().await;
        let refused = ask(&store, &cli, &waits).await;
        // A line that stands for as long as its lock does is given no other end.
        assert!(refused.is_err_and(|error| forbidden(&error)), "{waits:?}");
        store.unchanged_since(&before).await;
        store.ask(&leave).await;
        store.stands([]).await;
    }
}
