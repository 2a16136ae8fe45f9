//! native/convert: every reply, and the keys in Redis after it.

use crate::scripts::native::Shown;
use crate::scripts::native::call::{acquire, convert, read, release, write};
use crate::scripts::native::standing::{
    TOKEN, WAITED_MS, line, places, set, stopped, text, waiting, woken,
};
use crate::scripts::support::call::{LEASE, LONGER};
use crate::scripts::support::keys::{COUNTER, LOCK};

pub(crate) const SHOWN: Shown = &[
    ("{GRANTED, nonce, token} an upgrade", the_only_reader_becomes_a_writer_with_a_new_token),
    ("{RELEASED, nonce} a downgrade", a_writer_becomes_a_reader_and_lets_waiting_readers_in),
    ("{BUSY, nonce} others read too", among_others_no_reader_becomes_a_writer),
    ("{LOST, nonce} the owner has no such hold", a_hold_that_is_not_there_is_lost),
    (
        "{WRONG_KIND, nonce} the counter's name holds something else",
        a_foreign_counter_grants_no_upgrade,
    ),
    ("{INVALID, nonce}", invalid_arguments_change_nothing),
];

#[tokio::test]
async fn the_only_reader_becomes_a_writer_with_a_new_token() {
    let store = waiting(&[read("a:1")], &[]).await;
    // Repeated, it is granted once more.
    for token in [TOKEN + 1, TOKEN + 2] {
        store.replies(&convert("a:1", "write", 0, 1), &format!("GRANTED {token}")).await;
        store.has([text("lt1rwa:1", LEASE)]).await;
        assert_eq!(store.counter().await, token);
    }
    // It keeps another read, and a waiter its place.
    let store = waiting(&[read("a:1"), read("a:1").with("holds", 2)], &[write("b:2")]).await;
    let longer = convert("a:1", "write", 1, 1).with("lease", LONGER);
    store.replies(&longer, &format!("GRANTED {}", TOKEN + 1)).await;
    let value = text("lt1rwa:1 1 1 30m", LONGER + WAITED_MS);
    store.has([value, line("w:b:2"), places("w:b:2@5m")]).await;
    // The last one of several.
    let store = waiting(&[read("a:1"), read("b:2")], &[]).await;
    store.replies(&release("rr", "b:2"), "DONE HELD").await;
    store.has([set("#kind:r=0 a:1@10m", LEASE)]).await;
    store.replies(&convert("a:1", "write", 0, 1), &format!("GRANTED {}", TOKEN + 2)).await;
    store.has([text("lt1rwa:1", LEASE)]).await;
}

#[tokio::test]
async fn a_writer_becomes_a_reader_and_lets_waiting_readers_in() {
    let mut store = waiting(&[write("a:1")], &[read("b:2"), read("c:3"), write("d:4")]).await;
    // Repeated, it wakes none once more.
    for _call in 0..2 {
        store.replies(&convert("a:1", "read", 1, 0), "RELEASED").await;
        let value = text("lt1rra:1 1 0 10m", LEASE + WAITED_MS);
        let waits = places("r:b:2@50ms r:c:3@50ms w:d:4@5m");
        store.has([value, line("r:b:2 r:c:3 w:d:4"), waits]).await;
    }
    assert_eq!(store.reported_where().await, [woken("b:2"), woken("c:3")]);
    assert_eq!(store.counter().await, TOKEN);
    let store = waiting(&[write("a:1")], &[]).await;
    store.replies(&convert("a:1", "read", 1, 0), "RELEASED").await;
    store.has([text("lt1rra:1", LEASE)]).await;
}

#[tokio::test]
async fn among_others_no_reader_becomes_a_writer() {
    let store = waiting(&[read("a:1"), read("b:2")], &[]).await;
    let before = store.keys().await;
    store.replies(&convert("a:1", "write", 0, 1), "BUSY").await;
    store.unchanged_since(&before).await;
}

#[tokio::test]
async fn a_hold_that_is_not_there_is_lost() {
    let store = stopped().await;
    let (up, down) = (convert("a:1", "write", 0, 1), convert("a:1", "read", 1, 0));
    for call in [&up, &down] {
        store.replies(call, "LOST").await;
        store.has([]).await;
    }
    for holder in [read("b:2"), write("b:2"), acquire("a:1")] {
        store.set(&["FLUSHALL"]).await;
        assert_eq!(store.ask(&holder).await[0], "GRANTED");
        let before = store.keys().await;
        for call in [&up, &down] {
            store.replies(call, "LOST").await;
            store.unchanged_since(&before).await;
        }
    }
    // It has fewer.
    store.set(&["FLUSHALL"]).await;
    assert_eq!(store.ask(&read("a:1")).await[0], "GRANTED");
    let before = store.keys().await;
    for call in
        [convert("a:1", "write", 1, 1), convert("a:1", "write", 0, 2), convert("a:1", "read", 2, 0)]
    {
        store.replies(&call, "LOST").await;
        store.unchanged_since(&before).await;
    }
    for foreign in [&["SET", LOCK, "foreign"][..], &["HSET", LOCK, "a:1", "1"]] {
        store.set(&["DEL", LOCK]).await;
        store.set(foreign).await;
        store.replies(&up, "LOST").await;
        store.replies(&down, "LOST").await;
    }
}

#[tokio::test]
async fn a_foreign_counter_grants_no_upgrade() {
    let store = waiting(&[read("a:1")], &[]).await;
    for foreign in [&["SET", COUNTER, "x"][..], &["RPUSH", COUNTER, "1"]] {
        store.set(&["DEL", COUNTER]).await;
        store.set(foreign).await;
        let before = store.keys().await;
        store.replies(&convert("a:1", "write", 0, 1), "WRONG_KIND").await;
        store.unchanged_since(&before).await;
    }
}

#[tokio::test]
async fn invalid_arguments_change_nothing() {
    let store = waiting(&[read("a:1")], &[]).await;
    let before = store.keys().await;
    for (name, value) in [("lease", "0"), ("reads", "-1"), ("writes", "x"), ("owner", "")] {
        for call in [convert("a:1", "write", 0, 1), convert("a:1", "read", 1, 0)] {
            store.replies(&call.with(name, value), "INVALID").await;
        }
    }
    store.unchanged_since(&before).await;
}
