//! fair/acquire and fair/release: which callers are granted, which wait, and which are woken.

use crate::scripts::fair::call::{PLACE, WAIT, acquire, leave, leave_together, release};
use crate::scripts::plain::call::renew;
use crate::scripts::support::call::{Call, HOUR, LEASE, LONGER};
use crate::scripts::support::keys::{
    ALIVE, DEADLINES, LOCK, LOCK_CHANNEL, QUEUE, TOKEN, lock, within,
};
use crate::scripts::support::store::{STOPPED_MS, Store, is_at_the_memory_limit};

/// `a:1` holds the lock, the others wait in this order.
pub(crate) async fn queued(waiters: &[&str]) -> Store {
    let store = Store::start().await;
    store.granted(&acquire("a:1", 1)).await;
    for waiter in waiters {
        assert_eq!(store.refused(&acquire(waiter, 1), "BUSY", LEASE).await, ["1"]);
    }
    assert_eq!(store.cli.list(QUEUE).await, waiters);
    store
}

/// Whose turn was reported since the last look.
pub(crate) async fn turns(store: &mut Store) -> Vec<String> {
    let reported = store.reported_where().await.into_iter();
    reported
        .map(|(channel, message)| {
            assert_eq!(message, "0");
            channel
                .strip_prefix(&format!("{LOCK_CHANNEL}:"))
                .expect("a waiter's channel")
                .to_owned()
        })
        .collect()
}

/// The waiter has died: its time is over, on Redis' clock.
pub(crate) async fn dies(store: &Store, waiter: &str) {
    store.set(&["ZADD", ALIVE, "XX", "1", waiter]).await;
}

/// What is left in line, in order; the keys of the line agree.
async fn line(store: &Store) -> Vec<String> {
    let queue = store.cli.list(QUEUE).await;
    for key in [DEADLINES, ALIVE] {
        let mut members: Vec<_> =
            store.cli.sorted_set(key).await.into_iter().map(|(member, _)| member).collect();
        let mut expected = queue.clone();
        members.sort();
        expected.sort();
        assert_eq!(members, expected, "{key}");
    }
    queue
}

#[tokio::test]
async fn a_free_lock_is_granted_and_granted_again() {
    let mut store = Store::start().await;
    let first = store.granted(&acquire("a:1", 1)).await;
    assert!(store.granted(&acquire("a:1", 1)).await > first);
    store.stands([lock("a:1=1", LEASE)]).await;
    assert!(within(store.cli.pttl(TOKEN).await, HOUR));
    assert!(turns(&mut store).await.is_empty());
}

#[tokio::test]
async fn waiters_stand_in_line_as_redisson_writes_them() {
    let store = Store::start().await;
    store.stop_clock();
    store.granted(&acquire("a:1", 1)).await;
    for waiter in ["b:2", "c:3", "d:4"] {
        let reply = store.ask(&acquire(waiter, 1)).await;
        assert_eq!((reply[0].as_str(), reply[2].as_str()), ("BUSY", "1"));
        assert!(within(reply[1].parse().unwrap(), LEASE));
        assert_eq!(store.score(ALIVE, waiter).await, Some(STOPPED_MS + PLACE));
        let deadline = store.score(DEADLINES, waiter).await.unwrap() - STOPPED_MS;
        assert!(within(deadline, LEASE + WAIT), "{deadline}");
    }
    assert_eq!(line(&store).await, ["b:2", "c:3", "d:4"]);
    for key in [QUEUE, DEADLINES, ALIVE] {
        assert!(within(store.cli.pttl(key).await, 2 * PLACE), "{key}");
    }
}

#[tokio::test]
async fn a_repeated_call_keeps_and_renews_the_place() {
    let store = queued(&["b:2", "c:3"]).await;
    let deadlines = store.cli.sorted_set(DEADLINES).await;
    for waiter in ["b:2", "c:3"] {
        store.set(&["ZADD", ALIVE, &(store.now().await + 60_000).to_string(), waiter]).await;
    }
    for key in [QUEUE, DEADLINES, ALIVE] {
        store.set(&["PEXPIRE", key, "60000"]).await;
    }
    assert_eq!(store.refused(&acquire("b:2", 1), "BUSY", LEASE).await, ["1"]);
    assert_eq!(line(&store).await, ["b:2", "c:3"]);
    assert!(within(store.score(ALIVE, "b:2").await.unwrap() - store.now().await, PLACE));
    assert_eq!(store.cli.sorted_set(DEADLINES).await, deadlines);
    for key in [QUEUE, DEADLINES, ALIVE] {
        assert!(within(store.cli.pttl(key).await, 2 * PLACE), "{key}");
    }
}

