//! fair_read_write/* where something is wrong: arguments, foreign keys, other kinds, no memory.

use crate::scripts::contract::arguments::NO_NUMBERS;
use crate::scripts::fair_read_write::state::{
    PLACE, acquire, downgrade, empty_line, everything_ends, in_line, read, release, release_told,
    renew, turn_of, write,
};
use crate::scripts::plain::call as plain_call;
use crate::scripts::read_write::many_readers::cost;
use crate::scripts::support::call::{Call, LEASE, LONGER, acquire_read, acquire_write, upgrade};
use crate::scripts::support::keys::{ALIVE, LINE, LOCK, TOKEN, lock, read as read_key, with};
use crate::scripts::support::store::{Store, is_at_the_memory_limit};

/// Each with its numbers, and whether 0 is one of them.
fn calls() -> Vec<(Call, &'static [(&'static str, bool)])> {
    const ACQUIRE: &[(&str, bool)] =
        &[("lease", false), ("holds", false), ("place_ms", true), ("token_ttl", true)];
    let converted: &[_] = &[("lease", false), ("read_holds", false), ("write_holds", true)];
    let mut calls = vec![(downgrade("a:1", 1, 0), converted)];
    for mode in ["read", "write"] {
        calls.push((acquire(mode, "a:1", 1), ACQUIRE));
        calls.push((release(mode, "a:1", 0), &[("holds", true)]));
    }
    calls
}

async fn refuses_all(store: &mut Store) {
    store.reported_where().await;
    let before = store.keys().await;
    for (call, numbers) in calls() {
        for (name, zero) in numbers {
            let zero = (!zero).then_some(&"0");
            for value in NO_NUMBERS.iter().chain(zero) {
                let call = call.with(name, value);
                assert_eq!(store.ask(&call).await, ["INVALID"], "{name} {value:?} in {call:?}");
            }
        }
        assert_eq!(store.ask(&call.with("owner", "")).await, ["INVALID"], "{call:?}");
        if call.script != "fair_read_write/downgrade" {
            for mode in ["", "READ", "fair", "read ", "1"] {
                assert_eq!(store.ask(&call.with("mode", mode)).await, ["INVALID"], "{call:?}");
            }
        }
    }
    for mode in ["read", "write"] {
        for value in NO_NUMBERS.iter().chain(&["0"]) {
            let call = renew(mode, "a:1").with("lease", value);
            assert_eq!(store.ask(&call).await, ["RENEWED", "INVALID"], "{call:?}");
        }
    }
    store.unchanged_since(&before).await;
    assert!(store.reported_where().await.is_empty());
}

#[tokio::test]
async fn arguments_that_are_none_change_nothing() {
    let mut free = Store::start().await;
    refuses_all(&mut free).await;
    for holder in [read("a:1"), write("a:1"), write("b:2")] {
        let mut store = Store::start().await;
        store.granted(&holder).await;
        store.refused(&write("c:3"), "BUSY", LEASE).await;
        if holder.args[0].1 == "b:2" {
            store.refused(&read("a:1"), "BUSY", PLACE).await;
        }
        refuses_all(&mut store).await;
    }
}

/// A value that is not a read/write lock, with a line beside it and without.
#[tokio::test]
async fn something_else_under_the_name_stays_as_it_is() {
    for foreign in [
        &["SET", LOCK, "foreign"][..],
        &["RPUSH", LOCK, "one", "two"],
        &["HSET", LOCK, "b:2", "1"],
        &["HSET", LOCK, "mode", "fair", "b:2", "1"],
        &["HSET", LOCK, "mode", "", "a", "x"],
    ] {
        for fair in [false, true] {
            let mut store = Store::start().await;
            store.set(foreign).await;
            if fair {
                store.set(&["ZADD", LINE, "0", "fair", "5", "write:b:2"]).await;
                store.set(&["ZADD", ALIVE, "9000000000000", "write:b:2"]).await;
            }
            let before = store.keys().await;
            for mode in ["read", "write"] {
                for holds in [1, 2] {
                    let reply = store.ask(&acquire(mode, "a:1", holds)).await;
                    assert_eq!(reply, ["WRONG_KIND"], "{mode} {holds} on {foreign:?}");
                }
                assert_eq!(store.ask(&release(mode, "a:1", 0)).await, ["GONE"]);
                let renewed = store.ask(&renew(mode, "a:1")).await;
                assert_eq!(renewed[1] == "0", foreign[0] == "HSET", "{renewed:?}");
            }
            assert_eq!(store.ask(&downgrade("a:1", 1, 0)).await, ["LOST"]);
            store.unchanged_since(&before).await;
            // A waiter of the line can leave all the same.
            assert_eq!(store.ask(&release("write", "b:2", 0)).await, ["GONE"]);
            assert_eq!(store.reported_where().await, []);
        }
    }
}

