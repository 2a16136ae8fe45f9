//! read_write/acquire_write

use crate::scripts::support::call::{LEASE, LONGER, acquire_read, acquire_write};
use crate::scripts::support::keys::{LOCK, lock, read, waiters, with};
use crate::scripts::support::store::Store;

#[tokio::test]
async fn a_free_lock_is_granted_and_granted_again() {
    let mut store = Store::start().await;
    let first = store.granted(&acquire_write("a:1", 1)).await;
    store.stands([lock("a:1:write=1 mode=write", LEASE)]).await;
    let second = store.granted(&acquire_write("a:1", 1)).await;
    assert!(second > first);
    store.stands([lock("a:1:write=1 mode=write", LEASE)]).await;
    assert!(store.reported().await.is_empty());
}

#[tokio::test]
async fn a_second_hold_counts_and_never_shortens_the_lease() {
    let store = Store::start().await;
    store.granted(&acquire_write("a:1", 1)).await;
    for _asked in 0..2 {
        let longer = acquire_write("a:1", 2).with("lease", LONGER);
        assert_eq!(store.ask(&longer).await, ["GRANTED", ""]);
        store.stands([lock("a:1:write=2 mode=write", LONGER)]).await;
    }
    assert_eq!(store.ask(&acquire_write("a:1", 3)).await, ["GRANTED", ""]);
    store.stands([lock("a:1:write=3 mode=write", LONGER)]).await;
}

#[tokio::test]
async fn a_repeated_outer_acquire_takes_no_inner_hold_away() {
    let store = Store::start().await;
    store.granted(&acquire_write("a:1", 1)).await;
    assert_eq!(store.ask(&acquire_write("a:1", 2)).await, ["GRANTED", ""]);
    store.granted(&acquire_write("a:1", 1)).await;
    store.stands([lock("a:1:write=2 mode=write", LEASE)]).await;
}

#[tokio::test]
async fn the_own_reads_inside_live_as_long_as_the_lock() {
    let store = Store::start().await;
    store.granted(&acquire_write("a:1", 1)).await;
    for holds in [1, 2] {
        assert_eq!(store.ask(&acquire_read("a:1", holds)).await, ["GRANTED", ""]);
    }
    for lease in [LONGER, LEASE] {
        let again = acquire_write("a:1", 2).with("lease", lease);
        assert_eq!(store.ask(&again).await, ["GRANTED", ""]);
        let holds = [1, 2].map(|hold| read("a:1", hold, LONGER));
        store.stands(with(lock("a:1=2 a:1:write=2 mode=write", LONGER), holds)).await;
    }
}

#[tokio::test]
async fn another_owners_write_is_in_the_way() {
    let mut store = Store::start().await;
    store.granted(&acquire_write("b:2", 1)).await;
    let before = store.keys().await;
    assert_eq!(store.ask(&acquire_write("a:1", 2)).await, ["LOST"]);
    store.unchanged_since(&before).await;
    assert_eq!(store.refused(&acquire_write("a:1", 1), "BUSY", LEASE).await, ["1"]);
    let written = lock("b:2:write=1 mode=write", LEASE);
    store.stands([written, waiters("write:a:1")]).await;

    store.set(&["PERSIST", LOCK]).await;
    assert_eq!(store.ask(&acquire_write("a:1", 1)).await, ["BUSY", "-1", "1"]);
    assert!(store.reported().await.is_empty());
}

#[tokio::test]
async fn readers_are_in_the_way_for_as_long_as_the_longest_lives() {
    let mut store = Store::start().await;
    store.granted(&acquire_read("a:1", 1).with("lease", LONGER)).await;
    store.granted(&acquire_read("b:2", 1)).await;
    for _asked in 0..2 {
        assert_eq!(store.refused(&acquire_write("c:3", 1), "BUSY", LONGER).await, ["1"]);
        let readers = [read("a:1", 1, LONGER), read("b:2", 1, LEASE), waiters("write:c:3")];
        store.stands(with(lock("a:1=1 b:2=1 mode=read", LONGER), readers)).await;
    }
    assert!(store.reported().await.is_empty());
}

