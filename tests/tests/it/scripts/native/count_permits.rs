//! native/count_permits: every reply, and the keys in Redis after it.

use crate::scripts::native::Shown;
use crate::scripts::native::call::{acquire, count_permits, permits};
use crate::scripts::native::standing::{line, places, set, stopped, text, waiting};
use crate::scripts::support::call::{LEASE, LONGER, PLACE_MS};
use crate::scripts::support::keys::LOCK;

pub(crate) const SHOWN: Shown = &[
    ("{COUNTED, nonce, permits in use}", permits_in_use_are_counted),
    ("{WRONG_KIND, nonce}", another_kind_is_not_counted),
];

#[tokio::test]
async fn permits_in_use_are_counted() {
    let store = stopped().await;
    store.replies(&count_permits(), "COUNTED 0").await;
    store.has([]).await;
    let longer = permits("b:2", 3, 4).with("lease", LONGER);
    let store = waiting(&[permits("a:1", 1, 4), longer], &[permits("c:3", 1, 4)]).await;
    let before = store.keys().await;
    store.replies(&count_permits(), "COUNTED 4").await;
    store.unchanged_since(&before).await;
    // A lease has ended.
    store.pass(LEASE);
    store.replies(&count_permits(), "COUNTED 3").await;
    store
        .has([
            set("#kind:s=0 #b:2=3 b:2@20m", LONGER + 50),
            line("w:c:3"),
            places("*w:c:3=-4194305 w:c:3@-300000ms"),
        ])
        .await;
    // Waiters are not permits.
    let store = waiting(&[], &[permits("c:3", 2, 1)]).await;
    store.replies(&count_permits(), "COUNTED 0").await;
    let waits = places("*w:c:3=-1048578 w:c:3@5m");
    store.has([text("lt1s-", PLACE_MS), line("w:c:3"), waits]).await;
}

#[tokio::test]
async fn another_kind_is_not_counted() {
    let store = waiting(&[acquire("a:1")], &[]).await;
    store.replies(&count_permits(), "WRONG_KIND").await;
    store.has([text("lt1ewa:1", LEASE)]).await;
    for foreign in
        [&["SET", LOCK, "foreign"][..], &["HSET", LOCK, "a:1", "1"], &["ZADD", LOCK, "1", "x"]]
    {
        store.set(&["DEL", LOCK]).await;
        store.set(foreign).await;
        let before = store.keys().await;
        store.replies(&count_permits(), "WRONG_KIND").await;
        store.unchanged_since(&before).await;
    }
}
