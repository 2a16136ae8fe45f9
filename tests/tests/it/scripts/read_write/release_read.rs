//! read_write/release_read

use crate::scripts::support::call::{LEASE, LONGER, acquire_read, acquire_write, release_read};
use crate::scripts::support::keys::{lock, read, with};
use crate::scripts::support::store::Store;

#[tokio::test]
async fn the_last_reader_frees_the_lock_and_publishes_once() {
    let mut store = Store::start().await;
    store.granted(&acquire_read("a:1", 1)).await;
    assert_eq!(store.ask(&release_read("a:1", 0)).await, ["FREED"]);
    store.stands([]).await;
    assert_eq!(store.reported().await, ["0"]);

    assert_eq!(store.ask(&release_read("a:1", 0)).await, ["GONE"]);
    store.stands([]).await;
    assert!(store.reported().await.is_empty());
}

#[tokio::test]
async fn a_partial_release_leaves_the_lease_of_the_rest() {
    let mut store = Store::start().await;
    store.granted(&acquire_read("a:1", 1).with("lease", LONGER)).await;
    assert_eq!(store.ask(&acquire_read("a:1", 2)).await, ["GRANTED", ""]);
    assert_eq!(store.ask(&acquire_read("a:1", 3)).await, ["GRANTED", ""]);
    for _asked in 0..2 {
        assert_eq!(store.ask(&release_read("a:1", 2)).await, ["RELEASED"]);
        let holds = [1, 2].map(|hold| read("a:1", hold, LONGER));
        store.stands(with(lock("a:1=2 mode=read", LONGER), holds)).await;
    }
    assert!(store.reported().await.is_empty());
}

#[tokio::test]
async fn several_holds_end_at_once() {
    let mut store = Store::start().await;
    store.granted(&acquire_read("a:1", 1)).await;
    for hold in 2..=4 {
        assert_eq!(store.ask(&acquire_read("a:1", hold)).await, ["GRANTED", ""]);
    }
    assert_eq!(store.ask(&release_read("a:1", 0)).await, ["FREED"]);
    store.stands([]).await;
    assert_eq!(store.reported().await, ["0"]);
}

#[tokio::test]
async fn other_readers_keep_the_lock_for_their_own_time() {
    let mut store = Store::start().await;
    store.granted(&acquire_read("a:1", 1).with("lease", LONGER)).await;
    store.granted(&acquire_read("b:2", 1)).await;
    assert_eq!(store.ask(&release_read("a:1", 0)).await, ["RELEASED"]);
    store.stands([lock("b:2=1 mode=read", LEASE), read("b:2", 1, LEASE)]).await;
    assert_eq!(store.ask(&release_read("a:1", 0)).await, ["GONE"]);
    store.stands([lock("b:2=1 mode=read", LEASE), read("b:2", 1, LEASE)]).await;
    assert!(store.reported().await.is_empty());
}

#[tokio::test]
async fn dead_readers_do_not_keep_the_lock() {
    let mut store = Store::start().await;
    store.granted(&acquire_read("a:1", 1).with("lease", LONGER)).await;
    store.granted(&acquire_read("b:2", 1)).await;
    store.lapse("a:1", 1).await;
    assert_eq!(store.ask(&release_read("b:2", 0)).await, ["FREED"]);
    store.stands([]).await;
    assert_eq!(store.reported().await, ["0"]);
}

#[tokio::test]
async fn inside_the_own_write_only_the_read_ends() {
    let mut store = Store::start().await;
    store.granted(&acquire_write("a:1", 1).with("lease", LONGER)).await;
    assert_eq!(store.ask(&acquire_read("a:1", 1)).await, ["GRANTED", ""]);
    assert_eq!(store.ask(&acquire_read("a:1", 2)).await, ["GRANTED", ""]);
    for _asked in 0..2 {
        assert_eq!(store.ask(&release_read("a:1", 1)).await, ["RELEASED"]);
        let holds = [read("a:1", 1, LEASE)];
        store.stands(with(lock("a:1=1 a:1:write=1 mode=write", LONGER), holds)).await;
    }
    // A repeated call counts as a release: the write is there, and nothing was lost.
    for _asked in 0..2 {
        assert_eq!(store.ask(&release_read("a:1", 0)).await, ["RELEASED"]);
        store.stands([lock("a:1:write=1 mode=write", LONGER)]).await;
    }
    assert_eq!(store.ask(&release_read("a:1", 1)).await, ["GONE"]);
    store.stands([lock("a:1:write=1 mode=write", LONGER)]).await;
    assert!(store.reported().await.is_empty());
}

#[tokio::test]
async fn a_lapsed_read_inside_the_own_write_can_still_be_released() {
    let store = Store::start().await;
    store.granted(&acquire_write("a:1", 1)).await;
    assert_eq!(store.ask(&acquire_read("a:1", 1)).await, ["GRANTED", ""]);
    store.lapse("a:1", 1).await;
    assert_eq!(store.ask(&release_read("a:1", 0)).await, ["RELEASED"]);
    store.stands([lock("a:1:write=1 mode=write", LEASE)]).await;
}

#[tokio::test]
async fn a_missing_read_counts_as_released_inside_the_own_write() {
    let mut store = Store::start().await;
    store.granted(&acquire_write("a:1", 1)).await;
    let before = store.keys().await;
    assert_eq!(store.ask(&release_read("a:1", 0)).await, ["RELEASED"]);
    assert_eq!(store.ask(&release_read("a:1", 1)).await, ["GONE"]);
    assert_eq!(store.ask(&release_read("b:2", 0)).await, ["GONE"]);
    store.unchanged_since(&before).await;
    assert!(store.reported().await.is_empty());
}

#[tokio::test]
async fn nothing_to_release_is_gone() {
    let mut store = Store::start().await;
    assert_eq!(store.ask(&release_read("a:1", 0)).await, ["GONE"]);
    store.stands([]).await;

    store.granted(&acquire_read("a:1", 1)).await;
    assert_eq!(store.ask(&release_read("a:1", 2)).await, ["GONE"]);
    assert_eq!(store.ask(&release_read("b:2", 0)).await, ["GONE"]);
    store.stands([lock("a:1=1 mode=read", LEASE), read("a:1", 1, LEASE)]).await;

    store.expire().await;
    store.granted(&acquire_write("b:2", 1)).await;
    assert_eq!(store.ask(&release_read("a:1", 0)).await, ["GONE"]);
    assert!(store.reported().await.is_empty());
}

#[tokio::test]
async fn a_lapsed_reader_is_reported_gone_and_leaves_nothing() {
    let mut store = Store::start().await;
    store.granted(&acquire_read("a:1", 1)).await;
    assert_eq!(store.ask(&acquire_read("a:1", 2)).await, ["GRANTED", ""]);
    store.granted(&acquire_read("b:2", 1)).await;
    store.lapse("a:1", 2).await;
    assert_eq!(store.ask(&release_read("a:1", 1)).await, ["GONE"]);
    store.stands([lock("b:2=1 mode=read", LEASE), read("b:2", 1, LEASE)]).await;
    assert!(store.reported().await.is_empty());

    // No other reader is left: the lock is free, and waiters are woken.
    store.lapse("b:2", 1).await;
    assert_eq!(store.ask(&release_read("b:2", 0)).await, ["GONE"]);
    store.stands([]).await;
    assert_eq!(store.reported().await, ["0"]);
}
