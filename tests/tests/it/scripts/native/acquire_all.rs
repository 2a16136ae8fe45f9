//! native/acquire_all: every reply, and the keys in Redis after it.

use crate::scripts::any::call::of;
use crate::scripts::native::Shown;
use crate::scripts::native::call::{acquire, acquire_all, permits, read, release};
use crate::scripts::native::standing::{
    TOKEN, WAITED_MS, line, places, set, stopped, text, waiting, woken,
};
use crate::scripts::support::call::{Call, LEASE};
use crate::scripts::support::keys::Key;

pub(crate) const SHOWN: Shown = &[
    ("{GRANTED, nonce, token of each lock", each_is_granted_with_a_token),
    ("('' for re-entry and for a permit)}", re_entry_and_permits_have_no_token),
    (
        "{REFUSED, nonce, which lock (1 is the first), the words of its own reply}",
        none_is_held_after_the_first_refusal,
    ),
    ("{INVALID, nonce}", invalid_arguments_change_nothing),
];

/// The same key of the lock `lock:x`.
fn of_x(key: Key) -> Key {
    Key { name: key.name.replace("lock:k", "lock:x"), ..key }
}

/// `lock:x`, then `lock:k`.
fn two(other: Call, lock: Call) -> Call {
    acquire_all(&[of("x", other), lock])
}

#[tokio::test]
async fn each_is_granted_with_a_token() {
    let mut store = stopped().await;
    let both = two(read("a:1"), acquire("a:2"));
    // Repeated, each is granted once more.
    for first in [TOKEN, TOKEN + 2] {
        store.replies(&both, &format!("GRANTED {first} {}", first + 1)).await;
        store.has([of_x(text("lt1rra:1", LEASE)), text("lt1ewa:2", LEASE)]).await;
        assert_eq!(store.counter().await, first + 1);
    }
    assert!(store.reported_where().await.is_empty());
}

#[tokio::test]
async fn re_entry_and_permits_have_no_token() {
    let store = waiting(&[acquire("a:2")], &[]).await;
    let both = two(permits("a:1", 2, 3), acquire("a:2").with("holds", 2));
    store.replies(&both, "GRANTED  ").await;
    let permits = of_x(set("#kind:s=0 #a:1=2 a:1@10m", LEASE));
    store.has([permits, text("lt1ewa:2 0 2 10m", LEASE)]).await;
    assert_eq!(store.counter().await, TOKEN);
}

#[tokio::test]
async fn none_is_held_after_the_first_refusal() {
    let mut store = stopped().await;
    store.put("lt1ewb:2 0 2", LEASE).await;
    let held = text("lt1ewb:2 0 2 10m", LEASE + WAITED_MS);
    let both = two(acquire("a:1"), acquire("a:2"));
    // The refused one has a place.
    for _call in 0..2 {
        store.replies(&both, "REFUSED 2 BUSY 600000 1").await;
        store.has([held.clone(), line("w:a:2"), places("w:a:2@5m")]).await;
    }
    // A hold further out stays; the one that an earlier call was granted does not.
    store.set(&["FLUSHALL"]).await;
    store.put("lt1ewb:2 0 2", LEASE).await;
    for holds in [1, 2] {
        let held = store.ask(&of("x", acquire("a:1").with("holds", holds))).await;
        assert_eq!(held[0], "GRANTED");
    }
    let inside = two(acquire("a:1").with("holds", 2), acquire("a:2").with("place", 0));
    store.replies(&inside, "REFUSED 2 BUSY 600000 0").await;
    store.has([held.clone(), of_x(text("lt1ewa:1", LEASE))]).await;
    // The words of other refusals.
    let stays = [held, of_x(text("lt1ewa:1", LEASE))];
    for (refused, words) in [
        (acquire("a:2").with("holds", 2), "LOST"),
        (acquire("a:2").with("kind", "f"), "WRONG_KIND"),
    ] {
        let both = two(acquire("a:1").with("holds", 2), refused);
        store.replies(&both, &format!("REFUSED 2 {words}")).await;
        store.has(stays.clone()).await;
    }
    let other_first = acquire_all(&[acquire("a:2").with("place", 0), of("x", acquire("a:3"))]);
    store.replies(&other_first, "REFUSED 1 BUSY 600000 0").await;
    store.has(stays).await;
    assert!(store.reported_where().await.is_empty());
}

/// In the line of a semaphore: see `lib/line`.
#[tokio::test]
async fn it_is_behind_those_that_have_waited_as_long() {
    let holders = [permits("a:1", 1, 2), permits("a:2", 1, 2)];
    let mut store = waiting(&holders, &[permits("b:3", 1, 2)]).await;
    let both = |owner, waited: u32| two(read(owner), permits(owner, 1, 2).with("waited", waited));
    store.replies(&both("c:4", 1), "REFUSED 2 BUSY 600000 1").await;
    let wanted = "*w:b:3=-2097153 *w:c:4=-2097153";
    store
        .has([
            set("#kind:s=0 a:1@10m a:2@10m", LEASE + WAITED_MS),
            line("w:c:4 w:b:3"),
            places(&format!("{wanted} w:b:3@5m w:c:4@5m")),
        ])
        .await;
    // The permit that is free is kept for the first.
    store.ask(&release("sw", "a:2")).await;
    assert_eq!(store.reported_where().await, [woken("c:4")]);
    store.replies(&both("d:5", 0), "REFUSED 2 BUSY 50 1").await;
    // One of the same age came later.
    store.replies(&both("e:6", 1), "REFUSED 2 BUSY 50 1").await;
    store.replies(&permits("b:3", 1, 2), "BUSY 50 1").await;
    // One that has waited longer than the first, at another lock, passes it. Each of the three before was
    // granted the other lock, and it was taken back.
    store.replies(&both("f:7", 2), &format!("GRANTED {} ", TOKEN + 3)).await;
}

#[tokio::test]
async fn invalid_arguments_change_nothing() {
    let store = stopped().await;
    let invalid =
        [("lease", "0"), ("lease", "x"), ("holds", "0"), ("holds", "1.5"), ("waited", "-1")];
    for (name, value) in invalid {
        let both = two(acquire("a:1"), acquire("a:2").with(name, value));
        store.replies(&both, "INVALID").await;
    }
    let mut short = two(acquire("a:1"), acquire("a:2"));
    short.args.pop();
    let mut keys = two(acquire("a:1"), acquire("a:2"));
    keys.keys.pop();
    let none = Call { keys: Vec::new(), args: Vec::new(), ..short.clone() };
    for call in [short, keys, none] {
        store.replies(&call, "INVALID").await;
    }
    store.has([]).await;
}
