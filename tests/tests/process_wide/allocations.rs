//! Allocations of an acquisition and its release, and the size of a waiter. The allocator of this
//! program counts for each thread. Limits are a little above what is reached, so that a test notices
//! more, and does not notice another version of a dependency.

use allocation_counter::{AllocationInfo, measure};
use lock_core::{LockClient, LockGuard};
use lock_tests::RedisServer;
use tokio::runtime::{Builder, Runtime};
use tracing::subscriber::{DefaultGuard, NoSubscriber, set_default};

const WARM_UP: u64 = 200;
const CYCLES: u64 = 1_000;

/// One thread, or what other threads allocate would not be counted.
fn runtime() -> Runtime {
    Builder::new_current_thread().enable_all().build().expect("a runtime")
}

/// Keeps what this thread does out of the log that other tests of this program collect, because text
/// is allocated too.
fn unlogged() -> DefaultGuard {
    set_default(NoSubscriber::new())
}

async fn take(client: &LockClient, number: u64) -> LockGuard {
    client.reentrant(format!("k{}", number % 64)).acquire().await.expect("it is free")
}

async fn cycle(client: &LockClient, times: u64) {
    for number in 0..times {
        drop(take(client, number).await);
    }
    // Until all are given back.
    while client.health().await.holds > 0 {
        tokio::task::yield_now().await;
    }
}

/// Of one cycle, the name of its key counted.
fn of_a_cycle(runtime: &Runtime, client: &LockClient) -> (u64, u64) {
    runtime.block_on(cycle(client, WARM_UP));
    let AllocationInfo { count_total, bytes_total, .. } =
        measure(|| runtime.block_on(cycle(client, CYCLES)));
    (count_total / CYCLES, bytes_total / CYCLES)
}

#[test]
fn a_lock_in_memory_that_is_free_takes_few() {
    let _unlogged = unlogged();
    let runtime = runtime();
    let client = runtime.block_on(async { LockClient::in_memory() });
    let (count, bytes) = of_a_cycle(&runtime, &client);
    println!("in memory: {count} allocations, {bytes} bytes");
    assert!(count <= 10, "{count} allocations of {bytes} bytes");
}

#[test]
fn a_lock_in_redis_that_is_free_takes_few() {
    let _unlogged = unlogged();
    let runtime = runtime();
    let (server, client) = runtime.block_on(async {
        let server = RedisServer::start().await;
        let client = LockClient::connect(&server.url()).await.expect("a server");
        (server, client)
    });
    let (count, bytes) = of_a_cycle(&runtime, &client);
    println!("in Redis: {count} allocations, {bytes} bytes");
    assert!(count <= 60, "{count} allocations of {bytes} bytes");
    drop(server);
}

#[test]
fn a_future_that_waits_is_small() {
    let client = runtime().block_on(async { LockClient::in_memory() });
    let alone = size_of_val(&client.write("k").acquire());
    println!("an acquisition: {alone} bytes");
    assert!(alone <= 900, "{alone} bytes");
}
