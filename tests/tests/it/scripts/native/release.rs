//! native/release: every reply, and the keys in Redis after it.

use crate::scripts::any::call::of;
use crate::scripts::native::Shown;
use crate::scripts::native::call::{LINE, acquire, batch, permits, read, release, write};
use crate::scripts::native::standing::{
    WAITED_MS, line, places, set, stopped, text, waiting, woken,
};
use crate::scripts::support::call::{LEASE, LONGER, PLACE_MS};
use crate::scripts::support::keys::LOCK;

pub(crate) const SHOWN: Shown = &[
    (
        "{DONE, nonce, for each lock one of FREED the owner was its last holder",
        the_last_hold_frees_the_lock,
    ),
    ("(of a permit: it held it)", a_permit_is_freed_among_others),
    (
        "RESERVED the same, and it is reserved for waiters; of a fair kind and of a permit it says FREED",
        the_lock_is_reserved_for_the_waiters_that_are_next,
    ),
    ("HELD the lock is still held, by the owner or others", others_or_outer_holds_keep_the_lock),
    ("GONE the holds had ended before", nothing_to_release_is_gone),
    ("or what was wrong}", what_was_wrong_spoils_only_its_own_answer),
];

#[tokio::test]
async fn the_last_hold_frees_the_lock() {
    // Without waiters nothing is left.
    for (holds, of, owner) in [
        (vec![acquire("a:1")], "ew", "a:1"),
        (vec![acquire("a:1"), acquire("a:1").with("holds", 2)], "ew", "a:1"),
        (vec![read("a:1")], "rr", "a:1"),
    ] {
        let mut store = waiting(&holds, &[]).await;
        store.replies(&release(of, owner), "DONE FREED").await;
        store.has([]).await;
        assert!(store.reported_where().await.is_empty());
    }
    // A fair kind's place is not cut down.
    let fair = ["a:1", "b:2"].map(|owner| acquire(owner).with("kind", "f"));
    let mut store = waiting(&fair[..1], &fair[1..]).await;
    store.replies(&release("fw", "a:1"), "DONE FREED").await;
    store.has([text("lt1f-", PLACE_MS), line("w:b:2"), places("w:b:2@5m")]).await;
    assert_eq!(store.reported_where().await, [woken("b:2")]);
}

#[tokio::test]
async fn the_lock_is_reserved_for_the_waiters_that_are_next() {
    // For the first, if that writes.
    let mut store = waiting(&[write("a:1")], &[write("b:2"), read("c:3")]).await;
    store.replies(&release("rw", "a:1"), "DONE RESERVED").await;
    let waits = places("w:b:2@50ms r:c:3@5m");
    store.has([text("lt1r-", PLACE_MS), line("w:b:2 r:c:3"), waits]).await;
    assert_eq!(store.reported_where().await, [woken("b:2")]);
    // For all readers before the next writer.
    let waiters = [read("b:2"), read("c:3"), write("d:4"), read("e:5")];
    let mut store = waiting(&[write("a:1")], &waiters).await;
    store.replies(&release("rw", "a:1"), "DONE RESERVED").await;
    let waits = places("r:b:2@50ms r:c:3@50ms r:e:5@5m w:d:4@5m");
    store.has([text("lt1r-", PLACE_MS), line("r:b:2 r:c:3 w:d:4 r:e:5"), waits]).await;
    assert_eq!(store.reported_where().await, [woken("b:2"), woken("c:3")]);
    // The last of several readers; and an owner that has a place in line as well.
    let mut store = waiting(&[read("a:1"), read("b:2")], &[write("c:3"), write("d:4")]).await;
    store.replies(&release("rr", "a:1"), "DONE HELD").await;
    assert!(store.reported_where().await.is_empty());
    store.replies(&release("rr", "b:2").with("queued", 1), "DONE RESERVED").await;
    let waits = places("w:c:3@50ms w:d:4@5m");
    store.has([text("lt1r-", PLACE_MS), line("w:c:3 w:d:4"), waits]).await;
    assert_eq!(store.reported_where().await, [woken("c:3")]);
}

#[tokio::test]
async fn a_permit_is_freed_among_others() {
    let holders = [permits("a:1", 2, 4), permits("b:2", 2, 4)];
    let waiters = [permits("c:3", 1, 4), permits("d:4", 2, 4)];
    let mut store = waiting(&holders, &waiters).await;
    store.replies(&release("sw", "a:1"), "DONE FREED").await;
    // As many are woken as fit.
    let waits = places("*w:d:4=-4194306 *w:c:3=-4194305 w:c:3@50ms w:d:4@5m");
    let held = set("#kind:s=0 #b:2=2 b:2@10m", LEASE + WAITED_MS);
    store.has([held.clone(), line("w:c:3 w:d:4"), waits.clone()]).await;
    assert_eq!(store.reported_where().await, [woken("c:3")]);
    store.replies(&release("sw", "a:1"), "DONE GONE").await;
    store.has([held, line("w:c:3 w:d:4"), waits]).await;
}

