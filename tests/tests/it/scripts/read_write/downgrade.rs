//! read_write/downgrade

use crate::scripts::support::call::{
    LEASE, LONGER, acquire_read, acquire_write, downgrade, release_write, upgrade,
};
use crate::scripts::support::keys::{lock, read, with};
use crate::scripts::support::store::Store;

#[tokio::test]
async fn the_last_write_becomes_a_read_and_readers_are_woken_once() {
    let mut store = Store::start().await;
    store.granted(&acquire_write("a:1", 1)).await;
    assert_eq!(store.ask(&downgrade("a:1", 1, 0)).await, ["RELEASED"]);
    store.stands([lock("a:1=1 mode=read", LEASE), read("a:1", 1, LEASE)]).await;
    assert_eq!(store.reported().await, ["1"]);

    assert_eq!(store.ask(&downgrade("a:1", 1, 0)).await, ["RELEASED"]);
    store.stands([lock("a:1=1 mode=read", LEASE), read("a:1", 1, LEASE)]).await;
    assert!(store.reported().await.is_empty());
    store.granted(&acquire_read("b:2", 1)).await;
}

#[tokio::test]
async fn an_outer_write_stays() {
    let mut store = Store::start().await;
    store.granted(&acquire_write("a:1", 1)).await;
    assert_eq!(store.ask(&acquire_write("a:1", 2)).await, ["GRANTED", ""]);
    for _asked in 0..2 {
        assert_eq!(store.ask(&downgrade("a:1", 1, 1)).await, ["RELEASED"]);
        let holds = [read("a:1", 1, LEASE)];
        store.stands(with(lock("a:1=1 a:1:write=1 mode=write", LEASE), holds)).await;
    }
    assert!(store.reported().await.is_empty());
}

#[tokio::test]
async fn reads_inside_the_write_share_the_longest_lease() {
    let mut store = Store::start().await;
    store.granted(&acquire_write("a:1", 1).with("lease", LONGER)).await;
    assert_eq!(store.ask(&acquire_read("a:1", 1)).await, ["GRANTED", ""]);
    assert_eq!(store.ask(&downgrade("a:1", 2, 0)).await, ["RELEASED"]);
    let holds = [1, 2].map(|hold| read("a:1", hold, LONGER));
    store.stands(with(lock("a:1=2 mode=read", LONGER), holds)).await;
    assert_eq!(store.reported().await, ["1"]);
}

#[tokio::test]
async fn it_takes_an_upgrade_back_whether_that_happened_or_not() {
    for happened in [true, false] {
        let store = Store::start().await;
        store.granted(&acquire_read("a:1", 1)).await;
        if happened {
            store.granted(&upgrade("a:1", 0, 1)).await;
        }
        assert_eq!(store.ask(&downgrade("a:1", 1, 0)).await, ["RELEASED"]);
        store.stands([lock("a:1=1 mode=read", LEASE), read("a:1", 1, LEASE)]).await;
    }
}

#[tokio::test]
async fn a_hold_that_is_gone_cannot_be_downgraded() {
    let mut store = Store::start().await;
    assert_eq!(store.ask(&downgrade("a:1", 1, 0)).await, ["LOST"]);
    assert_eq!(store.ask(&downgrade("a:1", 1, 1)).await, ["LOST"]);
    store.stands([]).await;

    store.granted(&acquire_write("b:2", 1)).await;
    assert_eq!(store.ask(&downgrade("a:1", 1, 0)).await, ["LOST"]);
    // Fewer writes than should stay, or one write that is no more and no read in its place.
    assert_eq!(store.ask(&downgrade("b:2", 1, 2)).await, ["LOST"]);
    assert_eq!(store.ask(&downgrade("b:2", 1, 1)).await, ["LOST"]);
    store.stands([lock("b:2:write=1 mode=write", LEASE)]).await;

    assert_eq!(store.ask(&release_write("b:2", 0)).await, ["FREED"]);
    assert_eq!(store.reported().await, ["1"]);
    assert_eq!(store.ask(&downgrade("b:2", 1, 0)).await, ["LOST"]);
    store.stands([]).await;
    assert!(store.reported().await.is_empty());

    // A read, and none of the writes that should stay.
    store.granted(&acquire_read("b:2", 1)).await;
    assert_eq!(store.ask(&downgrade("b:2", 1, 1)).await, ["LOST"]);
}

#[tokio::test]
async fn a_downgraded_hold_that_lapsed_is_lost() {
    let store = Store::start().await;
    store.granted(&acquire_write("a:1", 1)).await;
    assert_eq!(store.ask(&downgrade("a:1", 1, 0)).await, ["RELEASED"]);
    store.lapse("a:1", 1).await;
    assert_eq!(store.ask(&downgrade("a:1", 1, 0)).await, ["LOST"]);
}

/// An upgrade that was never executed is taken back: the caller counts on a whole lease from now
/// on.
#[tokio::test]
async fn what_was_no_write_any_more_gets_its_lease_all_the_same() {
    let mut store = Store::start().await;
    store.granted(&acquire_read("a:1", 1)).await;
    assert_eq!(store.ask(&acquire_read("a:1", 2)).await, ["GRANTED", ""]);
    let longer = downgrade("a:1", 2, 0).with("lease", LONGER);
    assert_eq!(store.ask(&longer).await, ["RELEASED"]);
    let holds = [1, 2].map(|hold| read("a:1", hold, LONGER));
    store.stands(with(lock("a:1=2 mode=read", LONGER), holds)).await;
    assert!(store.reported().await.is_empty());
}
