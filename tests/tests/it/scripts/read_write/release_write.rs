//! read_write/release_write

use crate::scripts::support::call::{
    LEASE, LONGER, acquire_read, acquire_write, release_read, release_write,
};
use crate::scripts::support::keys::{lock, read, with};
use crate::scripts::support::store::Store;

#[tokio::test]
async fn the_last_write_frees_the_lock_and_publishes_once() {
    let mut store = Store::start().await;
    store.granted(&acquire_write("a:1", 1)).await;
    assert_eq!(store.ask(&release_write("a:1", 0)).await, ["FREED"]);
    store.stands([]).await;
    assert_eq!(store.reported().await, ["1"]);

    assert_eq!(store.ask(&release_write("a:1", 0)).await, ["GONE"]);
    store.stands([]).await;
    assert!(store.reported().await.is_empty());
}

#[tokio::test]
async fn a_partial_release_leaves_the_longest_lease() {
    let mut store = Store::start().await;
    store.granted(&acquire_write("a:1", 1).with("lease", LONGER)).await;
    assert_eq!(store.ask(&acquire_write("a:1", 2)).await, ["GRANTED", ""]);
    for _asked in 0..2 {
        assert_eq!(store.ask(&release_write("a:1", 1)).await, ["RELEASED"]);
        store.stands([lock("a:1:write=1 mode=write", LONGER)]).await;
    }
    assert!(store.reported().await.is_empty());
}

#[tokio::test]
async fn several_holds_end_at_once() {
    let mut store = Store::start().await;
    store.granted(&acquire_write("a:1", 1)).await;
    for hold in 2..=4 {
        assert_eq!(store.ask(&acquire_write("a:1", hold)).await, ["GRANTED", ""]);
    }
    assert_eq!(store.ask(&release_write("a:1", 0)).await, ["FREED"]);
    store.stands([]).await;
    assert_eq!(store.reported().await, ["1"]);
}

#[tokio::test]
async fn the_own_reads_that_stay_make_it_a_read_lock_for_their_time() {
    let mut store = Store::start().await;
    store.granted(&acquire_write("a:1", 1).with("lease", LONGER)).await;
    assert_eq!(store.ask(&acquire_read("a:1", 1)).await, ["GRANTED", ""]);
    assert_eq!(store.ask(&acquire_read("a:1", 2)).await, ["GRANTED", ""]);
    assert_eq!(store.ask(&release_write("a:1", 0)).await, ["RELEASED"]);
    let holds = || [1, 2].map(|hold| read("a:1", hold, LEASE));
    store.stands(with(lock("a:1=2 mode=read", LEASE), holds())).await;
    assert_eq!(store.reported().await, ["1"]);

    assert_eq!(store.ask(&release_write("a:1", 0)).await, ["GONE"]);
    store.stands(with(lock("a:1=2 mode=read", LEASE), holds())).await;
    store.granted(&acquire_read("b:2", 1)).await;
    assert_eq!(store.ask(&release_read("a:1", 0)).await, ["RELEASED"]);
    assert!(store.reported().await.is_empty());
}

#[tokio::test]
async fn own_reads_that_lapsed_do_not_stay() {
    let mut store = Store::start().await;
    store.granted(&acquire_write("a:1", 1)).await;
    assert_eq!(store.ask(&acquire_read("a:1", 1)).await, ["GRANTED", ""]);
    store.lapse("a:1", 1).await;
    assert_eq!(store.ask(&release_write("a:1", 0)).await, ["FREED"]);
    store.stands([]).await;
    assert_eq!(store.reported().await, ["1"]);
}

#[tokio::test]
async fn nothing_to_release_is_gone() {
    let mut store = Store::start().await;
    assert_eq!(store.ask(&release_write("a:1", 0)).await, ["GONE"]);
    store.stands([]).await;

    store.granted(&acquire_write("a:1", 1)).await;
    assert_eq!(store.ask(&release_write("a:1", 2)).await, ["GONE"]);
    assert_eq!(store.ask(&release_write("b:2", 0)).await, ["GONE"]);
    store.stands([lock("a:1:write=1 mode=write", LEASE)]).await;

    store.expire().await;
    store.granted(&acquire_read("a:1", 1)).await;
    assert_eq!(store.ask(&release_write("a:1", 0)).await, ["GONE"]);
    store.stands([lock("a:1=1 mode=read", LEASE), read("a:1", 1, LEASE)]).await;
    assert!(store.reported().await.is_empty());
}
