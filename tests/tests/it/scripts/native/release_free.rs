//! native/release_free: every reply, and the keys in Redis after it.

use crate::scripts::any::call::of;
use crate::scripts::native::Shown;
use crate::scripts::native::call::{acquire, batch, read, release, release_free, write};
use crate::scripts::native::standing::{WAITED_MS, line, places, set, text, waiting};
use crate::scripts::support::call::LEASE;
use crate::scripts::support::keys::{Key, LOCK};

pub(crate) const SHOWN: Shown = &[
    (
        "'DONE value numbers' the first value, and the numbers of the locks that have another value",
        locks_with_exactly_this_value_are_freed,
    ),
    ("release must find out what is to be done", what_is_left_is_left_to_release),
];

#[tokio::test]
async fn locks_with_exactly_this_value_are_freed() {
    let mut store =
        waiting(&[acquire("a:1"), of("x", read("a:2")), of("y", acquire("b:3"))], &[]).await;
    let all = [
        release_free("lt1ewa:1"),
        of("x", release_free("lt1rra:2")),
        of("y", release_free("lt1ewa:3")),
        of("z", release_free("lt1ewa:4")),
    ];
    let other = Key { name: "lock:y".to_owned(), ..text("lt1ewb:3", LEASE) };
    store.replies(&batch(&all), "DONE 3 4").await;
    store.has([other.clone()]).await;
    store.replies(&batch(&all), "DONE 1 2 3 4").await;
    store.has([other]).await;
    store.replies(&of("y", release_free("lt1ewb:3")), "DONE").await;
    store.has([]).await;
    assert!(store.reported_where().await.is_empty());
}

#[tokio::test]
async fn what_is_left_is_left_to_release() {
    let twice = acquire("a:1").with("holds", 2);
    let waited =
        vec![text("lt1rwa:1 0 1 10m", LEASE + WAITED_MS), line("r:b:2"), places("r:b:2@5m")];
    for (store, of, answer, keys) in [
        // Re-entry.
        (
            waiting(&[acquire("a:1"), twice], &[]).await,
            "ew",
            "FREED",
            vec![text("lt1ewa:1 0 2 10m", LEASE)],
        ),
        (waiting(&[write("a:1")], &[read("b:2")]).await, "rw", "RESERVED", waited),
        // Another reader.
        (
            waiting(&[read("a:1"), read("b:2")], &[]).await,
            "rr",
            "HELD",
            vec![set("#kind:r=0 a:1@10m b:2@10m", LEASE)],
        ),
        // Nothing.
        (waiting(&[], &[]).await, "ew", "GONE", vec![]),
    ] {
        store.replies(&release_free(&format!("lt1{of}a:1")), "DONE 1").await;
        store.has(keys).await;
        store.replies(&release(of, "a:1"), &format!("DONE {answer}")).await;
    }
    let store = waiting(&[], &[]).await;
    for foreign in [&["RPUSH", LOCK, "lt1ewa:1"][..], &["HSET", LOCK, "a:1", "1"]] {
        store.set(&["DEL", LOCK]).await;
        store.set(foreign).await;
        let before = store.keys().await;
        store.replies(&release_free("lt1ewa:1"), "DONE 1").await;
        store.unchanged_since(&before).await;
    }
}
