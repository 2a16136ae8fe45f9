//! native/inspect: every reply, and the keys in Redis after it.

use crate::scripts::native::Shown;
use crate::scripts::native::call::{LINE, PLACES, acquire, inspect, permits, read, write};
use crate::scripts::native::standing::{TOKEN, stopped, waiting};
use crate::scripts::support::call::{LEASE, LONGER, PLACE_MS};
use crate::scripts::support::keys::{COUNTER, LOCK, within};
use crate::scripts::support::store::{STOPPED_MS, Store};

pub(crate) const SHOWN: Shown = &[
    ("{STATE, nonce, kind, mode, ms left", a_held_lock_with_its_waiters),
    ("(-2: free), ''", a_reserved_lock_is_free),
    ("token ('': none)", the_counter_has_the_token),
    ("1 if all are listed", a_thousand_holders_or_waiters_are_listed),
    ("holders, waiters}", waiters_are_listed_where_that_is_requested),
    ("{WRONG_KIND, nonce}", what_is_no_lock_has_no_state),
    ("kind '' when there are neither holders nor waiters", each_kind_has_its_name),
    (
        ", and when the value has none: another library's, or waiters beside no value",
        without_a_value_of_ours_there_is_no_kind,
    ),
    ("mode '' (free), read or write", each_mode_has_its_name),
    (
        "holders {owner, reads, writes, ms left} of those whose time is not over",
        holders_have_their_own_time,
    ),
    ("of another library's its text", another_librarys_text_is_a_holder),
    (
        "waiters {owner, mode} in order, of those whose place is not over",
        waiters_are_listed_in_order_until_their_place_is_over,
    ),
];

/// Asserts what the script shows, and that it changes nothing.
async fn shows(store: &Store, expected: &str) {
    let before = store.keys().await;
    store.replies(&inspect(), expected).await;
    store.unchanged_since(&before).await;
}

#[tokio::test]
async fn a_held_lock_with_its_waiters() {
    let store = stopped().await;
    store.put("lt1ewa:1 0 2", LEASE).await;
    assert_eq!(store.ask(&acquire("b:2")).await[0], "BUSY");
    shows(&store, "STATE reentrant write 600000   1 [[a:1 0 2 600000]] [[b:2 write]]").await;
}

#[tokio::test]
async fn a_reserved_lock_is_free() {
    let store = waiting(&[acquire("a:1")], &[acquire("b:2"), acquire("c:3")]).await;
    store.put_free("e").await;
    shows(&store, &format!("STATE reentrant  -2  {TOKEN} 1 [] [[b:2 write] [c:3 write]]")).await;
    let store = stopped().await;
    shows(&store, "STATE   -2   1 [] []").await;
}

#[tokio::test]
async fn the_counter_has_the_token() {
    let store = stopped().await;
    store.put_set("r", &["a:1", "b:2"]).await;
    store.set(&["SET", COUNTER, "7"]).await;
    let state = |token: &str| {
        format!("STATE read_write read 600000  {token} 1 [[a:1 1 0 600000] [b:2 1 0 600000]] []")
    };
    shows(&store, &state("7")).await;
    for foreign in [&["SET", COUNTER, "x"][..], &["RPUSH", COUNTER, "1"]] {
        store.set(&["DEL", COUNTER]).await;
        shows(&store, &state("")).await;
        store.set(foreign).await;
        shows(&store, &state("")).await;
    }
    // A semaphore has none.
    let store = waiting(&[permits("a:1", 2, 2)], &[]).await;
    store.set(&["SET", COUNTER, "7"]).await;
    shows(&store, "STATE semaphore write 600000   1 [[a:1 0 2 600000]] []").await;
}

/// Adds this number of owners with this time, each as `<beginning><number>`.
const ADD: &str = "
for number = 1, ARGV[1] do redis.call('zadd', KEYS[1], ARGV[2], ARGV[3] .. number) end
redis.call('pexpire', KEYS[1], 600000)";

async fn add(store: &Store, key: &str, count: u32, score: i64, beginning: &str) {
    let words = ["EVAL", ADD, "1", key, &count.to_string(), &score.to_string(), beginning];
    store.set(&words).await;
}

/// The mark of a whole list, and the numbers of holders and waiters.
async fn listed(store: &Store) -> (String, usize, usize) {
    let reply = store.ask(&inspect()).await;
    let [.., complete, holders, waiters] = reply.as_slice() else { panic!("{reply:?}") };
    let count = |list: &str| list.matches(":").count();
    (complete.clone(), count(holders), count(waiters))
}

#[tokio::test]
async fn a_thousand_holders_or_waiters_are_listed() {
    for (count, complete) in [(1_024, "1"), (1_025, "0")] {
        let store = stopped().await;
        store.set(&["ZADD", LOCK, "0", "#kind:r"]).await;
        add(&store, LOCK, count, STOPPED_MS + LEASE, "r:").await;
        assert_eq!(listed(&store).await, (complete.to_owned(), 1_024, 0));
    }
    for (count, complete) in [(1_024, "1"), (1_025, "0")] {
        let store = waiting(&[write("a:1")], &[]).await;
        // Places begin with their mode.
        add(&store, LINE, count, 1, "r:r").await;
        add(&store, PLACES, count, STOPPED_MS + PLACE_MS, "r:r").await;
        let (all, holders, waiters) = listed(&store).await;
        assert_eq!((all.as_str(), holders), (complete, 1));
        assert_eq!(waiters, 0, "their owners have no colon");
        let reply = store.ask(&inspect()).await;
        assert_eq!(reply[8].matches(" read]").count(), 1_024);
    }
}

