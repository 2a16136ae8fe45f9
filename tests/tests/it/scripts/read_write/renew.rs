//! read_write/renew_read and read_write/renew_write, one hold at a time

use crate::scripts::support::call::{
    LEASE, LONGER, acquire_read, acquire_write, downgrade, renew_read, renew_write,
};
use crate::scripts::support::keys::{LOCK, lock, read, with};
use crate::scripts::support::store::Store;

#[tokio::test]
async fn every_hold_of_a_reader_is_given_its_lease_again() {
    let mut store = Store::start().await;
    store.granted(&acquire_read("a:1", 1)).await;
    assert_eq!(store.ask(&acquire_read("a:1", 2)).await, ["GRANTED", ""]);
    for _asked in 0..2 {
        let longer = renew_read("a:1").with("lease", LONGER);
        assert_eq!(store.ask(&longer).await, ["RENEWED", "1"]);
        let holds = [1, 2].map(|hold| read("a:1", hold, LONGER));
        store.stands(with(lock("a:1=2 mode=read", LONGER), holds)).await;
    }
    // A shorter lease takes nothing away.
    assert_eq!(store.ask(&renew_read("a:1")).await, ["RENEWED", "1"]);
    let holds = [1, 2].map(|hold| read("a:1", hold, LONGER));
    store.stands(with(lock("a:1=2 mode=read", LONGER), holds)).await;
    assert!(store.reported().await.is_empty());
}

#[tokio::test]
async fn a_reader_renews_itself_alone() {
    let store = Store::start().await;
    store.granted(&acquire_read("a:1", 1)).await;
    store.granted(&acquire_read("b:2", 1)).await;
    let longer = renew_read("a:1").with("lease", LONGER);
    assert_eq!(store.ask(&longer).await, ["RENEWED", "1"]);
    let readers = [read("a:1", 1, LONGER), read("b:2", 1, LEASE)];
    store.stands(with(lock("a:1=1 b:2=1 mode=read", LONGER), readers)).await;
}

#[tokio::test]
async fn a_reader_with_any_hold_lapsed_is_lost_and_forgotten() {
    for missing in [1, 2] {
        let mut store = Store::start().await;
        store.granted(&acquire_read("b:2", 1)).await;
        store.granted(&acquire_read("a:1", 1)).await;
        assert_eq!(store.ask(&acquire_read("a:1", 2)).await, ["GRANTED", ""]);
        assert!(store.cli.del(&read("a:1", missing, LEASE).name).await);
        for _asked in 0..2 {
            assert_eq!(store.ask(&renew_read("a:1")).await, ["RENEWED", "0"]);
            // The key that is left over expires.
            let left = [read("a:1", 3 - missing, LEASE), read("b:2", 1, LEASE)];
            store.stands(with(lock("b:2=1 mode=read", LEASE), left)).await;
        }
        assert!(store.reported().await.is_empty());
    }
}

#[tokio::test]
async fn a_writer_and_its_reads_are_given_their_lease_again() {
    let mut store = Store::start().await;
    store.granted(&acquire_write("a:1", 1)).await;
    assert_eq!(store.ask(&acquire_read("a:1", 1)).await, ["GRANTED", ""]);
    assert_eq!(store.ask(&acquire_read("a:1", 2)).await, ["GRANTED", ""]);
    for lease in [LONGER, LONGER, LEASE] {
        let renew = renew_write("a:1").with("lease", lease);
        assert_eq!(store.ask(&renew).await, ["RENEWED", "1"]);
        let holds = [1, 2].map(|hold| read("a:1", hold, LONGER));
        store.stands(with(lock("a:1=2 a:1:write=1 mode=write", LONGER), holds)).await;
    }
    assert!(store.reported().await.is_empty());
}

#[tokio::test]
async fn what_is_not_held_is_lost() {
    let mut store = Store::start().await;
    for call in [renew_read("a:1"), renew_write("a:1")] {
        assert_eq!(store.ask(&call).await, ["RENEWED", "0"]);
        store.stands([]).await;
    }
    store.granted(&acquire_write("b:2", 1)).await;
    for call in [renew_read("a:1"), renew_write("a:1"), renew_read("b:2")] {
        assert_eq!(store.ask(&call.with("lease", LONGER)).await, ["RENEWED", "0"]);
        store.stands([lock("b:2:write=1 mode=write", LEASE)]).await;
    }
    assert_eq!(store.ask(&downgrade("b:2", 1, 0)).await, ["RELEASED"]);
    assert_eq!(store.ask(&renew_write("b:2")).await, ["RENEWED", "0"]);
    assert_eq!(store.ask(&renew_read("b:2")).await, ["RENEWED", "1"]);
    assert_eq!(store.reported().await, ["1"]);
}

#[tokio::test]
async fn a_key_without_ttl_is_given_one() {
    let store = Store::start().await;
    store.granted(&acquire_read("a:1", 1)).await;
    let key = read("a:1", 1, LEASE);
    store.set(&["PERSIST", LOCK]).await;
    store.set(&["PERSIST", &key.name]).await;
    assert_eq!(store.ask(&renew_read("a:1")).await, ["RENEWED", "1"]);
    store.stands([lock("a:1=1 mode=read", LEASE), key]).await;

    store.expire().await;
    store.granted(&acquire_write("a:1", 1)).await;
    store.set(&["PERSIST", LOCK]).await;
    assert_eq!(store.ask(&renew_write("a:1")).await, ["RENEWED", "1"]);
    assert!(store.cli.pttl(LOCK).await > 0);
}