#[tokio::test]
async fn the_order_is_that_of_arrival() {
    let mut store = queued(&["b:2", "c:3", "d:4"]).await;
    for (holder, next) in [("a:1", "b:2"), ("b:2", "c:3"), ("c:3", "d:4")] {
        assert_eq!(store.ask(&release(holder, 0)).await, ["FREED"]);
        assert_eq!(turns(&mut store).await, [next]);
        for other in ["d:4", "e:5"].into_iter().filter(|other| *other != next) {
            let reply = store.ask(&acquire(other, 1).with("place_ms", 0)).await;
            assert_eq!(reply[0], "BUSY", "{other} before {next}");
        }
        store.granted(&acquire(next, 1)).await;
        assert!(turns(&mut store).await.is_empty());
    }
    assert_eq!(store.ask(&release("d:4", 0)).await, ["FREED"]);
    assert!(turns(&mut store).await.is_empty());
    store.stands([]).await;
}

#[tokio::test]
async fn a_grant_leaves_the_deadlines_of_those_behind_as_they_are() {
    let store = queued(&["b:2", "c:3"]).await;
    let before = store.score(DEADLINES, "c:3").await.unwrap();
    store.expire().await;
    store.granted(&acquire("b:2", 1)).await;
    assert_eq!(store.score(DEADLINES, "c:3").await, Some(before));
    assert_eq!(line(&store).await, ["c:3"]);
}

#[tokio::test]
async fn a_caller_not_next_on_a_free_lock_learns_the_next_ones_time() {
    let store = queued(&["b:2", "c:3"]).await;
    store.expire().await;
    for place in [0, PLACE] {
        let call = acquire("d:4", 1).with("place_ms", place);
        assert_eq!(store.refused(&call, "BUSY", PLACE).await, [if place > 0 { "1" } else { "0" }]);
    }
    assert_eq!(line(&store).await, ["b:2", "c:3", "d:4"]);
}

#[tokio::test]
async fn a_try_never_queues_and_overtakes_no_waiter() {
    let store = Store::start().await;
    let attempt = |owner| acquire(owner, 1).with("place_ms", 0);
    store.granted(&attempt("a:1")).await;
    assert_eq!(store.refused(&attempt("b:2"), "BUSY", LEASE).await, ["0"]);
    store.stands([lock("a:1=1", LEASE)]).await;
    store.refused(&acquire("c:3", 1), "BUSY", LEASE).await;
    store.expire().await;
    assert_eq!(store.refused(&attempt("b:2"), "BUSY", PLACE).await, ["0"]);
    // A waiter's last attempt is one of these.
    store.granted(&attempt("c:3")).await;
    store.stands([lock("c:3=1", LEASE)]).await;
}

#[tokio::test]
async fn re_entry_passes_the_queue_and_counts_once() {
    let store = queued(&["b:2"]).await;
    for _asked in 0..2 {
        let longer = acquire("a:1", 2).with("lease", LONGER);
        assert_eq!(store.ask(&longer).await, ["GRANTED", ""]);
        assert_eq!(store.cli.hash(LOCK).await["a:1"], "2");
    }
    store.granted(&acquire("a:1", 1)).await;
    assert_eq!(store.ask(&renew("a:1")).await, ["RENEWED", "1"]);
    assert_eq!(store.cli.hash(LOCK).await["a:1"], "2");
    assert!(within(store.cli.pttl(LOCK).await, LONGER));
    assert_eq!(store.ask(&release("a:1", 1)).await, ["RELEASED"]);
    assert!(within(store.cli.pttl(LOCK).await, LONGER));
    assert_eq!(line(&store).await, ["b:2"]);
}

#[tokio::test]
async fn a_hold_on_top_of_holds_that_are_gone_is_lost() {
    let store = queued(&["b:2"]).await;
    let before = store.keys().await;
    for call in [acquire("a:1", 3), acquire("b:2", 2)] {
        assert_eq!(store.ask(&call).await, ["LOST"]);
    }
    store.unchanged_since(&before).await;
    store.expire().await;
    assert_eq!(store.ask(&acquire("a:1", 2)).await, ["LOST"]);
}

