//! semaphore/*: foreign and missing keys, Redisson's leases, the memory limit.

use crate::scripts::semaphore::call::{acquire, permit, release, renew, resize};
use crate::scripts::semaphore::steps::{ends, left, reported, stand};
use crate::scripts::support::call::LEASE;
use crate::scripts::support::keys::{LEASES, LOCK, within};
use crate::scripts::support::store::{Store, is_at_the_memory_limit};

/// Redisson's time of a lease without end.
const NEVER: &str = "922337203685477";

#[tokio::test]
async fn a_lease_of_redissons_without_end_stays_so() {
    let store = Store::start().await;
    store.set(&["SET", LOCK, "0"]).await;
    store.set(&["ZADD", LEASES, NEVER, &permit(1)]).await;
    assert_eq!(store.ask(&acquire(2, 1)).await, ["BUSY", "-1", "0"]);
    for step in [renew(1), acquire(1, 9)] {
        assert_ne!(store.ask(&step).await[0], "BUSY");
        assert_eq!(store.score(LEASES, &permit(1)).await, Some(NEVER.parse().unwrap()));
    }
    assert_eq!(store.ask(&release(1)).await, ["FREED"]);
    stand(&store, 1, &[]).await;
}

#[tokio::test]
async fn no_message_when_none_is_out_and_none_is_free() {
    let store = Store::start().await;
    assert_eq!(store.ask(&acquire(1, 0)).await, ["BUSY", "-1", "0"]);
    stand(&store, 0, &[]).await;
}

#[tokio::test]
async fn a_semaphore_without_its_number_is_rebuilt_from_its_leases() {
    let mut store = Store::start().await;
    for number in [1, 2, 3] {
        store.ask(&acquire(number, 5)).await;
    }
    assert_eq!(reported(&mut store).await, ["4"]);
    store.expire().await;
    assert_eq!(store.ask(&release(1)).await, ["FREED"]);
    assert!(!store.cli.exists(LOCK).await, "one permit would have been all of them");
    assert!(reported(&mut store).await.is_empty());
    ends(&store, 2).await;
    assert_eq!(store.ask(&acquire(4, 5)).await, ["GRANTED", ""]);
    stand(&store, 3, &[3, 4]).await;
    assert_eq!(reported(&mut store).await, ["3"], "to waiters for a semaphore that did not exist");
}

#[tokio::test]
async fn something_else_under_a_name_is_no_semaphore() {
    for foreign in [
        &["HSET", LOCK, "a:1", "1"][..],
        &["SET", LOCK, "many"],
        &["SET", LOCK, "1.5"],
        &["SET", LOCK, ""],
        &["SET", LEASES, "x"],
    ] {
        let mut store = Store::start().await;
        store.set(foreign).await;
        let before = store.keys().await;
        for call in [acquire(1, 2), resize(2, 0), resize(2, 1)] {
            assert_eq!(store.ask(&call).await, ["WRONG_KIND"], "{call:?} on {foreign:?}");
        }
        assert_eq!(store.ask(&release(1)).await, ["GONE"]);
        store.unchanged_since(&before).await;
        assert!(reported(&mut store).await.is_empty());
    }
}

#[tokio::test]
async fn at_the_memory_limit_permits_can_be_kept_and_given_back() {
    let mut store = Store::start().await;
    for number in [1, 2] {
        store.ask(&acquire(number, 3)).await;
    }
    assert_eq!(reported(&mut store).await, ["2"]);
    ends(&store, 2).await;
    store.fill().await;
    let refused = store.try_ask(&acquire(3, 3)).await.unwrap_err();
    assert!(is_at_the_memory_limit(&refused), "{refused}");
    assert_eq!(store.ask(&renew(1)).await, ["RENEWED", "1"]);
    assert_eq!(store.ask(&acquire(1, 3)).await, ["GRANTED", ""]);
    assert!(within(left(&store, 1).await, LEASE));
    assert_eq!(store.ask(&release(1)).await, ["FREED"]);
    stand(&store, 3, &[]).await;
    assert_eq!(reported(&mut store).await, ["3"]);
}

#[tokio::test]
async fn any_number_of_permits_that_can_be_requested_is_valid() {
    let most = i64::from(u32::MAX);
    let store = Store::start().await;
    assert_eq!(store.ask(&acquire(1, most)).await, ["GRANTED", ""]);
    stand(&store, most - 1, &[1]).await;
    assert_eq!(store.ask(&resize(most, 0)).await, ["RESIZED", &(most - 1).to_string(), "0"]);
}
