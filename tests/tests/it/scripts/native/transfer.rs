//! native/transfer: every reply, and the keys in Redis after it.

use crate::scripts::native::Shown;
use crate::scripts::native::call::{acquire, permits, read, transfer, write};
use crate::scripts::native::standing::{WAITED_MS, line, places, set, stopped, text, waiting};
use crate::scripts::support::call::{Call, LEASE, LONGER};
use crate::scripts::support::keys::LOCK;

pub(crate) const SHOWN: Shown = &[
    ("{TRANSFERRED, nonce}", the_only_hold_goes_to_the_other_owner_with_its_lease),
    ("{LOST, nonce} neither owner has such a hold", a_hold_that_is_not_there_is_lost),
    ("{INVALID, nonce}", invalid_arguments_change_nothing),
];

#[tokio::test]
async fn the_only_hold_goes_to_the_other_owner_with_its_lease() {
    let longer = |call: Call| call.with("lease", LONGER);
    let waited = |value: &str, lease| {
        vec![text(value, lease + WAITED_MS), line("w:b:2"), places("w:b:2@5m")]
    };
    for (mut store, call, keys) in [
        (
            waiting(&[longer(acquire("a:1"))], &[]).await,
            transfer("e", "write", "a:1", "d:4"),
            vec![text("lt1ewd:4", LONGER)],
        ),
        (
            waiting(&[read("a:1")], &[write("b:2")]).await,
            transfer("r", "read", "a:1", "d:4"),
            waited("lt1rrd:4 1 0 10m", LEASE),
        ),
        (
            waiting(&[longer(write("a:1"))], &[write("b:2")]).await,
            transfer("r", "write", "a:1", "d:4"),
            waited("lt1rwd:4 0 1 30m", LONGER),
        ),
        (
            waiting(&[longer(read("a:1")), read("b:2")], &[]).await,
            transfer("r", "read", "a:1", "d:4"),
            vec![set("#kind:r=0 b:2@10m d:4@30m", LONGER)],
        ),
    ] {
        let counter = store.counter().await;
        // Repeated, it changes nothing.
        for _call in 0..2 {
            store.replies(&call, "TRANSFERRED").await;
            store.has(keys.clone()).await;
        }
        assert_eq!(store.counter().await, counter, "its token stays");
        assert!(store.reported_where().await.is_empty());
    }
}

#[tokio::test]
async fn a_hold_that_is_not_there_is_lost() {
    let store = stopped().await;
    let (reads, writes) =
        (transfer("r", "read", "a:1", "d:4"), transfer("r", "write", "a:1", "d:4"));
    store.replies(&reads, "LOST").await;
    store.has([]).await;
    let twice = read("a:1").with("holds", 2);
    for (holders, call) in [
        (&[read("b:2")][..], &reads),
        // The other mode.
        (&[read("a:1")], &writes),
        (&[write("a:1")], &reads),
        // More than one hold.
        (&[read("a:1"), twice], &reads),
        (&[write("a:1"), read("a:1")], &writes),
        // Another kind.
        (&[acquire("a:1")], &writes),
        (&[permits("a:1", 1, 1)], &writes),
    ] {
        let store = waiting(holders, &[]).await;
        let before = store.keys().await;
        store.replies(call, "LOST").await;
        store.unchanged_since(&before).await;
    }
    for foreign in [&["SET", LOCK, "foreign"][..], &["HSET", LOCK, "a:1", "1"]] {
        store.set(&["DEL", LOCK]).await;
        store.set(foreign).await;
        let before = store.keys().await;
        store.replies(&writes, "LOST").await;
        store.replies(&transfer("e", "write", "a:1", "d:4"), "LOST").await;
        store.unchanged_since(&before).await;
    }
}

#[tokio::test]
async fn invalid_arguments_change_nothing() {
    let store = waiting(&[acquire("a:1")], &[]).await;
    let call = transfer("e", "write", "a:1", "d:4");
    for (name, value) in [("owner", ""), ("to", ""), ("kind", "s"), ("mode", "both"), ("mode", "")]
    {
        store.replies(&call.with(name, value), "INVALID").await;
    }
    store.has([text("lt1ewa:1", LEASE)]).await;
}
