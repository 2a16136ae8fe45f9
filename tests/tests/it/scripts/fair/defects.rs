//! Defects of fair locks in the wild, one test each: what happened there is not so here.

use crate::scripts::fair::call::JavaFair::Acquire;
use crate::scripts::fair::call::{PLACE, WAIT, acquire, leave, release};
use crate::scripts::fair::steps::{dies, queued, turns};
use crate::scripts::support::call::LEASE;
use crate::scripts::support::keys::{ALIVE, DEADLINES, QUEUE, lock, within};

#[tokio::test]
async fn f1_a_dead_waiter_blocked_a_free_lock_for_minutes() {
    let mut store = queued(&["b:2", "c:3"]).await;
    dies(&store, "b:2").await;
    // Its deadline as Redisson writes it is far away.
    assert!(store.score(DEADLINES, "b:2").await.unwrap() > store.now().await + WAIT);
    assert_eq!(store.ask(&release("a:1", 0)).await, ["FREED"]);
    assert_eq!(turns(&mut store).await, ["c:3"]);
    store.granted(&acquire("c:3", 1)).await;
}

/// Only Redis' clock counts, and a time written by a skewed clock blocks no waiter for longer than
/// a place lasts. (A dead waiter of Java's still does, because it has only a deadline.)
#[tokio::test]
async fn f2_a_dead_waiter_with_a_fast_clock_blocked_the_lock() {
    let store = queued(&["b:2"]).await;
    let ahead = (store.now().await + 3_600_000).to_string();
    store.set(&["ZADD", DEADLINES, &ahead, "b:2"]).await;
    dies(&store, "b:2").await;
    store.expire().await;
    store.granted(&acquire("c:3", 1)).await;
}

#[tokio::test]
async fn f3_a_clock_that_was_ahead_drove_out_every_waiter() {
    let store = queued(&["b:2", "c:3"]).await;
    // As far as Redisson's deadlines go both are over, by whosever clock.
    for waiter in ["b:2", "c:3"] {
        store.set(&["ZADD", DEADLINES, "1", waiter]).await;
    }
    store.expire().await;
    assert_eq!(store.refused(&acquire("d:4", 1), "BUSY", PLACE).await, ["1"]);
    assert_eq!(store.cli.list(QUEUE).await, ["b:2", "c:3", "d:4"]);
    store.granted(&acquire("b:2", 1)).await;
}

#[tokio::test]
async fn f4_a_waiter_without_a_deadline_broke_the_lock_for_ever() {
    // A live one of ours keeps its place and gets its deadline back; a stranger is dropped.
    let store = queued(&["b:2"]).await;
    store.set(&["ZREM", DEADLINES, "b:2"]).await;
    assert_eq!(store.refused(&acquire("c:3", 1), "BUSY", LEASE).await, ["1"]);
    assert_eq!(store.refused(&acquire("b:2", 1), "BUSY", LEASE).await, ["1"]);
    assert_eq!(store.cli.list(QUEUE).await, ["b:2", "c:3"]);
    assert!(store.score(DEADLINES, "b:2").await.is_some());
    assert_eq!(store.ask(&leave("b:2")).await, ["GONE"]);

    let mut store = queued(&[]).await;
    assert!(Acquire.ask(&store, "j:1").await.is_some());
    store.refused(&acquire("b:2", 1), "BUSY", LEASE).await;
    store.set(&["ZREM", DEADLINES, "j:1"]).await;
    assert_eq!(store.ask(&release("a:1", 0)).await, ["FREED"]);
    assert_eq!(turns(&mut store).await, ["b:2"]);
    store.granted(&acquire("b:2", 1)).await;
    store.stands([lock("b:2=1", LEASE)]).await;
}

#[tokio::test]
async fn f5_a_queue_of_the_dead_stayed_for_ever() {
    let store = queued(&["b:2", "c:3"]).await;
    for key in [QUEUE, DEADLINES, ALIVE] {
        assert!(within(store.cli.pttl(key).await, 2 * PLACE), "{key}");
    }
}

/// A waiter of ours is not dropped while it lives. One that was gone too long takes a place again
/// with its next try, and needs no message for that.
#[tokio::test]
async fn f6_a_living_waiter_was_dropped_and_never_woken() {
    let store = queued(&["b:2", "c:3"]).await;
    store.set(&["LREM", QUEUE, "0", "b:2"]).await;
    assert_eq!(store.refused(&acquire("b:2", 1), "BUSY", LEASE).await, ["1"]);
    assert_eq!(store.cli.list(QUEUE).await, ["c:3", "b:2"]);
}

/// A head that did not receive its message is passed by when its place has ended, and others know
/// when to look.
#[tokio::test]
async fn f7_a_lost_message_cost_the_whole_lease() {
    let mut store = queued(&["b:2", "c:3"]).await;
    assert_eq!(store.ask(&release("a:1", 0)).await, ["FREED"]);
    let _lost = turns(&mut store).await;
    assert_eq!(store.refused(&acquire("c:3", 1), "BUSY", PLACE).await, ["1"]);
    dies(&store, "b:2").await;
    store.granted(&acquire("c:3", 1)).await;
}

/// Every waiter behind a dead head was sent to retry in 0 ms, and did.
#[tokio::test]
async fn a_dead_head_made_all_others_poll_without_end() {
    let store = queued(&["b:2", "c:3"]).await;
    store.expire().await;
    let left: i64 = store.ask(&acquire("c:3", 1)).await[1].parse().unwrap();
    assert!(within(left, PLACE) && left > 0, "{left}");
}

#[tokio::test]
async fn a_foreign_unlock_of_an_expired_lock_was_a_success() {
    let store = queued(&["b:2"]).await;
    store.expire().await;
    for owner in ["a:1", "x:9"] {
        assert_eq!(store.ask(&release(owner, 0)).await, ["GONE"]);
    }
}

#[tokio::test]
async fn deadlines_drifted_with_every_waiter_that_came_and_went() {
    let store = queued(&["b:2"]).await;
    for round in 0..20 {
        let waiter = format!("w:{round}");
        store.refused(&acquire(&waiter, 1), "BUSY", LEASE).await;
        store.refused(&acquire("c:3", 1), "BUSY", LEASE).await;
        assert_eq!(store.ask(&leave(&waiter)).await, ["GONE"]);
    }
    let deadline = store.score(DEADLINES, "c:3").await.unwrap() - store.now().await;
    assert!(within(deadline, LEASE + WAIT), "{deadline}");
}

/// Deadlines have a TTL as long as only ours wait; the last of ours removes it for Redisson's
/// waiters. If an eviction took the queue, no waiter would ever remove them.
#[tokio::test]
async fn f_deadlines_without_a_queue_stayed_for_ever() {
    let store = queued(&["b:2"]).await;
    store.set(&["DEL", QUEUE]).await;
    store.set(&["ZREM", ALIVE, "b:2"]).await;
    store.refused(&acquire("c:3", 1), "BUSY", LEASE).await;
    assert_eq!(store.ask(&release("a:1", 0)).await, ["FREED"]);
    store.granted(&acquire("c:3", 1)).await;
    store.stands([lock("c:3=1", LEASE)]).await;
}
