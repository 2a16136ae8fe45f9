//! Real faults on a real Redis: what is promised when a connection, a server or a future goes.
#![allow(missing_docs, clippy::unwrap_used)]

mod breaker;
mod cancellation;
mod clock_jumps;
mod connecting;
mod costs;
mod doubt;
mod evictions;
mod foreign_keys;
mod links;
mod names;
mod outages;
mod places;
mod recovery;
mod redisson_watchdog;
mod rights;
mod roles;
mod runtimes;
mod shifted;
mod wakeups;

use std::time::Duration;

use lock_core::LockClient;
use lock_tests::RedisServer;

const LONG: Duration = Duration::from_secs(20);

async fn client(server: &RedisServer) -> LockClient {
    LockClient::connect(&server.url()).await.unwrap()
}

/// Every key but those that outlive the locks by design.
async fn lock_keys(server: &RedisServer) -> Vec<String> {
    let keys = server.cli().await.keys().await;
    let stays =
        |key: &String| key.starts_with("redisson_lock_token:") || key.starts_with("lock_client:");
    keys.into_iter().filter(|key| !stays(key)).collect()
}
