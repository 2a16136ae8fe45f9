//! native/acquire: every reply, and the keys in Redis after it.

use crate::scripts::native::Shown;
use crate::scripts::native::call::{acquire, permits, read, release, write};
use crate::scripts::native::standing::{
    TOKEN, WAITED_MS, line, places, set, stopped, text, waiting, woken,
};
use crate::scripts::support::call::{LEASE, LONGER, PLACE_MS};
use crate::scripts::support::keys::{COUNTER, LOCK};

pub(crate) const SHOWN: Shown = &[
    ("'GRANTED nonce token'", a_free_lock_is_granted_with_a_token),
    ("(no token on re-entry and for a permit)", re_entry_and_permits_have_no_token),
    ("'BUSY nonce left stands'", a_refused_caller_takes_a_place_in_line),
    ("(ms until it may be free without a message", what_is_left_is_that_of_what_is_in_the_way),
    ("-1: not known", what_is_left_may_not_be_known),
    ("1: the caller has a place)", a_caller_without_a_place_leaves_nothing),
    (
        "'YIELD nonce left stands' others read, and a writer is ahead",
        a_reader_yields_to_a_writer_that_came_before,
    ),
    ("'LOST nonce' the owner's earlier holds are gone", a_hold_on_top_of_none_is_lost),
    ("'WRONG_KIND nonce'", another_kind_and_a_foreign_counter_grant_nothing),
    ("'INVALID nonce'", invalid_arguments_change_nothing),
];

#[tokio::test]
async fn a_free_lock_is_granted_with_a_token() {
    let mut store = stopped().await;
    for (kind, mode) in ["e", "n", "f", "t", "r", "q"]
        .map(|kind| (kind, "write"))
        .into_iter()
        .chain([("r", "read"), ("q", "read")])
    {
        store.set(&["FLUSHALL"]).await;
        let call = acquire("a:1").with("kind", kind).with("mode", mode);
        let value = format!("lt1{kind}{}a:1", &mode[..1]);
        // Repeated, it is granted once more, with a token of its own.
        for token in [TOKEN, TOKEN + 1] {
            store.replies(&call, &format!("GRANTED {token}")).await;
            store.has([text(&value, LEASE)]).await;
            assert_eq!(store.counter().await, token);
        }
    }
    // `a:1` reads: so may others, each with its own lease.
    store.replies(&read("b:2").with("kind", "q"), &format!("GRANTED {}", TOKEN + 2)).await;
    store.has([set("#kind:q=0 a:1@10m b:2@10m", LEASE)]).await;
    assert!(store.reported_where().await.is_empty());
}

#[tokio::test]
async fn re_entry_and_permits_have_no_token() {
    let store = stopped().await;
    store.replies(&acquire("a:1"), &format!("GRANTED {TOKEN}")).await;
    for _call in 0..2 {
        let longer = acquire("a:1").with("holds", 2).with("lease", LONGER);
        store.replies(&longer, "GRANTED ").await;
        store.has([text("lt1ewa:1 0 2 30m", LONGER)]).await;
    }
    store.set(&["DEL", LOCK]).await;
    store.replies(&write("a:1"), &format!("GRANTED {}", TOKEN + 1)).await;
    store.replies(&read("a:1"), "GRANTED ").await;
    store.has([text("lt1rwa:1 1 1 10m", LEASE)]).await;

    store.set(&["DEL", LOCK]).await;
    store.replies(&permits("a:1", 1, 4), "GRANTED ").await;
    store.replies(&permits("b:2", 3, 4), "GRANTED ").await;
    store.has([set("#kind:s=0 #b:2=3 a:1@10m b:2@10m", LEASE)]).await;
    assert_eq!(store.counter().await, TOKEN + 1);
}

