//! Real faults on a real Redis: what is promised when a connection, a server or a future goes.

mod beside_set_nx;
mod blips;
mod both_wires;
mod breaker;
mod cancellation;
mod clock_jumps;
mod connecting;
mod costs;
mod doubt;
mod echoes;
mod ended_on_purpose;
mod evictions;
mod false_zookeeper;
mod foreign_keys;
mod leaders;
mod links;
mod mutated_replies;
mod names;
mod native_wire;
mod outages;
mod places;
mod queued_tries;
mod reasons;
mod reconnects;
mod recovery;
mod redisson_watchdog;
mod refused_tries;
mod resumed_process;
mod rights;
mod roles;
mod runtimes;
mod shifted;
mod taken;
mod wakeups;
mod zookeeper_connecting;

use std::time::Duration;

use lock_core::LockClient;
use lock_tests::{LIMIT, RedisServer, Wire, connected, eventually};

const LONG: Duration = Duration::from_secs(20);

/// A lease that does not end in a test: what is free before was released.
const NEVER: Duration = Duration::from_secs(3_600);

/// How long a refusal may take when Redis does not answer: one command timeout, and a moment for the
/// tasks to run.
const REFUSED: Duration = Duration::from_millis(500 + 200);

async fn client(wire: Wire, server: &RedisServer) -> LockClient {
    client_at(wire, &server.url()).await
}

async fn client_at(wire: Wire, url: &str) -> LockClient {
    connected(wire.builder().lease(NEVER), url).await
}

async fn lock_keys(server: &RedisServer) -> Vec<String> {
    lock_tests::lock_keys(&server.cli().await).await
}

/// All that these clients had is released, and Redis has nothing of it. It is looked at once: a key
/// that goes by its time to live later is still there.
async fn nothing_stays(server: &RedisServer, clients: &[&LockClient]) {
    for client in clients {
        eventually("all is released", LIMIT, async || client.health().await.holds == 0).await;
    }
    // On Redisson's wire a fenced lock leaves its last token, and a semaphore how many permits it has.
    let left = lock_keys(server)
        .await
        .into_iter()
        .filter(|key| !key.starts_with("redisson_lock_token:") && !key.starts_with("lock:permits"));
    assert_eq!(left.collect::<Vec<_>>(), [""; 0]);
}