#[tokio::test]
async fn waiters_are_listed_where_that_is_requested() {
    let store = waiting(&[write("a:1")], &[read("b:2")]).await;
    let reply = store.ask(&inspect()).await;
    assert_eq!(reply[7..][1..], ["[[b:2 read]]"]);
    let reply = store.ask(&inspect().with("waiters", 0)).await;
    assert_eq!(reply[6], "1");
    assert!(reply[7].starts_with("[[a:1 0 1 "), "{reply:?}");
    assert_eq!(reply[8], "[]");
}

#[tokio::test]
async fn what_is_no_lock_has_no_state() {
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
        shows(&store, "WRONG_KIND").await;
    }
    // Also beside other libraries a text without a TTL is not a lock.
    store.set(&["DEL", LOCK]).await;
    store.set(&["SET", LOCK, "foreign"]).await;
    store.replies(&inspect().with("beside", 1), "WRONG_KIND").await;
}

#[tokio::test]
async fn each_kind_has_its_name() {
    let store = stopped().await;
    shows(&store, "STATE   -2   1 [] []").await;
    for (kind, name) in [
        ("e", "reentrant"),
        ("n", "non_reentrant"),
        ("f", "fair"),
        ("t", "fenced"),
        ("r", "read_write"),
        ("q", "fair_read_write"),
    ] {
        store.put(&format!("lt1{kind}wa:1 0 2"), LEASE).await;
        shows(&store, &format!("STATE {name} write 600000   1 [[a:1 0 2 600000]] []")).await;
    }
    let store = waiting(&[permits("a:1", 1, 1)], &[]).await;
    shows(&store, "STATE semaphore write 600000   1 [[a:1 0 1 600000]] []").await;
    // Its lease has ended.
    store.put("lt1ewa:1 0 2", 0).await;
    shows(&store, "STATE   -2   1 [] []").await;
}

#[tokio::test]
async fn without_a_value_of_ours_there_is_no_kind() {
    let store = waiting(&[], &[permits("b:2", 2, 1)]).await;
    store.set(&["DEL", LOCK]).await;
    shows(&store, "STATE   -2   1 [] [[b:2 write]]").await;
    store.set(&["SET", LOCK, "foreign", "PX", &LEASE.to_string()]).await;
    let reply = store.ask(&inspect().with("beside", 1)).await;
    assert_eq!(reply[1..3], ["", "write"], "{reply:?}");
}

#[tokio::test]
async fn each_mode_has_its_name() {
    let store = stopped().await;
    for (value, state) in [
        ("lt1rra:1 2 0", "read 600000   1 [[a:1 2 0 600000]]"),
        ("lt1rwa:1 2 1", "write 600000   1 [[a:1 2 1 600000]]"),
    ] {
        store.put(value, LEASE).await;
        shows(&store, &format!("STATE read_write {state} []")).await;
    }
    store.put("lt1rwa:1 0 1", LEASE).await;
    assert_eq!(store.ask(&read("b:2")).await[0], "BUSY");
    store.put("lt1rwa:1 0 1", 0).await;
    shows(&store, "STATE read_write  -2   1 [] [[b:2 read]]").await;
}

#[tokio::test]
async fn holders_have_their_own_time() {
    let longer = read("b:2").with("lease", LONGER);
    let store = waiting(&[read("a:1"), read("a:1").with("holds", 2), longer], &[]).await;
    let token = TOKEN + 1;
    let both = "[[a:1 2 0 600000] [b:2 1 0 1800000]]";
    shows(&store, &format!("STATE read_write read 1800000  {token} 1 {both} []")).await;
    store.pass(LEASE);
    let one = "[[b:2 1 0 1200000]]";
    store.replies(&inspect(), &format!("STATE read_write read 1200000  {token} 1 {one} []")).await;
}

#[tokio::test]
async fn another_librarys_text_is_a_holder() {
    let store = stopped().await;
    let text = format!("a\u{1}b{}", "x".repeat(200));
    store.set(&["SET", LOCK, &text, "PX", &LEASE.to_string()]).await;
    assert_eq!(store.ask(&acquire("b:2").with("beside", 1)).await[0], "BUSY");
    let reply = store.ask(&inspect().with("beside", 1)).await;
    let shown = format!("a?b{}", "x".repeat(125));
    let [status, kind, mode, left, _, token, complete, holders, waiters] = reply.as_slice() else {
        panic!("{reply:?}")
    };
    assert_eq!([status.as_str(), kind, mode, token, complete], ["STATE", "", "write", "", "1"]);
    assert!(within(left.parse().unwrap(), LEASE), "{left}");
    assert_eq!(*holders, format!("[[{shown} 0 1 {left}]]"));
    assert_eq!(waiters, "[[b:2 write]]");
}

#[tokio::test]
async fn waiters_are_listed_in_order_until_their_place_is_over() {
    let short = read("b:2").with("place", 1_000);
    let store = stopped().await;
    store.put("lt1rwa:1 0 1", LEASE).await;
    for waiter in [write("d:4"), short, read("c:3")] {
        assert_eq!(store.ask(&waiter).await[0], "BUSY");
    }
    let state = "STATE read_write write 600000   1 [[a:1 0 1 600000]]";
    shows(&store, &format!("{state} [[d:4 write] [b:2 read] [c:3 read]]")).await;
    store.pass(1_000);
    let state = "STATE read_write write 599000   1 [[a:1 0 1 599000]]";
    shows(&store, &format!("{state} [[d:4 write] [c:3 read]]")).await;
}
