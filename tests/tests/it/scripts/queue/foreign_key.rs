//! Something that no script of ours wrote under the line's name.

use crate::scripts::support::call::{LEASE, LONGER, PLACE_MS, acquire_write};
use crate::scripts::support::keys::{FOREVER, Key, LINE, TOKEN};
use crate::scripts::support::store::Store;
use crate::scripts::support::waiter::{ALL_WAITERS, WAITERS, held, places, stand};

/// What stands there, with a TTL or without, is in the way of no caller and stays; no place can be
/// taken in it.
async fn is_left_alone(foreign: &[&str], ttls: &[Option<&str>]) {
    for ttl in ttls {
        for waiter in ALL_WAITERS {
            let mut store = Store::start().await;
            store.set(foreign).await;
            if let Some(ttl) = ttl {
                store.set(&["PEXPIRE", LINE, ttl]).await;
            }
            let alone = store.keys().await;
            store.granted(&(waiter.hold)("a:1", 1)).await;
            let before = store.keys().await;
            let busy = waiter.after("b:2", LONGER);
            assert_eq!(store.refused(&busy, "BUSY", LEASE).await, ["0"], "{foreign:?}");
            assert_eq!(store.ask(&waiter.leave("b:2")).await, ["GONE"]);
            store.unchanged_since(&before).await;
            assert!(store.reported_where().await.is_empty());
            // A release wakes all subscribers, as without a line.
            assert_eq!(store.ask(&(waiter.give_back)("a:1", 0)).await, ["FREED"]);
            assert_eq!(store.reported_where().await, waiter.wakes_all());

            store.granted(&(waiter.acquire)("b:2", 1)).await;
            assert_eq!(store.ask(&waiter.leave("b:2")).await, ["FREED"]);
            store.set(&["DEL", TOKEN]).await;
            store.unchanged_since(&alone).await;
        }
    }
}

#[tokio::test]
async fn another_type() {
    for foreign in [&["RPUSH", LINE, "x"][..], &["SET", LINE, "5:write:b:2"], &["SADD", LINE, "x"]]
    {
        is_left_alone(foreign, &[None, Some("300000")]).await;
    }
}

/// None of ours is without an end, and its waiters will not come.
#[tokio::test]
async fn a_line_without_an_end() {
    is_left_alone(&["HSET", LINE, "write:c:3", "5:9999999999999", "mode", "write"], &[None]).await;
}

/// Fields that are not places are ignored, and stay.
#[tokio::test]
async fn fields_that_are_no_places() {
    for field in [
        ["write:c:3", ""],
        ["write:c:3", "x"],
        ["write:c:3", "5"],
        ["write:c:3", "5:"],
        ["write:c:3", ":9999999999999"],
        ["write:c:3", "-5:9999999999999"],
        ["write:c:3", "1.5:9999999999999"],
        ["write:c:3", "5:nan"],
        ["write:c:3", "5:9999999999999:"],
        ["write:", "5:9999999999999"],
        ["write", "5:9999999999999"],
        ["c:3", "5:9999999999999"],
        ["", "5:9999999999999"],
        ["other:c:3", "5:9999999999999"],
        ["mode", "write"],
    ] {
        for waiter in ALL_WAITERS {
            let mut store = held(waiter).await;
            let [name, value] = field;
            store.set(&["HSET", LINE, name, value]).await;
            store.set(&["PEXPIRE", LINE, "300000"]).await;
            assert_eq!(store.refused(&waiter.after("b:2", 0), "BUSY", LEASE).await, ["1"]);
            assert_eq!(store.ask(&(waiter.give_back)("a:1", 0)).await, ["FREED"]);
            assert_eq!(store.reported_where().await, waiter.wakes(&["b:2"]), "{field:?}");
            store.granted(&(waiter.acquire)("b:2", 1)).await;
            let stays = Key::new(LINE, format!("hash {name}={value}"), PLACE_MS);
            let line = store.keys().await.into_iter().find(|key| key.name == LINE);
            assert_eq!(line.unwrap().content, stays.content);
        }
    }
}

/// Redis' clock was set back, or a failover went to a server that is behind.
#[tokio::test]
async fn a_place_from_the_future_is_behind_all_others_and_ends() {
    for times in
        ["9000000000000:9000000300000".to_owned(), ["9"; 2].map(|it| it.repeat(400)).join(":")]
    {
        for waiter in ALL_WAITERS {
            let mut store = held(waiter).await;
            store.set(&["HSET", LINE, "write:c:3", &times]).await;
            store.set(&["PEXPIRE", LINE, "300000"]).await;
            assert_eq!(store.refused(&waiter.after("b:2", 0), "BUSY", LEASE).await, ["1"]);
            assert_eq!(store.ask(&(waiter.give_back)("a:1", 0)).await, ["FREED"]);
            assert_eq!(store.reported_where().await, waiter.wakes(&["b:2"]));
            store.granted(&(waiter.acquire)("b:2", 1)).await;
            assert_eq!(store.ask(&(waiter.release)("b:2", 0)).await, ["FREED"]);
            // Reserved for that one then, for no longer than for any other.
            store.pass(50);
            store.granted(&(waiter.acquire)("d:4", 1)).await;
        }
    }
}

/// The fair read/write lock keeps its line there: one lock is of one kind.
#[tokio::test]
async fn a_line_of_the_fair_kind_makes_it_another_lock() {
    for waiter in ALL_WAITERS {
        let mut store = Store::start().await;
        store.set(&["ZADD", LINE, "0", "fair"]).await;
        for yields in [0, 1] {
            let before = store.keys().await;
            let call = (waiter.acquire)("b:2", 1).with("yields", yields);
            for place_ms in [0, 300_000] {
                assert_eq!(store.ask(&call.with("place_ms", place_ms)).await, ["WRONG_KIND"]);
            }
            assert_eq!(store.ask(&waiter.leave("b:2")).await, ["GONE"]);
            store.unchanged_since(&before).await;
        }
        assert!(store.reported_where().await.is_empty());
    }
    for waiter in WAITERS {
        // Held, for one that writes and for one that reads.
        for holder in WAITERS {
            let mut store = Store::start().await;
            store.granted(&(holder.acquire)("a:1", 1)).await;
            store.set(&["ZADD", LINE, "0", "fair"]).await;
            let before = store.keys().await;
            for place_ms in [0, 300_000] {
                let call = (waiter.acquire)("b:2", 1).with("place_ms", place_ms);
                let reply = store.ask(&call).await;
                assert_eq!(reply, ["WRONG_KIND"], "{} {}", holder.mode, waiter.mode);
            }
            store.unchanged_since(&before).await;
            // What is held already stays so.
            assert_eq!(store.ask(&(holder.acquire)("a:1", 2)).await, ["GRANTED", ""]);
            assert_eq!(store.ask(&(holder.release)("a:1", 0)).await, ["FREED"]);
            store.stands([Key::new(LINE, "zset fair", FOREVER)]).await;
            let _told = store.reported().await;
        }
    }
}

/// Its writer's place is not its reader's.
#[tokio::test]
async fn the_places_of_one_owner_in_both_modes_are_two() {
    let store = held(WAITERS[1]).await;
    stand(&store, &[("read:b:2", -9_000, PLACE_MS)]).await;
    assert_eq!(store.refused(&acquire_write("b:2", 1), "BUSY", LEASE).await, ["1"]);
    let expected = [format!("read:b:2 -9000..{PLACE_MS}"), format!("write:b:2 0..{PLACE_MS}")];
    assert_eq!(places(&store).await, expected);
}
