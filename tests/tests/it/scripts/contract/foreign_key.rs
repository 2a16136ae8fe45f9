//! The key of the lock has another type: it is recognized, and stays as it was.

use crate::scripts::any::call::inspect;
use crate::scripts::support::call::{
    Call, acquire_read, acquire_write, downgrade, release_read, release_write, renew_read,
    renew_write, upgrade,
};
use crate::scripts::support::keys::{FOREVER, LOCK};
use crate::scripts::support::store::Store;

const NO_HASHES: [&[&str]; 2] = [&["SET", LOCK, "foreign"], &["RPUSH", LOCK, "one", "two"]];

/// A plain lock, a fair read/write lock, a record with fields of our owner's name.
const HASHES: [&[&str]; 4] = [
    &["HSET", LOCK, "b:2", "1"],
    &["HSET", LOCK, "mode", "fair", "b:2", "1"],
    &["HSET", LOCK, "mode", "", "a", "x"],
    &["HSET", LOCK, "MODE", "read", "a", "x"],
];

async fn untouched(foreign: &[&str], expected: &[(Call, &str)]) {
    let mut store = Store::start().await;
    store.set(foreign).await;
    for ttl in [FOREVER, crate::scripts::support::call::LONGER] {
        if ttl != FOREVER {
            store.set(&["PEXPIRE", LOCK, &ttl.to_string()]).await;
        }
        let before = store.keys().await;
        for (call, reply) in expected {
            assert_eq!(store.ask(call).await.join(" "), *reply, "{call:?} on {foreign:?}");
            store.unchanged_since(&before).await;
        }
    }
    assert!(store.told().await.is_empty());
}

#[tokio::test]
async fn another_type() {
    for foreign in NO_HASHES {
        let expected = [
            (acquire_read("a:1", 1), "WRONG_KIND"),
            (acquire_read("a:1", 2), "WRONG_KIND"),
            (acquire_write("a:1", 1), "WRONG_KIND"),
            (acquire_write("a:1", 2), "WRONG_KIND"),
            (upgrade("a:1", 0, 1), "WRONG_KIND"),
            (downgrade("a:1", 1, 0), "LOST"),
            (release_read("a:1", 0), "GONE"),
            (release_read("a:1", 0).with("queued", 1), "GONE"),
            (release_write("a:1", 0), "GONE"),
            (release_write("a:1", 0).with("queued", 1), "GONE"),
            (renew_read("a:1"), "RENEWED FAILED"),
            (renew_write("a:1"), "RENEWED FAILED"),
            (inspect(), "WRONG_KIND"),
        ];
        untouched(foreign, &expected).await;
    }
}

#[tokio::test]
async fn a_hash_without_a_mode_of_ours() {
    for foreign in HASHES {
        let expected = [
            (acquire_read("a:1", 1), "WRONG_KIND"),
            (acquire_read("a:1", 2), "WRONG_KIND"),
            (acquire_write("a:1", 1), "WRONG_KIND"),
            (acquire_write("a:1", 2), "WRONG_KIND"),
            (upgrade("a:1", 0, 1), "LOST"),
            (downgrade("a:1", 1, 0), "LOST"),
            (release_read("a:1", 0), "GONE"),
            (release_read("a:1", 0).with("queued", 1), "GONE"),
            (release_write("a:1", 0), "GONE"),
            (release_write("a:1", 0).with("queued", 1), "GONE"),
            (renew_read("a:1"), "RENEWED 0"),
            (renew_write("a:1"), "RENEWED 0"),
        ];
        untouched(foreign, &expected).await;
    }
}
