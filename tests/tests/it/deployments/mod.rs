//! Every deployment of Redis that a client can be pointed at, and ensembles of ZooKeeper, with what can go
//! wrong there.

mod announced;
mod cluster;
mod dead_node;
mod failover;
mod life;
mod moving;
mod multi;
mod redirections;
mod replicas;
mod rights;
mod sentinel;
mod single;
mod slots;
mod tls;
mod turnout;
mod wakeups;
mod zookeeper;

use std::time::Duration;

use lock_core::{LockClient, LockClientBuilder};
use lock_tests::{Wire, connected};

const LONG: Duration = Duration::from_secs(25);

/// A lease that does not end in a test: what is free before was released.
const NEVER: Duration = Duration::from_secs(3_600);

async fn client(wire: Wire, url: &str) -> LockClient {
    client_with(wire.builder(), url).await
}

async fn client_with(builder: LockClientBuilder, url: &str) -> LockClient {
    connected(builder.lease(NEVER), url).await
}

/// Without those that outlive the locks by design.
fn lock_keys(keys: Vec<String>) -> Vec<String> {
    const STAY: [&str; 3] = ["lock_token:", "redisson_lock_token:", "lock_client:"];
    keys.into_iter().filter(|key| !STAY.iter().any(|stay| key.starts_with(stay))).collect()
}

/// How often a server has refused with this error code.
async fn refusals(cli: &lock_tests::Cli, code: &str) -> u64 {
    let info: String = cli.query(&["INFO", "errorstats"]).await;
    let line = format!("errorstat_{code}:count=");
    let count = info.lines().find_map(|it| it.strip_prefix(&line));
    count.map_or(0, |count| count.parse().unwrap())
}
