//! native/force_release: every reply, and the keys in Redis after it.

use crate::scripts::native::Shown;
use crate::scripts::native::call::{acquire, force_release, permits, read, write};
use crate::scripts::native::standing::{TOKEN, line, places, set, stopped, text, waiting, woken};
use crate::scripts::support::call::{LEASE, PLACE_MS};
use crate::scripts::support::keys::{COUNTER, LOCK};

pub(crate) const SHOWN: Shown = &[
    ("{FREED, nonce, new token", holders_lose_it_and_the_next_waiter_is_woken),
    ("('' for a semaphore)}", a_semaphore_gets_all_permits_back_without_a_token),
    ("{GONE, nonce, new token ('' for a semaphore)} it had no holder", a_lock_without_a_holder),
    (
        "{GONE, nonce, ''} the owner does not hold it, and nothing is deleted",
        only_the_expected_holder_loses_it,
    ),
    ("{WRONG_KIND, nonce}", what_is_no_lock_stays),
    ("{INVALID, nonce} and nothing is deleted", invalid_arguments_change_nothing),
];

#[tokio::test]
async fn holders_lose_it_and_the_next_waiter_is_woken() {
    let mut store = waiting(&[acquire("a:1")], &[acquire("b:2"), acquire("c:3")]).await;
    store.replies(&force_release(), &format!("FREED {}", TOKEN + 1)).await;
    let waits = places("w:b:2@50ms w:c:3@5m");
    store.has([text("lt1e-", PLACE_MS), line("w:b:2 w:c:3"), waits]).await;
    assert_eq!(store.reported_where().await, [woken("b:2")]);
    assert_eq!(store.counter().await, TOKEN + 1);
    // Of several readers; the caller knows a later token.
    let store = waiting(&[read("a:1"), read("b:2")], &[]).await;
    let floor = TOKEN + 10;
    let reply = format!("FREED {}", floor + 1);
    store.replies(&force_release().with("floor", floor), &reply).await;
    store.has([]).await;
    assert_eq!(store.counter().await, floor + 1);
    // Another library's, where that is meant.
    let store = stopped().await;
    store.set(&["SET", LOCK, "foreign", "PX", &LEASE.to_string()]).await;
    store.replies(&force_release().with("beside", 1), &format!("FREED {TOKEN}")).await;
    store.has([]).await;
}

#[tokio::test]
async fn only_the_expected_holder_loses_it() {
    for (holders, owner, another) in [
        (vec![acquire("a:1")], "a:1", "a:11"),
        (vec![read("a:1"), read("b:2")], "b:2", "c:3"),
        (vec![permits("a:1", 1, 2)], "a:1", "b:2"),
    ] {
        let mut store = waiting(&holders, &[]).await;
        let before = store.keys().await;
        store.replies(&force_release().with("holder", another), "GONE ").await;
        store.unchanged_since(&before).await;
        assert!(store.reported_where().await.is_empty());
        assert_eq!(store.ask(&force_release().with("holder", owner)).await[0], "FREED");
        assert!(!store.cli.exists(LOCK).await);
    }
}

#[tokio::test]
async fn a_semaphore_gets_all_permits_back_without_a_token() {
    let waiters = [permits("c:3", 1, 2), permits("d:4", 2, 2)];
    let mut store = waiting(&[permits("a:1", 1, 2), permits("b:2", 1, 2)], &waiters).await;
    store.replies(&force_release(), "FREED ").await;
    let waits = places("*w:d:4=-2097154 *w:c:3=-2097153 w:c:3@50ms w:d:4@5m");
    store.has([text("lt1s-", PLACE_MS), line("w:c:3 w:d:4"), waits]).await;
    assert_eq!(store.reported_where().await, [woken("c:3")]);
    assert!(!store.cli.exists(COUNTER).await);
}

#[tokio::test]
async fn a_lock_without_a_holder() {
    let mut store = stopped().await;
    store.replies(&force_release(), &format!("GONE {TOKEN}")).await;
    store.has([]).await;
    assert_eq!(store.counter().await, TOKEN);
    // A semaphore that has waiters alone.
    let waited = waiting(&[], &[permits("c:3", 2, 1)]).await;
    waited.replies(&force_release(), "GONE ").await;
    let waits = places("*w:c:3=-1048578 w:c:3@5m");
    waited.has([text("lt1s-", PLACE_MS), line("w:c:3"), waits]).await;
    // Its lease has ended, and the next is woken.
    store.put("lt1rwa:1 0 1", LEASE).await;
    for waiter in [read("b:2"), write("c:3")] {
        assert_eq!(store.ask(&waiter).await[0], "BUSY");
    }
    store.put("lt1rwa:1 0 1", 0).await;
    store.replies(&force_release(), &format!("GONE {}", TOKEN + 1)).await;
    let waits = places("r:b:2@50ms w:c:3@5m");
    store.has([text("lt1r-", PLACE_MS), line("r:b:2 w:c:3"), waits]).await;
    assert_eq!(store.reported_where().await, [woken("b:2")]);
}

#[tokio::test]
async fn what_is_no_lock_stays() {
    let store = stopped().await;
    for foreign in [
        &["SET", LOCK, "foreign"][..],
        &["SET", LOCK, "foreign", "PX", "600000"],
        &["HSET", LOCK, "a:1", "1"],
        &["ZADD", LOCK, "1", "x"],
        &["RPUSH", LOCK, "x"],
    ] {
        store.set(&["DEL", LOCK]).await;
        store.set(foreign).await;
        let before = store.keys().await;
        store.replies(&force_release(), "WRONG_KIND").await;
        store.unchanged_since(&before).await;
    }
    // The counter's name holds something else.
    for foreign in [&["SET", COUNTER, "x"][..], &["RPUSH", COUNTER, "1"]] {
        store.set(&["FLUSHALL"]).await;
        assert_eq!(store.ask(&acquire("a:1")).await[0], "GRANTED");
        store.set(&["DEL", COUNTER]).await;
        store.set(foreign).await;
        let before = store.keys().await;
        store.replies(&force_release(), "WRONG_KIND").await;
        store.unchanged_since(&before).await;
    }
}

#[tokio::test]
async fn invalid_arguments_change_nothing() {
    let store = stopped().await;
    store.put_set("r", &["a:1", "b:2"]).await;
    assert_eq!(store.ask(&write("c:3")).await[0], "BUSY");
    let before = store.keys().await;
    for floor in ["-1", "x", "1.5", "9007199254740992"] {
        store.replies(&force_release().with("floor", floor), "INVALID").await;
    }
    store.unchanged_since(&before).await;
    // Nor is what has ended.
    store.pass(LEASE);
    store.replies(&force_release().with("floor", ""), "INVALID").await;
    let ended = set("#kind:r=0 a:1@0ms b:2@0ms", LEASE + 50);
    store.has([ended, line("w:c:3"), places("w:c:3@-300000ms")]).await;
}
