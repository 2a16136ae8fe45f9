//! The reads of a step of a contended lock, counted by Redis: nothing twice.

use crate::scripts::native::call::{
    self as native_call, acquire as native_acquire, read, release, release_free, renew, write,
};
use crate::scripts::plain::call as plain_call;
use crate::scripts::read_write::many_readers::cost;
use crate::scripts::support::call::{Call, LONGER, acquire_read, acquire_write, release_write};
use crate::scripts::support::store::Store;

#[tokio::test]
async fn a_refused_caller_reads_the_time_and_the_queue_once() {
    // A lock with one holder is read as a hash.
    for (acquire, hashes) in [(plain_call::acquire as fn(&str, u32) -> _, 2), (acquire_write, 1)] {
        let store = Store::start().await;
        store.granted(&acquire("a:1", 1)).await;
        for (owner, waited) in [("b:2", 2_000), ("c:3", 1_000)] {
            let ask = acquire(owner, 1).with("waited_ms", waited);
            let counts = cost(&store, &ask, "BUSY").await;
            assert_eq!((counts["time"], counts["hgetall"]), (1, hashes), "{owner}: {counts:?}");
        }
    }
    let store = Store::start().await;
    store.granted(&acquire_write("a:1", 1)).await;
    let reader = cost(&store, &acquire_read("d:4", 1), "BUSY").await;
    assert_eq!((reader["time"], reader["hgetall"]), (1, 1), "{reader:?}");
}

#[tokio::test]
async fn a_release_looks_at_the_time_and_the_line_once() {
    for (acquire, release) in [
        (plain_call::acquire as fn(&str, u32) -> _, plain_call::release as fn(&str, u32) -> _),
        (acquire_write, release_write),
    ] {
        let store = Store::start().await;
        store.granted(&acquire("a:1", 1)).await;
        store.ask(&acquire("b:2", 1).with("waited_ms", 1_000)).await;
        let counts = cost(&store, &release("a:1", 0).with("queued", 1), "FREED").await;
        assert_eq!((counts["time"], counts["hgetall"]), (1, 1), "{counts:?}");
    }
}

/// The commands that a call runs, sorted, each as often as it ran.
async fn commands(store: &Store, call: &Call, status: &str) -> String {
    let mut counts = cost(store, call, status).await;
    counts.remove("eval");
    let each = counts.iter().flat_map(|(name, count)| vec![name.as_str(); *count as usize]);
    each.collect::<Vec<_>>().join(" ")
}

/// Makes these calls one after the other: each has its reply, and runs these commands and no others.
async fn cost_this(steps: &[(Call, &str, &str)]) {
    let store = Store::start().await;
    let mut found = Vec::new();
    for (call, status, _) in steps {
        found.push(commands(&store, call, status).await);
    }
    let expected: Vec<_> = steps.iter().map(|(_, _, commands)| *commands).collect();
    assert_eq!(found, expected);
}

#[tokio::test]
async fn on_the_native_wire_a_step_without_waiters_costs_these_commands_and_no_others() {
    let longer = |call: Call| call.with("lease", LONGER);
    cost_this(&[
        (native_acquire("a:1"), "GRANTED", "exists get get get set set time"),
        (longer(renew("e", "write", "a:1")), "RENEWED", "get pexpire pttl"),
        (native_acquire("a:1").with("holds", 2), "GRANTED", "exists get pttl set time"),
        (release("ew", "a:1").with("holds", 1), "DONE", "exists get set time zrem"),
        (release_free("lt1ewa:1"), "DONE", "del get"),
        (release("ew", "a:1"), "DONE", "exists get get"),
        (read("a:1"), "GRANTED", "exists get get get set set time"),
        // The second reader makes a sorted set of it.
        (
            read("b:2"),
            "GRANTED",
            "del exists exists get get get pexpire pttl pttl set time zadd zadd zadd zrem zrem zrevrange",
        ),
        (
            longer(renew("r", "read", "b:2")),
            "RENEWED",
            "get pexpire pttl time zadd zrem zscore zscore",
        ),
        (
            release("rr", "b:2"),
            "DONE",
            "get time zcount zrem zrevrange zscore zscore zscore",
        ),
        (
            release("rr", "a:1"),
            "DONE",
            "del exists get get time time zcount zrange zrangebyscore zrem zrem zrevrange zrevrange zscore zscore zscore zscore",
        ),
        (native_call::inspect(), "STATE", "exists get get"),
    ])
    .await;
}

/// A place lives longer or shorter than those before it, so that what it costs to keep the line alive does
/// not depend on how much time has passed.
#[tokio::test]
async fn on_the_native_wire_a_step_with_waiters_costs_these_commands_and_no_others() {
    cost_this(&[
        (write("a:1"), "GRANTED", "exists get get get set set time"),
        (write("b:2"), "BUSY", "exists get pttl set time"),
        // It keeps its place.
        (write("b:2").with("place", 200_000), "BUSY", "get set time"),
        // Nothing is written.
        (write("c:3").with("place", 0), "BUSY", "get time"),
        (renew("r", "write", "a:1").with("lease", LONGER), "RENEWED", "get pexpire pttl set time"),
        (write("c:3").with("place", LONGER), "BUSY", "get set time"),
        (release("rw", "a:1"), "DONE", "exists get publish set time"),
        (write("b:2").with("place", 0), "GRANTED", "exists get get set set time"),
        (native_call::leave("r", &[("c:3", "write")]), "LEFT", "get set time zrem"),
    ])
    .await;
}
