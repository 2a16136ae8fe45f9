//! A fair read/write lock with the real one's steps beside it: Redisson sees no line.

use crate::scripts::fair_read_write::state::{
    PLACE, dies, downgrade, empty_line, everything_ends, in_line, read, release, release_told,
    turn_of, write,
};
use crate::scripts::support::call::{LEASE, LONGER};
use crate::scripts::support::keys::{LOCK, lock, read as read_key, with, within};
use crate::scripts::support::redisson::Java;
use crate::scripts::support::store::Store;

const JAVAS: &str = "0a1b2c3d-0000-4000-8000-0123456789ab:1";

#[tokio::test]
async fn ours_wait_for_java_and_java_for_ours() {
    for (java, unlock, mode, message) in [
        (Java::Read, Java::UnlockRead, "read", "0"),
        (Java::Write, Java::UnlockWrite, "write", "1"),
    ] {
        let mut store = Store::start().await;
        assert_eq!(java.ask(&store, JAVAS).await, None);
        assert_eq!(store.refused(&write("a:1"), "BUSY", LEASE).await, ["1"]);
        assert_eq!(in_line(&store).await, ["write:a:1"]);
        assert_eq!(unlock.ask(&store, JAVAS).await, Some(1));
        assert_eq!(store.reported_where().await, [release_told(message)]);
        assert_eq!(store.ask(&read("b:2")).await[0], "BUSY");
        store.granted(&write("a:1")).await;
        assert!(within(java.ask(&store, JAVAS).await.unwrap(), LEASE));
        assert_eq!(store.ask(&release("write", "a:1", 0)).await, ["FREED"]);
        assert_eq!(store.reported_where().await, [release_told("1"), turn_of("b:2")]);
        assert_eq!(java.ask(&store, JAVAS).await, None, "{mode}: it passes the line");
    }
}

#[tokio::test]
async fn a_java_holder_without_end_is_waited_for_without_end() {
    let store = Store::start().await;
    assert_eq!(Java::Write.ask(&store, JAVAS).await, None);
    store.set(&["PERSIST", LOCK]).await;
    for _asked in 0..2 {
        assert_eq!(store.ask(&write("a:1")).await, ["BUSY", "-1", "1"]);
    }
    assert_eq!(store.refused(&write("b:2"), "BUSY", PLACE).await, ["1"]);
    assert_eq!(store.ask(&release("write", "b:2", 0)).await, ["GONE"]);
    let attempt = read("c:3").with("place_ms", 0);
    assert_eq!(store.ask(&release("write", "a:1", 0)).await, ["GONE"]);
    assert_eq!(store.ask(&attempt).await, ["BUSY", "-1", "0"]);
}

#[tokio::test]
async fn readers_of_both_sorts_share_it() {
    let mut store = Store::start().await;
    assert_eq!(Java::Read.ask(&store, JAVAS).await, None);
    store.granted(&read("a:1")).await;
    everything_ends(&store).await;
    assert_eq!(Java::UnlockRead.ask(&store, JAVAS).await, Some(0));
    let left = [read_key("a:1", 1, LEASE), empty_line(LEASE)];
    store.stands(with(lock("a:1=1 mode=read", LEASE), left)).await;
    assert_eq!(Java::Read.ask(&store, JAVAS).await, None);
    assert_eq!(store.ask(&release("read", "a:1", 0)).await, ["RELEASED"]);
    assert_eq!(Java::UnlockRead.ask(&store, JAVAS).await, Some(1));
    assert_eq!(store.reported_where().await, [release_told("0")]);
}

/// It keeps the lock between ours, which still keep their order.
#[tokio::test]
async fn a_java_reader_in_the_middle() {
    let mut store = Store::start().await;
    store.granted(&read("a:1")).await;
    store.refused(&write("b:2"), "BUSY", LEASE).await;
    store.refused(&read("c:3"), "BUSY", PLACE).await;
    assert_eq!(Java::Read.ask_with(&store, JAVAS, LONGER).await, None);
    assert_eq!(store.ask(&release("read", "a:1", 0)).await, ["RELEASED"]);
    assert_eq!(store.reported_where().await, []);
    assert_eq!(store.refused(&write("b:2"), "BUSY", LONGER).await, ["1"]);
    assert_eq!(store.refused(&read("c:3"), "BUSY", PLACE).await, ["1"]);
    assert_eq!(in_line(&store).await, ["write:b:2", "read:c:3"]);
    assert_eq!(Java::UnlockRead.ask(&store, JAVAS).await, Some(1));
    assert_eq!(store.reported_where().await, [release_told("0")]);
    assert_eq!(store.ask(&read("c:3")).await[0], "BUSY");
    store.granted(&write("b:2")).await;
}

/// A reader of ours enters beside Java's; the writer before it has died.
#[tokio::test]
async fn a_dead_writer_behind_java_readers_is_passed() {
    let mut store = Store::start().await;
    assert_eq!(Java::Read.ask(&store, JAVAS).await, None);
    store.refused(&write("b:2"), "BUSY", LEASE).await;
    store.refused(&read("c:3"), "BUSY", PLACE).await;
    dies(&store, "write:b:2").await;
    store.granted(&read("c:3")).await;
    assert_eq!(in_line(&store).await, Vec::<String>::new());
    assert_eq!(store.reported_where().await, []);
}

/// Redisson's writer keeps a read, which lets ours in; it publishes nothing.
#[tokio::test]
async fn a_java_writer_that_becomes_a_reader() {
    let store = Store::start().await;
    assert_eq!(Java::Write.ask(&store, JAVAS).await, None);
    assert_eq!(Java::Read.ask(&store, JAVAS).await, None);
    store.refused(&read("a:1"), "BUSY", LEASE).await;
    assert_eq!(Java::UnlockWrite.ask(&store, JAVAS).await, Some(1));
    store.granted(&read("a:1")).await;
}

#[tokio::test]
async fn java_readers_are_woken_by_our_downgrade() {
    let mut store = Store::start().await;
    store.granted(&write("a:1")).await;
    assert!(within(Java::Read.ask(&store, JAVAS).await.unwrap(), LEASE));
    assert_eq!(store.ask(&downgrade("a:1", 1, 0)).await, ["RELEASED"]);
    assert_eq!(store.reported_where().await, [release_told("1")]);
    assert_eq!(Java::Read.ask(&store, JAVAS).await, None);
}