#[tokio::test]
async fn a_refused_caller_takes_a_place_in_line() {
    let mut store = waiting(&[acquire("a:1")], &[]).await;
    for _call in 0..2 {
        assert_eq!(store.refused(&acquire("b:2"), "BUSY", LEASE).await, ["1"]);
        let value = text("lt1ewa:1 0 1 10m", LEASE + WAITED_MS);
        store.has([value, line("w:b:2"), places("w:b:2@5m")]).await;
    }
    assert_eq!(store.refused(&acquire("c:3"), "BUSY", LEASE).await, ["1"]);
    let value = text("lt1ewa:1 0 1 10m", LEASE + WAITED_MS);
    store.has([value, line("w:b:2 w:c:3"), places("w:b:2@5m w:c:3@5m")]).await;
    assert_eq!(store.counter().await, TOKEN);
    assert!(store.reported_where().await.is_empty());
}

#[tokio::test]
async fn what_is_left_is_that_of_what_is_in_the_way() {
    // The lease of the holder.
    let mut store = stopped().await;
    store.put("lt1ewa:1 0 2", LEASE).await;
    store.replies(&acquire("b:2"), "BUSY 600000 1").await;
    // A reservation; and when it is over, that of the next.
    assert_eq!(store.ask(&acquire("c:3")).await[0], "BUSY");
    store.replies(&release("ew", "a:1"), "DONE RESERVED").await;
    store.replies(&acquire("c:3"), "BUSY 50 1").await;
    store.replies(&acquire("d:4"), "BUSY 100 1").await;
    let reserved = text("lt1e-", PLACE_MS);
    store.has([reserved, line("w:b:2 w:c:3 w:d:4"), places("w:b:2@50ms w:c:3@5m w:d:4@5m")]).await;
    assert_eq!(store.reported_where().await, [woken("b:2")]);
    store.pass(51);
    store.replies(&acquire("d:4"), "BUSY 299949 1").await;
    let reserved = text("lt1e-", PLACE_MS);
    store.has([reserved, line("w:c:3 w:d:4"), places("w:c:3@50ms w:d:4@5m")]).await;
    assert_eq!(store.reported_where().await, [woken("c:3")]);
    // The first lease of a permit.
    let store =
        waiting(&[permits("a:1", 1, 2).with("lease", LONGER), permits("b:2", 1, 2)], &[]).await;
    store.replies(&permits("c:3", 1, 2), "BUSY 600000 1").await;
    let waits = places("*w:c:3=-2097153 w:c:3@5m");
    store.has([set("#kind:s=0 b:2@10m a:1@30m", LONGER + WAITED_MS), line("w:c:3"), waits]).await;
    // Another library's TTL, but the first waiter polls.
    let store = stopped().await;
    store.set(&["SET", LOCK, "foreign", "PX", &LEASE.to_string()]).await;
    store.replies(&acquire("a:1").with("beside", 1), "BUSY 50 1").await;
    let second = acquire("b:2").with("beside", 1);
    assert_eq!(store.refused(&second, "BUSY", LEASE).await, ["1"]);
    let waits = places("#native@-0ms w:a:1@5m w:b:2@5m");
    store.has([text("foreign", LEASE), line("w:a:1 w:b:2"), waits]).await;
}

#[tokio::test]
async fn what_is_left_may_not_be_known() {
    // No permit is out, and there are too few.
    let store = stopped().await;
    store.replies(&permits("a:1", 2, 1), "BUSY -1 1").await;
    let waits = places("*w:a:1=-1048578 w:a:1@5m");
    store.has([text("lt1s-", PLACE_MS), line("w:a:1"), waits]).await;
    // A lock of Redisson's wire without a TTL.
    let store = stopped().await;
    store.set(&["HSET", LOCK, "j:1", "1"]).await;
    store.replies(&acquire("a:1"), "BUSY -1 1").await;
    assert_eq!(store.cli.hash(LOCK).await.len(), 1);
    assert_eq!(store.cli.pttl(LOCK).await, -1);
}

