//! read_write/upgrade

use crate::scripts::support::call::{
    LEASE, LONGER, acquire_read, acquire_write, release_write, upgrade,
};
use crate::scripts::support::keys::{LOCK, lock, read, waiters, with};
use crate::scripts::support::store::Store;

#[tokio::test]
async fn the_sole_reader_becomes_the_writer_and_may_repeat_the_call() {
    let mut store = Store::start().await;
    let mut last = store.granted(&acquire_read("a:1", 1)).await;
    for _asked in 0..2 {
        let token = store.granted(&upgrade("a:1", 0, 1)).await;
        assert!(token > last);
        last = token;
        store.stands([lock("a:1:write=1 mode=write", LEASE)]).await;
    }
    assert!(store.reported().await.is_empty());
}

#[tokio::test]
async fn one_of_several_reads_becomes_a_write() {
    let store = Store::start().await;
    store.granted(&acquire_read("a:1", 1)).await;
    assert_eq!(store.ask(&acquire_read("a:1", 2)).await, ["GRANTED", ""]);
    for _asked in 0..2 {
        store.granted(&upgrade("a:1", 1, 1).with("lease", LONGER)).await;
        let holds = [read("a:1", 1, LONGER)];
        store.stands(with(lock("a:1=1 a:1:write=1 mode=write", LONGER), holds)).await;
    }
    store.granted(&upgrade("a:1", 0, 2)).await;
    store.stands([lock("a:1:write=2 mode=write", LONGER)]).await;
}

#[tokio::test]
async fn a_read_inside_the_own_write_becomes_a_second_write() {
    let store = Store::start().await;
    store.granted(&acquire_write("a:1", 1)).await;
    assert_eq!(store.ask(&acquire_read("a:1", 1)).await, ["GRANTED", ""]);
    for _asked in 0..2 {
        store.granted(&upgrade("a:1", 0, 2)).await;
        store.stands([lock("a:1:write=2 mode=write", LEASE)]).await;
    }
}

#[tokio::test]
async fn another_reader_is_in_the_way() {
    let mut store = Store::start().await;
    store.granted(&acquire_read("a:1", 1)).await;
    store.granted(&acquire_read("b:2", 1).with("lease", LONGER)).await;
    let before = store.keys().await;
    assert!(store.refused(&upgrade("a:1", 0, 1), "BUSY", LONGER).await.is_empty());
    store.unchanged_since(&before).await;
    assert!(store.reported().await.is_empty());
}

#[tokio::test]
async fn dead_readers_are_forgotten() {
    let store = Store::start().await;
    store.granted(&acquire_read("a:1", 1)).await;
    store.granted(&acquire_read("b:2", 1)).await;
    store.granted(&acquire_read("c:3", 1)).await;
    store.lapse("b:2", 1).await;
    assert!(store.refused(&upgrade("a:1", 0, 1), "BUSY", LEASE).await.is_empty());
    let readers = [read("a:1", 1, LEASE), read("c:3", 1, LEASE)];
    store.stands(with(lock("a:1=1 c:3=1 mode=read", LEASE), readers)).await;

    store.lapse("c:3", 1).await;
    store.granted(&upgrade("a:1", 0, 1)).await;
    store.stands([lock("a:1:write=1 mode=write", LEASE)]).await;
}

#[tokio::test]
async fn a_waiting_writer_does_not_stop_the_reader_it_waits_for() {
    let store = Store::start().await;
    store.granted(&acquire_read("a:1", 1)).await;
    assert_eq!(store.refused(&acquire_write("b:2", 1), "BUSY", LEASE).await, ["1"]);
    store.granted(&upgrade("a:1", 0, 1)).await;
    store.stands([lock("a:1:write=1 mode=write", LEASE), waiters("write:b:2")]).await;
}

#[tokio::test]
async fn a_hold_that_is_gone_cannot_be_upgraded() {
    let mut store = Store::start().await;
    assert_eq!(store.ask(&upgrade("a:1", 0, 1)).await, ["LOST"]);
    store.stands([]).await;

    store.granted(&acquire_read("b:2", 1)).await;
    assert_eq!(store.ask(&upgrade("a:1", 0, 1)).await, ["LOST"]);
    store.stands([lock("b:2=1 mode=read", LEASE), read("b:2", 1, LEASE)]).await;

    // More reads to keep, or more writes before, than there are.
    assert_eq!(store.ask(&upgrade("b:2", 1, 1)).await, ["LOST"]);
    assert_eq!(store.ask(&upgrade("b:2", 0, 2)).await, ["LOST"]);
    store.lapse("b:2", 1).await;
    assert_eq!(store.ask(&upgrade("b:2", 0, 1)).await, ["LOST"]);

    store.expire().await;
    store.granted(&acquire_write("b:2", 1)).await;
    assert_eq!(store.ask(&upgrade("a:1", 0, 1)).await, ["LOST"]);
    store.stands([lock("b:2:write=1 mode=write", LEASE)]).await;
    assert!(store.reported().await.is_empty());
}

#[tokio::test]
async fn the_own_reads_that_stay_live_as_long_as_the_lock() {
    // Another reader kept the lock for longer, or the write around them does.
    let store = Store::start().await;
    store.granted(&acquire_read("b:2", 1).with("lease", LONGER)).await;
    store.granted(&acquire_read("a:1", 1)).await;
    for holds in [2, 3] {
        assert_eq!(store.ask(&acquire_read("a:1", holds)).await, ["GRANTED", ""]);
    }
    store.lapse("b:2", 1).await;
    store.granted(&upgrade("a:1", 2, 1)).await;
    let holds = || [1, 2].map(|hold| read("a:1", hold, LONGER));
    store.stands(with(lock("a:1=2 a:1:write=1 mode=write", LONGER), holds())).await;
    // They outlive the write for all of that time.
    assert_eq!(store.ask(&release_write("a:1", 0)).await, ["RELEASED"]);
    store.stands(with(lock("a:1=2 mode=read", LONGER), holds())).await;
}

#[tokio::test]
async fn a_lease_is_never_shortened_and_never_missing() {
    let store = Store::start().await;
    store.granted(&acquire_read("a:1", 1).with("lease", LONGER)).await;
    store.granted(&upgrade("a:1", 0, 1)).await;
    store.stands([lock("a:1:write=1 mode=write", LONGER)]).await;
    store.set(&["PERSIST", LOCK]).await;
    store.granted(&upgrade("a:1", 0, 1)).await;
    store.stands([lock("a:1:write=1 mode=write", LEASE)]).await;
}
