//! fair_read_write/*: other kinds of the name, Redisson beside it, foreign keys, the memory limit.

use crate::scripts::fair_read_write::call::{acquire, leave, read, release, renew, write};
use crate::scripts::fair_read_write::order::{ask, end, in_line, turns};
use crate::scripts::support::call::{LEASE, LONGER, acquire_read, acquire_write};
use crate::scripts::support::keys::{ALIVE, LINE, LOCK, within};
use crate::scripts::support::redisson::Java;
use crate::scripts::support::store::{Store, is_at_the_memory_limit};

const OURS: &str = "0b0b0b0b-0b0b-8b0b-8b0b-0b0b0b0b0b0b:7";
const JAVAS: &str = "0b0b0b0b-0b0b-4b0b-8b0b-0b0b0b0b0b0b:7";

#[tokio::test]
async fn the_plain_read_write_lock_is_another_kind_and_the_reverse() {
    for plain in [acquire_read, acquire_write] {
        let mut store = Store::start().await;
        store.granted(&plain(OURS, 1)).await;
        let before = store.keys().await;
        for call in [read("r:1"), write("w:1")] {
            assert_eq!(store.ask(&call).await, ["WRONG_KIND"]);
        }
        store.unchanged_since(&before).await;
        // A mark of theirs.
        store.refused(&acquire_write("b:2", 1), "BUSY", LEASE).await;
        store.expire().await;
        assert_eq!(store.ask(&read("r:1")).await, ["WRONG_KIND"]);
        store.set(&["DEL", LINE]).await;

        store.granted(&write("w:1")).await;
        assert_eq!(store.ask(&plain("b:2", 1)).await, ["WRONG_KIND"]);
        assert_eq!(store.ask(&end("w:1")).await, ["FREED"]);
        store.granted(&plain("b:2", 1)).await;
        let _told = store.reported().await;
    }
}

/// It knows no other read/write lock, and cannot see the line.
#[tokio::test]
async fn java_holds_as_any_owner_and_is_notified_of_releases() {
    let mut store = Store::start().await;
    assert_eq!(Java::Read.ask(&store, JAVAS).await, None);
    store.granted(&read("r:1")).await;
    assert_eq!(store.refused(&write("w:2"), "BUSY", LEASE).await, ["1"]);
    assert_eq!(Java::Read.ask(&store, "j:2").await, None);
    assert_eq!(store.ask(&end("r:1")).await, ["RELEASED"]);
    for java in [JAVAS, "j:2"] {
        assert!(Java::UnlockRead.ask(&store, java).await.is_some());
    }
    store.granted(&write("w:2")).await;
    assert!(within(Java::Write.ask(&store, "j:2").await.unwrap(), LEASE));
    let _told = store.reported().await;
    assert_eq!(store.ask(&end("w:2")).await, ["FREED"]);
    assert_eq!(store.reported().await, ["1"]);
    assert_eq!(Java::Write.ask(&store, "j:2").await, None);
    assert_eq!(store.refused(&read("r:1"), "BUSY", LEASE).await, ["1"]);
}

#[tokio::test]
async fn something_else_under_a_name_is_no_lock() {
    for foreign in [
        &["SET", LOCK, "x"][..],
        &["HSET", LOCK, "b:2", "1"],
        &["HSET", LOCK, "mode", "", "a", "x"],
        &["RPUSH", LINE, "x"],
        &["ZADD", LINE, "5", "write:b:2"],
        &["ZADD", LINE, "7", "fair"],
        &["SET", ALIVE, "x"],
    ] {
        let mut store = Store::start().await;
        store.set(foreign).await;
        let before = store.keys().await;
        for call in [read("r:1"), write("w:1"), acquire("read", "r:1", 2)] {
            let reply = store.ask(&call).await;
            assert_eq!(reply, ["WRONG_KIND"], "{call:?} on {foreign:?}");
        }
        for mode in ["read", "write"] {
            for call in [release(mode, "r:1", 0), leave(mode, "r:1")] {
                assert_eq!(store.ask(&call).await, ["GONE"], "{call:?} on {foreign:?}");
            }
        }
        store.unchanged_since(&before).await;
        assert!(turns(&mut store).await.is_empty());
    }
}

#[tokio::test]
async fn at_the_memory_limit_what_is_held_can_be_kept_and_given_back() {
    let mut store = in_line(&["r:1", "w:2"]).await;
    store.fill().await;
    let longer = renew("write", "w:0").with("lease", LONGER);
    assert_eq!(store.ask(&longer).await, ["RENEWED", "1"]);
    assert_eq!(store.ask(&acquire("write", "w:0", 2)).await, ["GRANTED", ""]);
    assert_eq!(store.ask(&release("write", "w:0", 1)).await, ["RELEASED"]);
    assert_eq!(store.ask(&leave("read", "r:1")).await, ["GONE"]);
    assert_eq!(store.ask(&end("w:0")).await, ["FREED"]);
    assert_eq!(turns(&mut store).await, ["w:2"]);
    let before = store.keys().await;
    let refused = store.try_ask(&ask("w:9")).await.unwrap_err();
    assert!(is_at_the_memory_limit(&refused), "{refused}");
    store.unchanged_since(&before).await;
}
