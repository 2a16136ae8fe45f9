//! What a step of a fair lock costs in a long line, counted by Redis: as much as in a short one.

use std::collections::BTreeMap;

use crate::scripts::fair::call::{self as fair_call, JavaFair, PLACE};
use crate::scripts::fair_read_write::call::{self as fair_rw_call, read, write};
use crate::scripts::read_write::many_readers::cost;
use crate::scripts::support::call::{Call, LEASE};
use crate::scripts::support::keys::{ALIVE, DEADLINES, LINE, QUEUE};
use crate::scripts::support::store::Store;

/// This number of waiters of ours, `w:1` and so on, as they would have come one after the other.
const QUEUE_UP: &str = "
for waiter = 1, ARGV[1] do
  redis.call('rpush', KEYS[1], 'w:' .. waiter)
  for key = 2, 3 do redis.call('zadd', KEYS[key], ARGV[key], 'w:' .. waiter) end
end
for key = 1, 3 do redis.call('pexpire', KEYS[key], ARGV[4]) end";

/// The same of a fair read/write lock, each in the given mode.
const LINE_UP: &str = "
redis.call('zadd', KEYS[1], 0, 'fair')
for waiter = 1, ARGV[1] do
  redis.call('zadd', KEYS[1], waiter, ARGV[2] .. ':w:' .. waiter)
  if ARGV[2] == 'write' then redis.call('zadd', KEYS[1], -waiter, 'writer:w:' .. waiter) end
  redis.call('zadd', KEYS[2], ARGV[3], ARGV[2] .. ':w:' .. waiter)
end
for key = 1, 2 do redis.call('pexpire', KEYS[key], ARGV[4]) end";

async fn fair(waiters: u32) -> Store {
    let store = Store::start().await;
    store.granted(&fair_call::acquire("a:1", 1)).await;
    let alive = (store.now().await + PLACE).to_string();
    let deadline = (store.now().await + LEASE + fair_call::WAIT).to_string();
    let (waiters, ttl) = (waiters.to_string(), (2 * PLACE).to_string());
    let words = ["EVAL", QUEUE_UP, "3", QUEUE, DEADLINES, ALIVE];
    store.set(&[&words[..], &[&waiters, &deadline, &alive, &ttl]].concat()).await;
    store
}

async fn fair_read_write(waiters: u32, mode: &str) -> Store {
    let store = Store::start().await;
    store.granted(&write("a:1")).await;
    let alive = (store.now().await + PLACE).to_string();
    let (waiters, ttl) = (waiters.to_string(), (2 * PLACE).to_string());
    let words = ["EVAL", LINE_UP, "2", LINE, ALIVE, &waiters, mode, &alive, &ttl];
    store.set(&words).await;
    store
}

/// What each of these steps calls, in turn.
async fn costs(store: &Store, steps: &[(Call, &str)]) -> Vec<BTreeMap<String, u64>> {
    let mut costs = Vec::new();
    for (call, status) in steps {
        let mut counts = cost(store, call, status).await;
        // One more or fewer, as the milliseconds fall: a time to live is only ever lengthened.
        counts.remove("pexpire");
        assert!(counts.values().sum::<u64>() < 50, "{call:?}: {counts:?}");
        costs.push(counts);
    }
    costs
}

#[tokio::test]
async fn a_fair_step_costs_the_same_in_long_and_short_queues() {
    let steps = [
        (fair_call::acquire("n:1", 1), "BUSY"),
        (fair_call::acquire("n:1", 1), "BUSY"),
        (fair_call::leave("w:2"), "GONE"),
        (fair_call::leave_together(&["w:3", "w:4", "n:1"]), "LEFT"),
        (fair_call::release("a:1", 0), "FREED"),
        (fair_call::acquire("n:2", 1).with("place_ms", 0), "BUSY"),
        (fair_call::acquire("w:1", 1), "GRANTED"),
        (fair_call::acquire("w:1", 2), "GRANTED"),
    ];
    let (short, long) = tokio::join!(fair(10), fair(2_000));
    assert_eq!(costs(&short, &steps).await, costs(&long, &steps).await);
}

/// With Redisson's waiters in the line too.
#[tokio::test]
async fn nor_does_it_cost_more_beside_redisson() {
    let steps = [
        (fair_call::acquire("n:1", 1), "BUSY"),
        (fair_call::acquire("w:5", 1), "BUSY"),
        (fair_call::leave("w:2"), "GONE"),
        (fair_call::release("a:1", 0), "FREED"),
        (fair_call::acquire("w:1", 1), "GRANTED"),
    ];
    let (short, long) = tokio::join!(fair(10), fair(2_000));
    for store in [&short, &long] {
        assert!(JavaFair::Acquire.ask(store, "j:1").await.is_some());
    }
    assert_eq!(costs(&short, &steps).await, costs(&long, &steps).await);
}

#[tokio::test]
async fn a_fair_read_write_step_costs_the_same_in_any_queue() {
    let writers = [
        (write("n:1"), "BUSY"),
        (write("n:1"), "BUSY"),
        (read("n:2"), "BUSY"),
        (fair_rw_call::leave("write", "w:2"), "GONE"),
        (fair_rw_call::leave_together(&["write:w:3", "write:w:4", "write:n:1"]), "LEFT"),
        (fair_rw_call::release("write", "a:1", 0), "FREED"),
        (read("n:3"), "BUSY"),
        (write("w:1"), "GRANTED"),
    ];
    let (short, long) = tokio::join!(fair_read_write(10, "write"), fair_read_write(2_000, "write"));
    assert_eq!(costs(&short, &writers).await, costs(&long, &writers).await);
}

/// Those that have been woken and have not come yet are in no other reader's way.
#[tokio::test]
async fn nor_does_a_reader_look_at_each_reader_before_it() {
    let readers = [(read("w:9"), "GRANTED"), (read("n:1"), "GRANTED"), (write("n:2"), "BUSY")];
    let (short, long) = tokio::join!(fair_read_write(10, "read"), fair_read_write(2_000, "read"));
    for store in [&short, &long] {
        store.expire().await;
    }
    assert_eq!(costs(&short, &readers).await, costs(&long, &readers).await);
}