#[tokio::test]
async fn a_waiter_that_leaves_lets_those_behind_move_up() {
    let mut store = queued(&["b:2", "c:3", "d:4"]).await;
    let deadline = async |waiter| store.score(DEADLINES, waiter).await.unwrap();
    let (first, last) = (deadline("b:2").await, deadline("d:4").await);
    for _asked in 0..2 {
        assert_eq!(store.ask(&leave("c:3")).await, ["GONE"]);
        assert_eq!(line(&store).await, ["b:2", "d:4"]);
        assert_eq!(store.score(DEADLINES, "b:2").await, Some(first));
        assert_eq!(store.score(DEADLINES, "d:4").await, Some(last));
    }
    assert!(turns(&mut store).await.is_empty(), "the lock is held");
    for waiter in ["b:2", "d:4"] {
        assert_eq!(store.ask(&leave(waiter)).await, ["GONE"]);
    }
    store.stands([lock("a:1=1", LEASE)]).await;
}

#[tokio::test]
async fn a_head_that_leaves_a_free_lock_passes_its_turn_on() {
    let mut store = queued(&["b:2", "c:3"]).await;
    assert_eq!(store.ask(&release("a:1", 0)).await, ["FREED"]);
    assert_eq!(turns(&mut store).await, ["b:2"]);
    assert_eq!(store.ask(&leave("b:2")).await, ["GONE"]);
    assert_eq!(turns(&mut store).await, ["c:3"]);
    store.granted(&acquire("c:3", 1)).await;
}

#[tokio::test]
async fn waiters_that_leave_together_wake_the_next_once() {
    let mut store = queued(&["b:2", "c:3", "d:4", "e:5"]).await;
    for _asked in 0..2 {
        assert_eq!(store.ask(&leave_together(&["d:4", "b:2"])).await, ["LEFT"]);
        assert_eq!(line(&store).await, ["c:3", "e:5"]);
        assert!(turns(&mut store).await.is_empty(), "the lock is held");
    }
    assert_eq!(store.ask(&release("a:1", 0)).await, ["FREED"]);
    assert_eq!(turns(&mut store).await, ["c:3"]);
    // The next one was granted the lock, and left before it knew.
    store.granted(&acquire("c:3", 1)).await;
    assert_eq!(store.ask(&leave_together(&["c:3", "x:9"])).await, ["LEFT"]);
    assert_eq!(turns(&mut store).await, ["e:5"]);
    assert_eq!(store.ask(&leave_together(&["e:5"])).await, ["LEFT"]);
    store.stands([]).await;
}

#[tokio::test]
async fn a_holder_leaves_no_place_behind() {
    let store = queued(&["b:2"]).await;
    assert_eq!(store.ask(&release("b:2", 0)).await, ["GONE"]);
    assert_eq!(line(&store).await, ["b:2"], "it did not say that it may stand there");
    assert_eq!(store.ask(&leave("a:1")).await, ["FREED"]);
    assert_eq!(line(&store).await, ["b:2"]);
}

#[tokio::test]
async fn the_dead_are_dropped_from_the_head_and_the_next_one_is_woken() {
    let mut store = queued(&["b:2", "c:3", "d:4", "e:5"]).await;
    let before = store.score(DEADLINES, "e:5").await.unwrap();
    for dead in ["b:2", "c:3"] {
        dies(&store, dead).await;
    }
    assert_eq!(store.ask(&release("a:1", 0)).await, ["FREED"]);
    assert_eq!(turns(&mut store).await, ["d:4"]);
    assert_eq!(line(&store).await, ["d:4", "e:5"]);
    assert_eq!(store.score(DEADLINES, "e:5").await, Some(before));

    dies(&store, "d:4").await;
    for place in [0, PLACE] {
        let call = acquire("f:6", 1).with("place_ms", place);
        assert_eq!(store.ask(&call).await[0], "BUSY");
        let expected: &[_] = if place == 0 { &["e:5"] } else { &[] };
        assert_eq!(turns(&mut store).await, expected, "once, by the call that dropped it");
    }
    dies(&store, "e:5").await;
    store.granted(&acquire("f:6", 1)).await;
    store.stands([lock("f:6=1", LEASE)]).await;
}

