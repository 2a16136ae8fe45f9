//! native/renew: every reply, and the keys in Redis after it.

use crate::scripts::any::call::of;
use crate::scripts::native::Shown;
use crate::scripts::native::call::{acquire, batch, permits, read, renew, write};
use crate::scripts::native::standing::{WAITED_MS, line, places, set, stopped, text, waiting};
use crate::scripts::support::call::{LEASE, LONGER};
use crate::scripts::support::keys::{Key, LOCK};

pub(crate) const SHOWN: Shown = &[
    ("{RENEWED, nonce, for each hold 1 (renewed)", a_hold_gets_its_lease_and_none_is_shortened),
    ("0 (lost)", a_hold_that_is_not_there_is_lost),
    ("or what was wrong (state unknown)}", what_was_wrong_spoils_only_its_own_answer),
];

#[tokio::test]
async fn a_hold_gets_its_lease_and_none_is_shortened() {
    let own = renew("e", "write", "a:1");
    let reads = renew("r", "read", "a:1");
    let twice = acquire("a:1").with("holds", 2);
    let waits = [line("w:b:2"), places("w:b:2@5m")];
    let waited = [vec![text("lt1ewa:1 0 1 30m", LONGER + WAITED_MS)], waits.to_vec()].concat();
    let several = |members: &str| vec![set(members, LONGER + WAITED_MS)];
    for (mut store, call, keys) in [
        (waiting(&[acquire("a:1")], &[]).await, &own, vec![text("lt1ewa:1", LONGER)]),
        (waiting(&[read("a:1")], &[]).await, &reads, vec![text("lt1rra:1", LONGER)]),
        (
            waiting(&[acquire("a:1"), twice], &[]).await,
            &own,
            vec![text("lt1ewa:1 0 2 30m", LONGER + WAITED_MS)],
        ),
        (waiting(&[acquire("a:1")], &[acquire("b:2")]).await, &own, waited),
        // The read inside a write: both are renewed.
        (
            waiting(&[write("a:1"), read("a:1")], &[]).await,
            &reads,
            vec![text("lt1rwa:1 1 1 30m", LONGER + WAITED_MS)],
        ),
        (
            waiting(&[read("a:1"), read("b:2")], &[]).await,
            &reads,
            several("#kind:r=0 b:2@10m a:1@30m"),
        ),
        (
            waiting(&[permits("a:1", 2, 3), permits("b:2", 1, 3)], &[]).await,
            &renew("s", "write", "a:1"),
            several("#kind:s=0 #a:1=2 b:2@10m a:1@30m"),
        ),
    ] {
        for lease in [LONGER, LEASE] {
            store.replies(&call.with("lease", lease), "RENEWED 1").await;
            store.has(keys.clone()).await;
        }
        assert!(store.reported_where().await.is_empty());
    }
}

#[tokio::test]
async fn a_lease_is_set_to_exactly_what_is_wanted() {
    let own = renew("e", "write", "a:1");
    let waited = |lease: i64| {
        let value = format!("lt1ewa:1 0 1 {}m", lease / 60_000);
        vec![text(&value, LONGER + WAITED_MS), line("w:b:2"), places("w:b:2@5m")]
    };
    for lease in [120_000, LONGER, 300_000] {
        let call = own.with("lease", format!("={lease}"));
        let store = waiting(&[acquire("a:1").with("lease", LONGER)], &[]).await;
        store.replies(&call, "RENEWED 1").await;
        store.has([text("lt1ewa:1", lease)]).await;
        let held = acquire("a:1").with("lease", LONGER);
        let store = waiting(&[held], &[acquire("b:2")]).await;
        store.replies(&call, "RENEWED 1").await;
        store.has(waited(lease)).await;
        let store = waiting(&[permits("a:1", 2, 3).with("lease", LONGER)], &[]).await;
        let permits = renew("s", "write", "a:1").with("lease", format!("={lease}"));
        store.replies(&permits, "RENEWED 1").await;
        let members = format!("#kind:s=0 #a:1=2 a:1@{}m", lease / 60_000);
        store.has([set(&members, LONGER + WAITED_MS)]).await;
    }
    let store = waiting(&[acquire("a:1")], &[]).await;
    for lease in ["=", "==5", "=0", "=-5", "=x", "5="] {
        store.replies(&own.with("lease", lease), "RENEWED INVALID").await;
    }
}

#[tokio::test]
async fn a_hold_that_is_not_there_is_lost() {
    let store = stopped().await;
    let own = [("e", "write"), ("r", "read"), ("r", "write"), ("s", "write")];
    let own = own.map(|(kind, mode)| renew(kind, mode, "a:1"));
    let lost = format!("RENEWED{}", " 0".repeat(own.len()));
    store.replies(&batch(&own), &lost).await;
    store.has([]).await;
    for held in [
        &[acquire("b:2")][..],
        &[acquire("a:1").with("kind", "f")],
        &[read("b:2"), read("c:3")],
        &[permits("b:2", 1, 1)],
    ] {
        let store = waiting(held, &[]).await;
        let before = store.keys().await;
        store.replies(&batch(&own), &lost).await;
        store.unchanged_since(&before).await;
    }
    // The other mode, and a lease that has ended.
    let store = waiting(&[read("a:1")], &[]).await;
    store.replies(&renew("r", "write", "a:1"), "RENEWED 0").await;
    store.has([text("lt1rra:1", LEASE)]).await;
    store.put("lt1rwa:1 0 1", 0).await;
    store.replies(&batch(&own), &lost).await;
    let store = waiting(&[read("a:1"), read("b:2").with("lease", LONGER)], &[]).await;
    store.pass(LEASE);
    let before = store.keys().await;
    store.replies(&renew("r", "read", "a:1"), "RENEWED 0").await;
    store.replies(&renew("r", "write", "b:2"), "RENEWED 0").await;
    store.unchanged_since(&before).await;
    // A text of another library.
    store.set(&["FLUSHALL"]).await;
    store.set(&["SET", LOCK, "foreign", "PX", &LEASE.to_string()]).await;
    store.replies(&batch(&own), &lost).await;
    store.has([text("foreign", LEASE)]).await;
}

#[tokio::test]
async fn what_was_wrong_spoils_only_its_own_answer() {
    let store = waiting(&[acquire("a:1"), of("x", acquire("a:2"))], &[]).await;
    store.set(&["HSET", "lock:y", "a:3", "1"]).await;
    let calls = [
        renew("e", "write", "a:1").with("lease", LONGER),
        of("y", renew("e", "write", "a:3")),
        of("x", renew("e", "write", "a:2").with("lease", "0")),
        of("x", renew("e", "write", "a:2").with("lease", LONGER)),
    ];
    store.replies(&batch(&calls), "RENEWED 1 FAILED INVALID 1").await;
    let x = Key { name: "lock:x".to_owned(), ..text("lt1ewa:2", LONGER) };
    let y = Key::new("lock:y", "hash a:3=1", -1);
    store.has([text("lt1ewa:1", LONGER), x, y]).await;
}