#[tokio::test]
async fn a_caller_without_a_place_leaves_nothing() {
    let store = stopped().await;
    store.put("lt1ewa:1 0 2", LEASE).await;
    let before = store.keys().await;
    let without = acquire("b:2").with("place", 0);
    store.replies(&without, "BUSY 600000 0").await;
    store.unchanged_since(&before).await;
    // It keeps one that it has.
    store.replies(&acquire("b:2"), "BUSY 600000 1").await;
    let before = store.keys().await;
    store.replies(&without, "BUSY 600000 0").await;
    store.unchanged_since(&before).await;
}

#[tokio::test]
async fn a_reader_yields_to_a_writer_that_came_before() {
    let mut store = waiting(&[read("a:1")], &[write("b:2")]).await;
    let yields = read("c:3").with("yields", 1);
    store.replies(&yields, "YIELD 300000 1").await;
    let value = text("lt1rra:1 1 0 10m", LEASE + WAITED_MS);
    let line = line("w:b:2 r:c:3");
    store.has([value, line.clone(), places("r:c:3@5m w:b:2@5m")]).await;
    assert_eq!(store.counter().await, TOKEN);
    // One that does not yield enters, and leaves the line.
    store.replies(&read("d:4"), &format!("GRANTED {}", TOKEN + 1)).await;
    let readers = set("#kind:r=0 a:1@10m d:4@10m", LEASE + WAITED_MS);
    store.has([readers.clone(), line.clone(), places("r:c:3@5m w:b:2@5m")]).await;
    store.replies(&yields.with("place", 0), "YIELD 300000 0").await;
    store.has([readers, line, places("r:c:3@5m w:b:2@5m")]).await;
    assert!(store.reported_where().await.is_empty());
}

#[tokio::test]
async fn a_hold_on_top_of_none_is_lost() {
    let store = stopped().await;
    let second = acquire("a:1").with("holds", 2);
    store.replies(&second, "LOST").await;
    store.has([]).await;
    store.replies(&acquire("a:1"), &format!("GRANTED {TOKEN}")).await;
    store.replies(&acquire("a:1").with("holds", 3), "LOST").await;
    store.has([text("lt1ewa:1", LEASE)]).await;
    store.replies(&acquire("b:2").with("holds", 2), "LOST").await;
    store.has([text("lt1ewa:1", LEASE)]).await;
    // It has reads, and no writes.
    store.set(&["DEL", LOCK]).await;
    store.replies(&read("a:1"), &format!("GRANTED {}", TOKEN + 1)).await;
    store.replies(&write("a:1").with("holds", 2), "LOST").await;
    store.has([text("lt1rra:1", LEASE)]).await;
    // Another library has taken it.
    store.set(&["SET", LOCK, "foreign", "PX", &LEASE.to_string()]).await;
    store.replies(&second.with("beside", 1), "LOST").await;
    store.has([text("foreign", LEASE)]).await;
}

#[tokio::test]
async fn another_kind_and_a_foreign_counter_grant_nothing() {
    let store = waiting(&[acquire("b:2")], &[]).await;
    for other in ["n", "f", "t", "r", "q", "s"] {
        for holds in [1, 2] {
            let call = acquire("a:1").with("kind", other).with("total", 2).with("holds", holds);
            store.replies(&call, "WRONG_KIND").await;
        }
    }
    store.has([text("lt1ewb:2", LEASE)]).await;
    for foreign in [&["SET", COUNTER, "x"][..], &["RPUSH", COUNTER, "1"]] {
        store.set(&["FLUSHALL"]).await;
        store.set(foreign).await;
        let before = store.keys().await;
        store.replies(&acquire("a:1"), "WRONG_KIND").await;
        store.unchanged_since(&before).await;
    }
}

#[tokio::test]
async fn invalid_arguments_change_nothing() {
    let store = stopped().await;
    for (name, value) in [("mode", "both"), ("mode", ""), ("owner", ""), ("lease", "0")] {
        store.replies(&acquire("a:1").with(name, value), "INVALID").await;
    }
    store.has([]).await;
}