#[tokio::test]
async fn others_or_outer_holds_keep_the_lock() {
    // An outer hold, with its lease.
    let inner = acquire("a:1").with("holds", 2).with("lease", LONGER);
    let mut store = waiting(&[acquire("a:1"), inner], &[acquire("b:2")]).await;
    for _call in 0..2 {
        store.replies(&release("ew", "a:1").with("holds", 1), "DONE HELD").await;
        let value = text("lt1ewa:1 0 1 30m", LONGER + WAITED_MS);
        store.has([value, line("w:b:2"), places("w:b:2@5m")]).await;
    }
    assert!(store.reported_where().await.is_empty());
    // A read inside a write; and a write around a read, which lets readers in.
    let store = waiting(&[write("a:1"), read("a:1")], &[]).await;
    store.replies(&release("rr", "a:1"), "DONE HELD").await;
    store.has([text("lt1rwa:1", LEASE)]).await;
    let mut store = waiting(&[write("a:1"), read("a:1")], &[read("b:2"), write("c:3")]).await;
    store.replies(&release("rw", "a:1"), "DONE HELD").await;
    let value = text("lt1rra:1 1 0 10m", LEASE + WAITED_MS);
    store.has([value, line("r:b:2 w:c:3"), places("r:b:2@50ms w:c:3@5m")]).await;
    assert_eq!(store.reported_where().await, [woken("b:2")]);
    // Another reader.
    let store = waiting(&[read("a:1"), read("b:2")], &[]).await;
    store.replies(&release("rr", "a:1"), "DONE HELD").await;
    store.has([set("#kind:r=0 b:2@10m", LEASE)]).await;
}

#[tokio::test]
async fn nothing_to_release_is_gone() {
    let mut store = stopped().await;
    store.replies(&release("ew", "a:1"), "DONE GONE").await;
    store.has([]).await;
    for held in [acquire("b:2"), acquire("a:1").with("kind", "n"), read("a:1")] {
        store.set(&["FLUSHALL"]).await;
        assert_eq!(store.ask(&held).await[0], "GRANTED");
        let before = store.keys().await;
        for call in [release("ew", "a:1"), release("rw", "a:1")] {
            store.replies(&call, "DONE GONE").await;
            store.unchanged_since(&before).await;
        }
    }
    // It has fewer holds than are to be left.
    store.set(&["FLUSHALL"]).await;
    assert_eq!(store.ask(&acquire("a:1")).await[0], "GRANTED");
    store.replies(&release("ew", "a:1").with("holds", 2), "DONE GONE").await;
    store.has([text("lt1ewa:1", LEASE)]).await;
    // Its lease has ended, which passes the lock on.
    for waiter in [acquire("b:2"), acquire("c:3")] {
        assert_eq!(store.ask(&waiter).await[0], "BUSY");
    }
    store.put("lt1ewa:1 0 1", 0).await;
    store.replies(&release("ew", "a:1"), "DONE GONE").await;
    let waits = places("w:b:2@50ms w:c:3@5m");
    store.has([text("lt1e-", PLACE_MS), line("w:b:2 w:c:3"), waits]).await;
    assert_eq!(store.reported_where().await, [woken("b:2")]);
    // A waiter that is not granted it leaves the line, if it may have a place.
    store.put("lt1ewd:4 0 1", LEASE).await;
    let held = text("lt1ewd:4 0 1 10m", LEASE + WAITED_MS);
    store.replies(&release("ew", "b:2"), "DONE GONE").await;
    store.has([held.clone(), line("w:b:2 w:c:3"), places("w:b:2@50ms w:c:3@5m")]).await;
    store.replies(&release("ew", "b:2").with("queued", 1), "DONE GONE").await;
    store.has([held, line("w:c:3"), places("w:c:3@5m")]).await;
    // Something else under the name is none of its holds.
    for foreign in [
        &["SET", LOCK, "foreign"][..],
        &["SET", LOCK, "foreign", "PX", "600000"],
        &["HSET", LOCK, "a:1", "1"],
        &["RPUSH", LOCK, "x"],
    ] {
        store.set(&["FLUSHALL"]).await;
        store.set(foreign).await;
        let before = store.keys().await;
        store.replies(&release("ew", "a:1").with("queued", 1), "DONE GONE").await;
        store.unchanged_since(&before).await;
    }
}

#[tokio::test]
async fn what_was_wrong_spoils_only_its_own_answer() {
    let store = waiting(&[acquire("a:1"), of("x", acquire("a:2"))], &[]).await;
    let line_of_another_type = of("y", release("ew", "a:3"));
    store.set(&["SET", &LINE.replace("lock:k", "lock:y"), "foreign"]).await;
    let calls = [
        release("ew", "a:1"),
        line_of_another_type.with("queued", 1),
        release("ew", "a:1").with("value", "a:1"),
        release("ew", "a:1").with("holds", "-1"),
        of("x", release("ew", "a:2")),
    ];
    let reply = store.ask(&batch(&calls)).await;
    assert!(reply[2].contains("WRONGTYPE"), "{reply:?}");
    assert_eq!(
        (&reply[..2], &reply[3..]),
        (
            &["DONE".into(), "FREED".into()][..],
            &["INVALID".into(), "INVALID".into(), "FREED".into()][..]
        )
    );
    assert_eq!(store.cli.keys().await, ["lock_line:{lock:y}", "lock_token:lock:"]);
}
