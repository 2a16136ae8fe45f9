//! read_write/acquire_read

use crate::scripts::support::call::{LEASE, LONGER, acquire_read, acquire_write};
use crate::scripts::support::keys::{FOREVER, LOCK, lock, read, waiters, with};
use crate::scripts::support::store::Store;

#[tokio::test]
async fn a_free_lock_is_granted_and_granted_again() {
    let mut store = Store::start().await;
    let first = store.granted(&acquire_read("a:1", 1)).await;
    let expected = || [lock("a:1=1 mode=read", LEASE), read("a:1", 1, LEASE)];
    store.stands(expected()).await;

    let second = store.granted(&acquire_read("a:1", 1)).await;
    assert!(second > first);
    store.stands(expected()).await;
    assert!(store.reported().await.is_empty());
}

#[tokio::test]
async fn a_second_hold_counts_and_has_no_token() {
    let mut store = Store::start().await;
    store.granted(&acquire_read("a:1", 1)).await;
    for _asked in 0..2 {
        assert_eq!(store.ask(&acquire_read("a:1", 2)).await, ["GRANTED", ""]);
        let holds = [read("a:1", 1, LEASE), read("a:1", 2, LEASE)];
        store.stands(with(lock("a:1=2 mode=read", LEASE), holds)).await;
    }
    assert!(store.reported().await.is_empty());
}

#[tokio::test]
async fn all_holds_of_an_owner_share_the_longest_lease() {
    let store = Store::start().await;
    store.granted(&acquire_read("a:1", 1)).await;
    let longer = acquire_read("a:1", 2).with("lease", LONGER);
    assert_eq!(store.ask(&longer).await, ["GRANTED", ""]);
    assert_eq!(store.ask(&acquire_read("a:1", 3)).await, ["GRANTED", ""]);
    let holds = [1, 2, 3].map(|hold| read("a:1", hold, LONGER));
    store.stands(with(lock("a:1=3 mode=read", LONGER), holds)).await;
}

#[tokio::test]
async fn a_repeated_outer_acquire_takes_no_inner_hold_away() {
    let store = Store::start().await;
    store.granted(&acquire_read("a:1", 1)).await;
    assert_eq!(store.ask(&acquire_read("a:1", 2)).await, ["GRANTED", ""]);
    store.granted(&acquire_read("a:1", 1).with("lease", LONGER)).await;
    let holds = [1, 2].map(|hold| read("a:1", hold, LONGER));
    store.stands(with(lock("a:1=2 mode=read", LONGER), holds)).await;
}

#[tokio::test]
async fn readers_share_and_the_lock_lives_as_long_as_the_longest() {
    let store = Store::start().await;
    let first = store.granted(&acquire_read("a:1", 1).with("lease", LONGER)).await;
    let second = store.granted(&acquire_read("b:2", 1)).await;
    assert!(second > first);
    let readers = [read("a:1", 1, LONGER), read("b:2", 1, LEASE)];
    store.stands(with(lock("a:1=1 b:2=1 mode=read", LONGER), readers)).await;
}

#[tokio::test]
async fn another_owners_write_is_in_the_way() {
    let mut store = Store::start().await;
    store.granted(&acquire_write("b:2", 1)).await;
    let before = store.keys().await;
    assert_eq!(store.ask(&acquire_read("a:1", 2)).await, ["LOST"]);
    store.unchanged_since(&before).await;
    assert_eq!(store.refused(&acquire_read("a:1", 1), "BUSY", LEASE).await, ["1"]);
    let written = lock("b:2:write=1 mode=write", LEASE);
    store.stands([written, waiters("read:a:1")]).await;

    store.set(&["PERSIST", LOCK]).await;
    assert_eq!(store.ask(&acquire_read("a:1", 1)).await, ["BUSY", "-1", "1"]);
    assert!(store.reported().await.is_empty());
}

#[tokio::test]
async fn the_own_write_lets_its_owner_read() {
    let store = Store::start().await;
    store.granted(&acquire_write("a:1", 1)).await;
    for _asked in 0..2 {
        assert_eq!(store.ask(&acquire_read("a:1", 1)).await, ["GRANTED", ""]);
        store.stands([lock("a:1=1 a:1:write=1 mode=write", LEASE), read("a:1", 1, LEASE)]).await;
    }
    let longer = acquire_read("a:1", 2).with("lease", LONGER);
    assert_eq!(store.ask(&longer).await, ["GRANTED", ""]);
    let holds = [1, 2].map(|hold| read("a:1", hold, LONGER));
    store.stands(with(lock("a:1=2 a:1:write=1 mode=write", LONGER), holds)).await;
}

#[tokio::test]
async fn a_hold_on_top_of_holds_that_are_gone_is_lost() {
    let store = Store::start().await;
    assert_eq!(store.ask(&acquire_read("a:1", 2)).await, ["LOST"]);
    store.stands([]).await;

    store.granted(&acquire_read("a:1", 1)).await;
    assert_eq!(store.ask(&acquire_read("a:1", 3)).await, ["LOST"]);
    store.stands([lock("a:1=1 mode=read", LEASE), read("a:1", 1, LEASE)]).await;
}

#[tokio::test]
async fn a_lapsed_owner_loses_its_holds_and_starts_again_at_one() {
    let store = Store::start().await;
    store.granted(&acquire_read("b:2", 1)).await;
    store.granted(&acquire_read("a:1", 1)).await;
    assert_eq!(store.ask(&acquire_read("a:1", 2)).await, ["GRANTED", ""]);
    store.lapse("a:1", 2).await;
    assert_eq!(store.ask(&acquire_read("a:1", 3)).await, ["LOST"]);
    store.stands([lock("b:2=1 mode=read", LEASE), read("b:2", 1, LEASE)]).await;

    store.granted(&acquire_read("a:1", 1)).await;
    let readers = [read("a:1", 1, LEASE), read("b:2", 1, LEASE)];
    store.stands(with(lock("a:1=1 b:2=1 mode=read", LEASE), readers)).await;
}

#[tokio::test]
async fn a_lock_without_ttl_is_given_one() {
    let store = Store::start().await;
    store.granted(&acquire_read("b:2", 1)).await;
    store.set(&["PERSIST", LOCK]).await;
    assert_eq!(store.cli.pttl(LOCK).await, FOREVER);
    store.granted(&acquire_read("a:1", 1)).await;
    let readers = [read("a:1", 1, LEASE), read("b:2", 1, LEASE)];
    store.stands(with(lock("a:1=1 b:2=1 mode=read", LEASE), readers)).await;
}