#[tokio::test]
async fn every_hold_of_a_reader_counts_for_its_time() {
    let store = Store::start().await;
    store.granted(&acquire_read("a:1", 1).with("lease", LONGER)).await;
    assert_eq!(store.ask(&acquire_read("a:1", 2)).await, ["GRANTED", ""]);
    // Java's holds have a deadline each; one of them is enough.
    store.lapse("a:1", 1).await;
    assert_eq!(store.refused(&acquire_write("b:2", 1), "BUSY", LONGER).await, ["1"]);
}

#[tokio::test]
async fn the_own_read_is_in_the_way_too() {
    let store = Store::start().await;
    store.granted(&acquire_read("a:1", 1)).await;
    assert_eq!(store.refused(&acquire_write("a:1", 1), "BUSY", LEASE).await, ["1"]);
}

#[tokio::test]
async fn a_reader_key_without_ttl_lives_as_long_as_the_lock() {
    let store = Store::start().await;
    store.granted(&acquire_read("a:1", 1)).await;
    store.set(&["PERSIST", &read("a:1", 1, LEASE).name]).await;
    assert_eq!(store.refused(&acquire_write("b:2", 1), "BUSY", LEASE).await, ["1"]);
    store.expire().await;
    store.granted(&acquire_write("b:2", 1)).await;
}

#[tokio::test]
async fn dead_readers_are_forgotten() {
    let mut store = Store::start().await;
    store.granted(&acquire_read("a:1", 1).with("lease", LONGER)).await;
    store.granted(&acquire_read("b:2", 1)).await;
    store.lapse("a:1", 1).await;
    assert_eq!(store.refused(&acquire_write("c:3", 1), "BUSY", LEASE).await, ["1"]);
    // The dead one does not keep the lock any longer than the living.
    let living = [read("b:2", 1, LEASE), waiters("write:c:3")];
    store.stands(with(lock("b:2=1 mode=read", LEASE), living)).await;

    store.lapse("b:2", 1).await;
    store.granted(&acquire_write("c:3", 1)).await;
    store.stands([lock("c:3:write=1 mode=write", LEASE)]).await;
    assert!(store.reported().await.is_empty());
}

#[tokio::test]
async fn a_count_without_an_owner_is_not_decreased() {
    for count in ["inf", "1e300", "nan", "words"] {
        let store = Store::start().await;
        store.set(&["HSET", LOCK, "mode", "read", "a:1", count]).await;
        store.granted(&acquire_write("b:2", 1)).await;
        store.stands([lock("b:2:write=1 mode=write", LEASE)]).await;
    }
}

#[tokio::test]
async fn a_hold_on_top_of_holds_that_are_gone_is_lost() {
    let store = Store::start().await;
    assert_eq!(store.ask(&acquire_write("a:1", 2)).await, ["LOST"]);
    store.stands([]).await;

    store.granted(&acquire_write("a:1", 1)).await;
    assert_eq!(store.ask(&acquire_write("a:1", 3)).await, ["LOST"]);
    store.stands([lock("a:1:write=1 mode=write", LEASE)]).await;

    store.expire().await;
    store.granted(&acquire_read("b:2", 1)).await;
    assert_eq!(store.ask(&acquire_write("a:1", 2)).await, ["LOST"]);
    store.stands([lock("b:2=1 mode=read", LEASE), read("b:2", 1, LEASE)]).await;
}

#[tokio::test]
async fn a_lock_without_ttl_is_given_one() {
    let store = Store::start().await;
    store.granted(&acquire_write("a:1", 1)).await;
    store.set(&["PERSIST", LOCK]).await;
    assert_eq!(store.ask(&acquire_write("a:1", 2)).await, ["GRANTED", ""]);
    store.stands([lock("a:1:write=2 mode=write", LEASE)]).await;
}
