//! native/leave: every reply, and the keys in Redis after it.

use crate::scripts::native::Shown;
use crate::scripts::native::call::{acquire, leave, permits, read, release, write};
use crate::scripts::native::standing::{
    WAITED_MS, line, places, set, stopped, text, waiting, woken,
};
use crate::scripts::support::call::{LEASE, PLACE_MS};
use crate::scripts::support::keys::LOCK;

pub(crate) const SHOWN: Shown = &[
    ("{LEFT, nonce}", waiters_leave_with_what_they_were_granted),
    ("{INVALID, nonce}", an_owner_without_a_mode_is_invalid),
];

#[tokio::test]
async fn waiters_leave_with_what_they_were_granted() {
    // A held lock: the others go on waiting.
    let waiters = ["b:2", "c:3", "d:4"].map(acquire);
    let mut store = waiting(&[acquire("a:1")], &waiters).await;
    let both = leave("e", &[("b:2", "write"), ("d:4", "write")]);
    for _call in 0..2 {
        store.replies(&both, "LEFT").await;
        let value = text("lt1ewa:1 0 1 10m", LEASE + WAITED_MS);
        store.has([value, line("w:c:3"), places("w:c:3@5m")]).await;
    }
    assert!(store.reported_where().await.is_empty());
    // The last one leaves.
    store.replies(&leave("e", &[("c:3", "write")]), "LEFT").await;
    store.has([text("lt1ewa:1", LEASE)]).await;

    // A reserved lock: the next is woken.
    let mut store = waiting(&[acquire("a:1")], &waiters).await;
    store.replies(&release("ew", "a:1"), "DONE RESERVED").await;
    store.replies(&leave("e", &[("b:2", "write")]), "LEFT").await;
    let waits = places("w:c:3@50ms w:d:4@5m");
    store.has([text("lt1e-", PLACE_MS), line("w:c:3 w:d:4"), waits.clone()]).await;
    assert_eq!(store.reported_where().await, [woken("b:2"), woken("c:3")]);

    // What was granted meanwhile is taken back.
    let mut store = waiting(&[acquire("a:1")], &waiters[1..]).await;
    store.replies(&leave("e", &[("a:1", "write")]), "LEFT").await;
    store.has([text("lt1e-", PLACE_MS), line("w:c:3 w:d:4"), waits]).await;
    assert_eq!(store.reported_where().await, [woken("c:3")]);
    let store = waiting(&[read("a:1"), read("b:2")], &[]).await;
    store.replies(&leave("r", &[("a:1", "read"), ("c:3", "read")]), "LEFT").await;
    store.has([set("#kind:r=0 b:2@10m", LEASE)]).await;
    let store = waiting(&[permits("a:1", 2, 2)], &[]).await;
    store.replies(&leave("s", &[("a:1", "write")]), "LEFT").await;
    store.has([]).await;
    // The other mode of the same owner stays.
    let store = waiting(&[write("a:1"), read("a:1")], &[]).await;
    store.replies(&leave("r", &[("a:1", "read")]), "LEFT").await;
    store.has([text("lt1rwa:1", LEASE)]).await;

    // Nothing of it is there.
    let mut store = stopped().await;
    store.replies(&both, "LEFT").await;
    store.has([]).await;
    for other in [&["SET", LOCK, "foreign"][..], &["HSET", LOCK, "x", "y"], &["RPUSH", LOCK, "x"]] {
        store.set(&["DEL", LOCK]).await;
        store.set(other).await;
        let before = store.keys().await;
        store.replies(&both, "LEFT").await;
        store.unchanged_since(&before).await;
    }
    assert!(store.reported_where().await.is_empty());
}

#[tokio::test]
async fn an_owner_without_a_mode_is_invalid() {
    let store = waiting(&[acquire("a:1")], &[acquire("b:2")]).await;
    let before = store.keys().await;
    let mut call = leave("e", &[("b:2", "write"), ("c:3", "write")]);
    call.args.pop();
    store.replies(&call, "INVALID").await;
    store.unchanged_since(&before).await;
}
