//! The key of the lock has another type: it is recognized, and stays as it was.

use crate::scripts::any::call::inspect;
use crate::scripts::native::call::{
    self as native_call, LINE, PLACES, acquire, permits, read, write,
};
use crate::scripts::native::standing::waiting;
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
    assert!(store.reported().await.is_empty());
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

/// Texts, also some that begin like a lock's value or are of another version, and other types.
const NO_NATIVE_LOCKS: [&[&str]; 12] = [
    &["SET", LOCK, "foreign"],
    &["SET", LOCK, ""],
    &["SET", LOCK, "lt1"],
    &["SET", LOCK, "lt1e"],
    &["SET", LOCK, "lt1exa:1"],
    &["SET", LOCK, "lt2ewa:1"],
    &["RPUSH", LOCK, "lt1ewa:1"],
    &["SADD", LOCK, "lt1ewa:1"],
    &["HSET", LOCK, "name", "Ann"],
    &["HSET", LOCK, "one", "1", "two", "2"],
    &["ZADD", LOCK, "1", "x"],
    &["ZADD", LOCK, "4102444800000", "a:1"],
];

#[tokio::test]
async fn what_is_no_native_lock() {
    for foreign in NO_NATIVE_LOCKS {
        // A renewal looks for its owner in a sorted set, and may not look at other types.
        let renewed = match foreign[0] {
            "SET" | "ZADD" => "RENEWED 0",
            _ => "RENEWED FAILED",
        };
        let mut expected: Vec<_> =
            [acquire("a:1"), read("a:1"), write("a:1"), permits("a:1", 1, 1)]
                .into_iter()
                .flat_map(|call| {
                    [(call.clone(), "WRONG_KIND"), (call.with("holds", 2), "WRONG_KIND")]
                })
                .collect();
        expected.extend([
            (native_call::acquire_all(&[acquire("a:1")]), "REFUSED 1 WRONG_KIND"),
            (native_call::convert("a:1", "write", 0, 1), "LOST"),
            (native_call::convert("a:1", "read", 1, 0), "LOST"),
            (native_call::transfer("e", "write", "a:1", "b:2"), "LOST"),
            (native_call::release("ew", "a:1"), "DONE GONE"),
            (native_call::release("rr", "a:1").with("queued", 1), "DONE GONE"),
            (native_call::release_free("lt1ewa:1"), "DONE 1"),
            (native_call::leave("e", &[("a:1", "write")]), "LEFT"),
            (native_call::renew("e", "write", "a:1"), renewed),
            (native_call::renew("r", "read", "a:1"), renewed),
            (native_call::inspect(), "WRONG_KIND"),
            (native_call::count_permits(), "WRONG_KIND"),
            (native_call::force_release(), "WRONG_KIND"),
            (native_call::request_release(), "WRONG_KIND"),
        ]);
        untouched(foreign, &expected).await;
    }
}

/// A text without a TTL would be waited for forever.
#[tokio::test]
async fn also_beside_other_libraries_a_text_without_a_ttl_is_no_lock() {
    for foreign in [&["SET", LOCK, "foreign"][..], &["RPUSH", LOCK, "x"]] {
        let store = Store::start().await;
        store.set(foreign).await;
        let before = store.keys().await;
        for call in [acquire("a:1"), native_call::inspect(), native_call::force_release()] {
            store.replies(&call.with("beside", 1), "WRONG_KIND").await;
            store.unchanged_since(&before).await;
        }
    }
}

/// Something else under the name of the line or of the places: an error of Redis, and never a grant.
#[tokio::test]
async fn a_foreign_line_of_the_native_wire_is_an_error() {
    let foreign: [&[&str]; 2] = [&["SET", "", "foreign"], &["HSET", "", "w:a:1", "1"]];
    for (name, foreign) in [LINE, PLACES].into_iter().flat_map(|name| foreign.map(|it| (name, it)))
    {
        let store = waiting(&[acquire("b:2")], &[]).await;
        let held = store.cli.string(LOCK).await;
        let words: Vec<_> =
            foreign.iter().map(|word| if word.is_empty() { name } else { word }).collect();
        store.set(&words).await;
        let foreign = store.keys().await.into_iter().find(|key| key.name == name);
        for call in [acquire("a:1"), native_call::acquire_all(&[acquire("a:1")])] {
            match store.try_ask(&call).await {
                Err(refused) => {
                    assert!(refused.to_string().contains("WRONGTYPE"), "{call:?}: {refused}")
                }
                // The line is in the lock's value, so its places are not needed.
                Ok(reply) => {
                    assert!(name == PLACES && reply[0] != "GRANTED", "{call:?}: {reply:?}")
                }
            }
        }
        if name == LINE {
            assert_eq!(store.cli.string(LOCK).await, held);
        }
        assert_eq!(store.keys().await.into_iter().find(|key| key.name == name), foreign);
    }
    // Also when the lock is free: there may be waiters.
    let store = waiting(&[], &[]).await;
    store.set(&["SET", LINE, "foreign"]).await;
    let before = store.keys().await;
    assert!(store.try_ask(&acquire("a:1")).await.is_err());
    store.unchanged_since(&before).await;
}