#[tokio::test]
async fn a_late_waiter_keeps_its_place_unless_it_was_missed() {
    let store = queued(&["b:2", "c:3"]).await;
    dies(&store, "b:2").await;
    assert_eq!(store.refused(&acquire("b:2", 1), "BUSY", LEASE).await, ["1"]);
    assert_eq!(line(&store).await, ["b:2", "c:3"]);
    dies(&store, "b:2").await;
    assert_eq!(store.refused(&acquire("c:3", 1), "BUSY", LEASE).await, ["1"]);
    assert_eq!(store.refused(&acquire("b:2", 1), "BUSY", LEASE).await, ["1"]);
    assert_eq!(line(&store).await, ["c:3", "b:2"]);
}

#[tokio::test]
async fn a_thousand_dead_waiters_cost_no_grant() {
    let store = Store::start().await;
    let dead = "for waiter = 1, 1500 do
        redis.call('rpush', KEYS[1], 'w:' .. waiter)
        redis.call('zadd', KEYS[2], 1, 'w:' .. waiter)
        redis.call('zadd', KEYS[3], 1, 'w:' .. waiter) end";
    store.set(&["EVAL", dead, "3", QUEUE, DEADLINES, ALIVE]).await;
    // It visits no more than about a thousand, and is called again at once.
    assert_eq!(store.ask(&acquire("a:1", 1)).await, ["BUSY", "1", "1"]);
    store.granted(&acquire("a:1", 1)).await;
    store.stands([lock("a:1=1", LEASE)]).await;
}

fn calls() -> [Call; 5] {
    [
        acquire("c:3", 1),
        acquire("c:3", 1).with("place_ms", 0),
        release("b:2", 0),
        leave("b:2"),
        leave_together(&["b:2"]),
    ]
}

#[tokio::test]
async fn something_else_under_a_name_is_no_lock() {
    for foreign in [
        &["SET", LOCK, "x"][..],
        &["HSET", LOCK, "name", "Ann"],
        &["HSET", LOCK, "mode", "read", "b:2", "1"],
        &["SET", QUEUE, "x"],
        &["RPUSH", DEADLINES, "x"],
        &["HSET", ALIVE, "x", "y"],
    ] {
        let mut store = Store::start().await;
        store.set(foreign).await;
        let before = store.keys().await;
        for call in calls() {
            let expected = match call.script {
                "fair/acquire" => "WRONG_KIND",
                "fair/leave" => "LEFT",
                _ => "GONE",
            };
            assert_eq!(store.ask(&call).await, [expected], "{call:?} on {foreign:?}");
        }
        store.unchanged_since(&before).await;
        assert!(turns(&mut store).await.is_empty());
    }
}

#[tokio::test]
async fn what_is_held_can_be_released_whatever_became_of_the_queue() {
    let store = queued(&["b:2"]).await;
    for key in [QUEUE, DEADLINES, ALIVE] {
        store.set(&["SET", key, "x"]).await;
    }
    assert_eq!(store.ask(&leave("a:1")).await, ["FREED"]);
    assert!(!store.cli.exists(LOCK).await);
}

#[tokio::test]
async fn at_the_memory_limit_what_is_held_can_be_kept_and_given_back() {
    let mut store = queued(&["b:2", "c:3", "d:4"]).await;
    assert_eq!(store.ask(&acquire("a:1", 2)).await, ["GRANTED", ""]);
    dies(&store, "b:2").await;
    store.fill().await;
    assert_eq!(store.ask(&renew("a:1")).await, ["RENEWED", "1"]);
    assert_eq!(store.ask(&release("a:1", 1)).await, ["RELEASED"]);
    assert_eq!(store.ask(&leave_together(&["c:3", "x:9"])).await, ["LEFT"]);
    assert_eq!(store.ask(&release("a:1", 0)).await, ["FREED"]);
    assert_eq!(turns(&mut store).await, ["d:4"]);
    assert_eq!(line(&store).await, ["d:4"]);
    let before = store.keys().await;
    let refused = store.try_ask(&acquire("e:5", 1)).await.unwrap_err();
    assert!(is_at_the_memory_limit(&refused), "{refused}");
    store.unchanged_since(&before).await;
}
