//! Many readers: what a step costs, counted by Redis, and that no crowd can hold it up.

use std::collections::BTreeMap;

use crate::scripts::any::call::inspect;
use crate::scripts::support::call::{
    Call, LEASE, LONGER, PLACE_MS, acquire_read, acquire_write, release_read, renew_read, upgrade,
};
use crate::scripts::support::keys::{LINE, LOCK};
use crate::scripts::support::store::Store;

/// This number of live readers, `r:1` and so on, in one go.
const ADD_READERS: &str = "
for reader = 1, ARGV[1] do
  redis.call('hset', 'lock:k', 'mode', 'read', 'r:' .. reader, 1)
  redis.call('set', '{lock:k}:r:' .. reader .. ':rwlock_timeout:1', 1, 'px', ARGV[2])
end
redis.call('pexpire', 'lock:k', ARGV[2])";

/// Ends the time of those from one number to another.
const LAPSE: &str = "
for reader = ARGV[1], ARGV[2] do redis.call('del', '{lock:k}:r:' .. reader .. ':rwlock_timeout:1') end";

pub(crate) async fn add(store: &Store, readers: u32) {
    let (readers, lease) = (readers.to_string(), LEASE.to_string());
    store.set(&["EVAL", ADD_READERS, "0", &readers, &lease]).await;
}

async fn crowd(readers: u32) -> Store {
    let store = Store::start().await;
    add(&store, readers).await;
    store
}

/// How often each command ran for this call.
pub(crate) async fn cost(store: &Store, call: &Call, status: &str) -> BTreeMap<String, u64> {
    store.cli.reset_stats().await;
    assert_eq!(store.ask(call).await[0], status, "{call:?}");
    let mut counts = store.cli.command_counts().await;
    counts.retain(|command, _| !command.contains('|') && command != "info");
    counts
}

#[tokio::test]
async fn b15_a_readers_step_costs_the_same_among_any_number() {
    let steps = [
        (acquire_read("a:1", 1), "GRANTED"),
        (acquire_read("a:1", 2), "GRANTED"),
        // Longer than what is left, however little time has passed: a renewal that always has work.
        (renew_read("a:1").with("lease", LONGER), "RENEWED"),
        (release_read("a:1", 1), "RELEASED"),
        (release_read("a:1", 0), "RELEASED"),
    ];
    let (few, many) = tokio::join!(crowd(20), crowd(1_000));
    for (call, status) in &steps {
        let among_few = cost(&few, call, status).await;
        let among_many = cost(&many, call, status).await;
        assert_eq!(among_few, among_many, "{call:?}");
        assert!(among_many.values().sum::<u64>() < 15, "{call:?}: {among_many:?}");
    }
}

#[tokio::test]
async fn a_release_looks_at_others_up_to_nine_fields() {
    // Fields while the others stay: one for each, and the mode.
    for (others, looks) in [(8, true), (9, false)] {
        let store = crowd(others).await;
        store.granted(&acquire_read("a:1", 1)).await;
        let counts = cost(&store, &release_read("a:1", 0), "RELEASED").await;
        assert_eq!(counts.contains_key("hgetall"), looks, "{others} others: {counts:?}");
    }
}

#[tokio::test]
async fn a_dead_crowd_is_left_to_the_writer() {
    let mut store = crowd(20).await;
    store.granted(&acquire_read("a:1", 1)).await;
    store.set(&["EVAL", LAPSE, "0", "1", "20"]).await;
    assert_eq!(store.ask(&release_read("a:1", 0)).await, ["RELEASED"]);
    assert!(store.reported().await.is_empty());
    store.granted(&acquire_write("b:2", 1)).await;
    assert_eq!(store.cli.hash(LOCK).await.into_keys().collect::<Vec<_>>(), ["b:2:write", "mode"]);
}

#[tokio::test]
async fn a_writer_looks_at_no_more_than_about_a_thousand_at_a_time() {
    let store = crowd(5_000).await;
    assert_eq!(store.refused(&acquire_write("b:2", 1), "BUSY", LEASE).await, ["1"]);
    let counts = cost(&store, &acquire_write("b:2", 1), "BUSY").await;
    assert!(counts["pttl"] < 2_000, "{counts:?}");
    let counts = cost(&store, &inspect(), "STATE").await;
    assert!(counts["pttl"] < 2_000, "{counts:?}");
    assert_eq!(store.refused(&acquire_read("a:1", 1), "YIELD", PLACE_MS).await, ["1"]);
}

/// How often it had to be called until it was granted.
async fn requested(store: &Store, call: &Call) -> u32 {
    for requested in 1..100 {
        match store.ask(call).await[0].as_str() {
            "GRANTED" => return requested,
            status => assert_eq!(status, "BUSY"),
        }
    }
    panic!("never granted: {call:?}");
}

#[tokio::test]
async fn a_dead_crowd_beyond_that_is_forgotten_bit_by_bit() {
    let store = crowd(3_000).await;
    store.set(&["EVAL", LAPSE, "0", "1", "3000"]).await;
    // Not known to be free: the scan did not reach all readers.
    assert_eq!(store.ask(&inspect()).await[..3], ["STATE", "read_write", "read"]);
    assert!((2..10).contains(&requested(&store, &acquire_write("b:2", 1)).await));
    assert!(!store.cli.exists(LINE).await);
}

#[tokio::test]
async fn a_sole_reader_is_upgraded_out_of_such_a_crowd() {
    let store = crowd(3_000).await;
    store.set(&["EVAL", LAPSE, "0", "2", "3000"]).await;
    assert!((2..10).contains(&requested(&store, &upgrade("r:1", 0, 1)).await));
}

#[tokio::test]
async fn the_living_among_a_dead_crowd_are_never_overlooked() {
    let store = crowd(3_000).await;
    store.set(&["EVAL", LAPSE, "0", "1", "2999"]).await;
    for _asked in 0..10 {
        assert_eq!(store.ask(&acquire_write("b:2", 1)).await[0], "BUSY");
        assert_eq!(store.ask(&inspect()).await[2], "read");
    }
    assert_eq!(store.ask(&renew_read("r:3000")).await, ["RENEWED", "1"]);
}
