//! read_write/inspect

use crate::call::{LEASE, LONGER, acquire_read, acquire_write, inspect};
use crate::keys::{LOCK, within};
use crate::store::Store;

/// Mode, live readers, own reads, own writes; the time left is `ms`.
async fn standing(store: &Store, owner: &str, ms: i64) -> String {
    let before = store.keys().await;
    let mut reply = store.ask(&inspect(owner)).await;
    store.unchanged_since(&before).await;
    assert_eq!(reply[0], "STATE");
    let left = reply.pop().unwrap().parse().unwrap();
    assert!(within(left, ms), "{left} of {ms} ms");
    reply[1..].join(" ")
}

#[tokio::test]
async fn a_free_lock_has_no_mode() {
    let store = Store::start().await;
    assert_eq!(store.ask(&inspect("a:1")).await, ["STATE", "", "0", "0", "0", "-2"]);
    assert_eq!(store.ask(&inspect("")).await, ["STATE", "", "0", "0", "0", "-2"]);
    store.stands([]).await;
}

#[tokio::test]
async fn readers_and_the_own_holds_are_counted() {
    let store = Store::start().await;
    store.granted(&acquire_read("a:1", 1)).await;
    assert_eq!(store.ask(&acquire_read("a:1", 2)).await, ["GRANTED", ""]);
    store.granted(&acquire_read("b:2", 1).with("lease", LONGER)).await;
    assert_eq!(standing(&store, "a:1", LONGER).await, "read 2 2 0");
    assert_eq!(standing(&store, "b:2", LONGER).await, "read 2 1 0");
    assert_eq!(standing(&store, "c:3", LONGER).await, "read 2 0 0");
    assert_eq!(standing(&store, "", LONGER).await, "read 2 0 0");
}

#[tokio::test]
async fn a_writer_and_its_reads_are_counted() {
    let store = Store::start().await;
    store.granted(&acquire_write("a:1", 1)).await;
    assert_eq!(store.ask(&acquire_write("a:1", 2)).await, ["GRANTED", ""]);
    assert_eq!(standing(&store, "a:1", LEASE).await, "write 0 0 2");
    assert_eq!(store.ask(&acquire_read("a:1", 1)).await, ["GRANTED", ""]);
    assert_eq!(standing(&store, "a:1", LEASE).await, "write 1 1 2");
    assert_eq!(standing(&store, "b:2", LEASE).await, "write 1 0 0");
    store.set(&["PERSIST", LOCK]).await;
    assert_eq!(standing(&store, "a:1", -1).await, "write 1 1 2");
}

#[tokio::test]
async fn those_whose_time_is_over_do_not_count() {
    let store = Store::start().await;
    store.granted(&acquire_read("a:1", 1)).await;
    store.granted(&acquire_read("b:2", 1)).await;
    store.lapse("a:1", 1).await;
    assert_eq!(standing(&store, "a:1", LEASE).await, "read 1 0 0");
    store.lapse("b:2", 1).await;
    assert_eq!(standing(&store, "a:1", -2).await, " 0 0 0");
}