#[tokio::test]
async fn something_else_in_the_place_of_the_line_or_its_waiters() {
    for foreign in [
        &["SET", LINE, "5:write:b:2"][..],
        &["RPUSH", LINE, "x"],
        &["ZADD", LINE, "5", "write:b:2"],
        &["ZADD", LINE, "7", "fair"],
        &["SET", ALIVE, "x"],
    ] {
        let mut store = Store::start().await;
        store.set(foreign).await;
        let before = store.keys().await;
        for call in [read("a:1"), write("a:1")] {
            for place in [0, PLACE] {
                let call = call.with("place_ms", place);
                assert_eq!(store.ask(&call).await, ["WRONG_KIND"], "{foreign:?}");
            }
        }
        store.unchanged_since(&before).await;

        // It came while the lock was held: that can be kept, turned and given back.
        store.set(&["FLUSHALL"]).await;
        store.granted(&write("a:1")).await;
        store.set(&["DEL", LINE, ALIVE]).await;
        store.set(foreign).await;
        let foreign = store.keys().await.into_iter().filter(|key| key.name != LOCK);
        let foreign: Vec<_> = foreign.filter(|key| key.name != TOKEN).collect();
        assert_eq!(store.ask(&renew("write", "a:1")).await, ["RENEWED", "1"]);
        assert_eq!(store.ask(&downgrade("a:1", 1, 0)).await, ["RELEASED"]);
        assert_eq!(store.ask(&renew("read", "a:1")).await, ["RENEWED", "1"]);
        assert_eq!(store.ask(&release("read", "a:1", 0)).await, ["FREED"]);
        assert_eq!(store.reported_where().await, [release_told("1"), release_told("0")]);
        store.set(&["DEL", TOKEN]).await;
        let left = store.keys().await.into_iter();
        let left: Vec<_> =
            left.filter(|key| foreign.iter().any(|before| before.name == key.name)).collect();
        assert_eq!(left.len(), foreign.len());
    }
}

#[tokio::test]
async fn a_key_that_holds_no_token_is_never_a_grant() {
    for foreign in [&["SET", TOKEN, "x"][..], &["RPUSH", TOKEN, "x"]] {
        let store = Store::start().await;
        store.set(foreign).await;
        for call in [read("a:1"), write("a:1")] {
            assert_eq!(store.ask(&call).await, ["WRONG_KIND"]);
            store.stands([]).await;
        }
    }
}

const OURS: &str = "0a1b2c3d-0000-8000-8000-0123456789ab:1";

/// Held by a client of ours as the plain kind, which stands in no line.
#[tokio::test]
async fn the_plain_kind_and_the_fair_one_refuse_each_other() {
    for plain in [acquire_read(OURS, 1), acquire_write(OURS, 1)] {
        let store = Store::start().await;
        store.granted(&plain).await;
        let before = store.keys().await;
        for call in [read("a:1"), write("a:1")] {
            assert_eq!(store.ask(&call).await, ["WRONG_KIND"]);
            assert_eq!(store.ask(&call.with("holds", 2)).await, ["WRONG_KIND"]);
        }
        store.unchanged_since(&before).await;
    }
    for fair in [read(OURS), write(OURS)] {
        let store = Store::start().await;
        store.granted(&fair).await;
        let before = store.keys().await;
        let plain =
            [acquire_write("a:1", 1), acquire_read("a:1", 1), plain_call::acquire("a:1", 1)];
        for call in &plain {
            assert_eq!(store.ask(call).await, ["WRONG_KIND"], "{call:?} on {fair:?}");
        }
        store.unchanged_since(&before).await;
        // Nor while it is only waited for.
        store.ask(&write("b:2")).await;
        let mode = &fair.args[1].1;
        assert_eq!(store.ask(&release(mode, OURS, 0)).await, ["FREED"]);
        for call in &plain {
            assert_eq!(store.ask(call).await, ["WRONG_KIND"], "{call:?} behind a waiter");
        }
        assert_eq!(store.ask(&release("write", "b:2", 0)).await, ["GONE"]);
        store.granted(&plain[0]).await;
    }
}

/// Of the plain kind it was; others keep the hash.
#[tokio::test]
async fn a_plain_reader_that_died_among_javas_is_no_other_kind() {
    let store = Store::start().await;
    store.granted(&acquire_read(OURS, 1)).await;
    store.granted(&acquire_read("j:1", 1)).await;
    store.lapse(OURS, 1).await;
    store.granted(&read("a:1")).await;
}

#[tokio::test]
async fn an_evicted_line_is_no_other_kind_for_those_inside() {
    for mode in ["read", "write"] {
        let store = Store::start().await;
        store.granted(&acquire(mode, OURS, 1)).await;
        store.set(&["DEL", LINE]).await;
        assert_eq!(store.ask(&acquire(mode, OURS, 2)).await, ["GRANTED", ""]);
        everything_ends(&store).await;
        assert_eq!(store.refused(&write("b:2"), "BUSY", LEASE).await, ["1"]);
    }
}

#[tokio::test]
async fn at_the_memory_limit_nothing_new_is_granted_and_nothing_left() {
    let mut store = Store::start().await;
    store.fill().await;
    for call in [read("a:1"), write("a:1")] {
        let refused = store.try_ask(&call).await.unwrap_err();
        assert!(is_at_the_memory_limit(&refused), "{refused}");
        assert!(store.keys().await.is_empty());
    }
    for mode in ["read", "write"] {
        assert_eq!(store.ask(&release(mode, "a:1", 0)).await, ["GONE"]);
    }
    assert!(store.reported_where().await.is_empty());
}

