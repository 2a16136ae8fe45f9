//! native/request_release: every reply, and the keys in Redis after it.

use crate::scripts::native::Shown;
use crate::scripts::native::call::{acquire, permits, read, release_requested, request_release};
use crate::scripts::native::standing::{WAITED_MS, line, places, stopped, text, waiting};
use crate::scripts::support::call::{HOUR, LEASE, LONGER};
use crate::scripts::support::keys::{ASKED, Key, LOCK};

pub(crate) const SHOWN: Shown = &[
    ("{ASKED, nonce, number of holders that are requested}", each_holder_is_requested_to_release),
    ("{WRONG_KIND, nonce}", what_is_no_lock_is_not_requested),
    ("{INVALID, nonce}", invalid_arguments_change_nothing),
];

fn requested(owners: &str, ttl: i64) -> Key {
    Key::new(ASKED, format!("set {owners}"), ttl)
}

#[tokio::test]
async fn each_holder_is_requested_to_release() {
    let message = || (ASKED.to_owned(), "1".to_owned());
    let mut store = stopped().await;
    store.replies(&request_release(), "ASKED 0").await;
    store.has([]).await;
    assert!(store.reported_where().await.is_empty());
    // It remains for as long as the longest lease at least, and none loses the lock.
    let mut store = waiting(&[acquire("a:1")], &[acquire("b:2")]).await;
    let held = text("lt1ewa:1 0 1 10m", LEASE + WAITED_MS);
    for (ttl, left) in [(1_000, LEASE), (HOUR, HOUR), (1_000, HOUR)] {
        store.replies(&request_release().with("ttl", ttl), "ASKED 1").await;
        let keys = [held.clone(), line("w:b:2"), places("w:b:2@5m"), requested("a:1", left)];
        store.has(keys).await;
        assert_eq!(store.reported_where().await, [message()]);
    }
    // One that holds it no more is not requested any more.
    store.put("lt1ewc:3 0 1", LONGER).await;
    store.replies(&request_release(), "ASKED 1").await;
    let held = text("lt1ewc:3 0 1 30m", LONGER + WAITED_MS);
    store.has([held, line("w:b:2"), places("w:b:2@5m"), requested("c:3", HOUR)]).await;
    for holders in [[read("a:1"), read("b:2")], [permits("a:1", 2, 3), permits("b:2", 1, 3)]] {
        let mut store = waiting(&holders, &[]).await;
        let before = store.keys().await;
        store.replies(&request_release().with("ttl", 1), "ASKED 2").await;
        let mut requests: Vec<String> = store.cli.query(&["SMEMBERS", ASKED]).await;
        requests.sort();
        assert_eq!(requests, ["a:1", "b:2"]);
        assert_eq!(store.reported_where().await, [message()]);
        store.set(&["DEL", ASKED]).await;
        store.unchanged_since(&before).await;
    }
}

#[tokio::test]
async fn only_the_expected_holder_is_requested() {
    let mut store = waiting(&[acquire("a:1")], &[acquire("b:2")]).await;
    let before = store.keys().await;
    for another in ["b:2", "a:11", "c:3"] {
        store.replies(&request_release().with("holder", another), "ASKED 0").await;
    }
    store.unchanged_since(&before).await;
    assert!(store.reported_where().await.is_empty());
    store.replies(&request_release().with("holder", "a:1"), "ASKED 1").await;
    assert_eq!(store.ask(&release_requested("a:1")).await, ["ASKED", "1"]);
}

#[tokio::test]
async fn what_is_no_lock_is_not_requested() {
    let mut store = stopped().await;
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
        store.replies(&request_release(), "WRONG_KIND").await;
        store.unchanged_since(&before).await;
    }
    // The requests' name holds something else.
    store.set(&["DEL", LOCK]).await;
    assert_eq!(store.ask(&acquire("a:1")).await[0], "GRANTED");
    store.set(&["SET", ASKED, "foreign"]).await;
    let before = store.keys().await;
    store.replies(&request_release(), "WRONG_KIND").await;
    store.unchanged_since(&before).await;
    assert!(store.reported_where().await.is_empty());
}

#[tokio::test]
async fn invalid_arguments_change_nothing() {
    let mut store = waiting(&[acquire("a:1")], &[]).await;
    for ttl in ["0", "-1", "x", "31536000001"] {
        store.replies(&request_release().with("ttl", ttl), "INVALID").await;
    }
    store.has([text("lt1ewa:1", LEASE)]).await;
    assert!(store.reported_where().await.is_empty());
}
