//! Something that no script of ours wrote under the mark's name.

use crate::call::{LEASE, LONGER, acquire_write};
use crate::keys::{FOREVER, Key, MARK, TOKEN, lock, mark};
use crate::store::Store;
use crate::waiter::WAITERS;

/// What stands there, with a TTL or without, stops nobody and stays.
async fn stops_nobody(foreign: &[&str]) {
    for ttl in [None, Some("300000")] {
        for waiter in WAITERS {
            let mut store = Store::start().await;
            store.set(foreign).await;
            if let Some(ttl) = ttl {
                store.set(&["PEXPIRE", MARK, ttl]).await;
            }
            let alone = store.keys().await;
            store.granted(&acquire_write("a:1", 1)).await;
            let before = store.keys().await;
            let busy = (waiter.acquire)("b:2", 1).with("waited_ms", LONGER);
            assert_eq!(store.refused(&busy, "BUSY", LEASE).await, ["0"], "{foreign:?}");
            let leave = (waiter.release)("b:2", 0).with("marked", 1);
            assert_eq!(store.ask(&leave).await, ["GONE"]);
            store.unchanged_since(&before).await;
            assert!(store.told().await.is_empty());

            store.expire().await;
            store.granted(&(waiter.acquire)("b:2", 1)).await;
            let release = (waiter.release)("b:2", 0).with("marked", 1);
            assert_eq!(store.ask(&release).await, ["FREED"]);
            store.set(&["DEL", TOKEN]).await;
            store.unchanged_since(&alone).await;
        }
    }
}

#[tokio::test]
async fn another_type() {
    stops_nobody(&["RPUSH", MARK, "x"]).await;
    stops_nobody(&["HSET", MARK, "mode", "write"]).await;
}

#[tokio::test]
async fn another_text() {
    for text in [
        "",
        "x",
        "b:2",
        "write:b:2",
        ":write:b:2",
        "-5:write:b:2",
        "1.5:write:b:2",
        "nan:write:b:2",
        "since 5:write:b:2",
        "5:",
        "5:write",
        "5:write:",
        "5:x",
        "12:34:56",
    ] {
        stops_nobody(&["SET", MARK, text]).await;
    }
}

/// None of ours is without an end, and whoever left it will not come.
#[tokio::test]
async fn one_without_an_end_is_nobodys_turn() {
    for waiter in WAITERS {
        let store = Store::start().await;
        store.set(&["SET", MARK, "5:write:b:2"]).await;
        store.granted(&(waiter.acquire)("c:3", 1)).await;
        let leave = (waiter.release)("c:3", 0).with("marked", 1);
        assert_eq!(store.ask(&leave).await, ["FREED"]);
        let endless = Key::new(MARK, "string write:b:2", FOREVER);
        store.stands([endless]).await;
    }
}

/// Redis' clock was set back, or a failover went to a server that is behind.
#[tokio::test]
async fn one_from_the_future_is_taken_over() {
    for since in ["9000000000000".to_owned(), "9".repeat(400)] {
        for waiter in WAITERS {
            let store = Store::start().await;
            let ahead = format!("{since}:write:b:2");
            store.set(&["SET", MARK, &ahead, "PX", "300000"]).await;
            // Whoever asks has waited for longer.
            store.granted(&acquire_write("a:1", 1)).await;
            let busy = (waiter.acquire)("c:3", 1);
            assert_eq!(store.refused(&busy, "BUSY", LEASE).await, ["1"]);
            let written = lock("a:1:write=1 mode=write", LEASE);
            store.stands([written, mark(&waiter.who("c:3"))]).await;
        }
    }
}

/// The fair read/write lock keeps its line there: one lock is of one kind.
#[tokio::test]
async fn a_line_of_the_fair_kind_makes_it_another_lock() {
    for waiter in WAITERS {
        let mut store = Store::start().await;
        store.set(&["ZADD", MARK, "0", "fair"]).await;
        for yields in [0, 1] {
            let before = store.keys().await;
            let call = (waiter.acquire)("b:2", 1).with("yields", yields);
            for mark_ms in [0, 300_000] {
                assert_eq!(store.ask(&call.with("mark_ms", mark_ms)).await, ["WRONG_KIND"]);
            }
            store.unchanged_since(&before).await;
        }
        // Held, for one that writes and for one that reads.
        for holder in WAITERS {
            store.set(&["DEL", MARK]).await;
            store.granted(&(holder.acquire)("a:1", 1)).await;
            store.set(&["ZADD", MARK, "0", "fair"]).await;
            let before = store.keys().await;
            for mark_ms in [0, 300_000] {
                let call = (waiter.acquire)("b:2", 1).with("mark_ms", mark_ms);
                assert_eq!(
                    store.ask(&call).await,
                    ["WRONG_KIND"],
                    "{} {}",
                    holder.mode,
                    waiter.mode
                );
            }
            store.unchanged_since(&before).await;
            // What is held already stays so.
            assert_eq!(store.ask(&(holder.acquire)("a:1", 2)).await, ["GRANTED", ""]);
            assert_eq!(store.ask(&(holder.release)("a:1", 0)).await, ["FREED"]);
            let _told = store.told().await;
        }
    }
}