#[tokio::test]
async fn at_the_memory_limit_no_caller_queues() {
    let store = Store::start().await;
    store.granted(&write("a:1")).await;
    store.fill().await;
    let before = store.keys().await;
    for call in [read("b:2"), write("b:2")] {
        let refused = store.try_ask(&call).await.unwrap_err();
        assert!(is_at_the_memory_limit(&refused), "{call:?}: {refused}");
        let no_place = call.with("place_ms", 0);
        assert_eq!(store.refused(&no_place, "BUSY", LEASE).await, ["0"]);
    }
    store.unchanged_since(&before).await;
}

#[tokio::test]
async fn at_the_memory_limit_holds_can_be_kept_turned_and_released() {
    let mut store = Store::start().await;
    store.granted(&write("a:1")).await;
    for call in [read("b:2"), write("c:3")] {
        assert_eq!(store.ask(&call).await[0], "BUSY");
    }
    store.fill().await;
    assert_eq!(store.ask(&acquire("write", "a:1", 2)).await, ["GRANTED", ""]);
    let longer = renew("write", "a:1").with("lease", LONGER);
    assert_eq!(store.ask(&longer).await, ["RENEWED", "1"]);
    everything_ends(&store).await;
    assert_eq!(store.ask(&release("write", "a:1", 1)).await, ["RELEASED"]);
    assert_eq!(store.ask(&downgrade("a:1", 1, 0)).await, ["RELEASED"]);
    assert_eq!(store.reported_where().await, [release_told("1"), turn_of("b:2")]);
    assert_eq!(store.ask(&renew("read", "a:1")).await, ["RENEWED", "1"]);
    everything_ends(&store).await;
    // Nothing of a renewal has to be written.
    store.set(&["DEL", LINE]).await;
    assert_eq!(store.ask(&renew("read", "a:1")).await, ["RENEWED", "1"]);
    assert_eq!(store.ask(&release("read", "a:1", 0)).await, ["FREED"]);
    assert_eq!(store.reported_where().await, [release_told("0")]);
}

#[tokio::test]
async fn at_the_memory_limit_a_waiter_can_leave_and_the_next_is_woken() {
    let mut store = Store::start().await;
    store.granted(&read("a:1")).await;
    for call in [write("b:2"), read("c:3")] {
        assert_eq!(store.ask(&call).await[0], "BUSY");
    }
    store.fill().await;
    assert_eq!(store.ask(&release("write", "b:2", 0)).await, ["GONE"]);
    assert_eq!(store.reported_where().await, [turn_of("c:3")]);
    assert_eq!(store.ask(&release("read", "a:1", 0)).await, ["FREED"]);
    assert_eq!(store.reported_where().await, [release_told("0"), turn_of("c:3")]);
    assert_eq!(store.ask(&release("read", "c:3", 0)).await, ["GONE"]);
    store.stands([]).await;
}

/// The plain kind's upgrade serves the fair one.
#[tokio::test]
async fn a_reader_inside_becomes_a_writer_past_the_line() {
    let store = Store::start().await;
    store.granted(&read("a:1")).await;
    store.refused(&write("b:2"), "BUSY", LEASE).await;
    store.granted(&upgrade("a:1", 0, 1)).await;
    assert_eq!(store.ask(&write("b:2")).await[0], "BUSY");
    assert_eq!(store.ask(&downgrade("a:1", 1, 0)).await, ["RELEASED"]);
    assert_eq!(in_line(&store).await, ["write:b:2"]);
    assert_eq!(store.ask(&release("write", "b:2", 0)).await, ["GONE"]);
    let left = [read_key("a:1", 1, LEASE), empty_line(LEASE)];
    store.stands(with(lock("a:1=1 mode=read", LEASE), left)).await;
}

#[tokio::test]
async fn a_step_costs_the_same_before_any_number_of_waiters() {
    let mut costs = Vec::new();
    for waiters in [3, 300] {
        let store = Store::start().await;
        store.granted(&write("a:1")).await;
        for waiter in 0..waiters {
            store.ask(&write(&format!("w:{waiter}"))).await;
        }
        let mut cost_of = async |call: Call, status: &str| {
            let mut counts = cost(&store, &call, status).await;
            // A time that has passed in between is set again.
            counts.remove("pexpire");
            costs.push(counts);
        };
        cost_of(write("b:2"), "BUSY").await;
        cost_of(write("b:2"), "BUSY").await;
        cost_of(read("c:3"), "BUSY").await;
        cost_of(release("write", "b:2", 0), "GONE").await;
        cost_of(release("write", "a:1", 0), "FREED").await;
        cost_of(read("c:3"), "BUSY").await;
        cost_of(write("w:0"), "GRANTED").await;
    }
    let (few, many) = costs.split_at(costs.len() / 2);
    assert_eq!(few, many);
}
