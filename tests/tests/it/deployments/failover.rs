//! A primary of a cluster dies and its replica takes over.

use std::time::Duration;

use lock_core::{AcquireError, LeaseState};
use lock_tests::{LIMIT, RedisCluster, Wire, bounded, eventually, on_every_wire};

use crate::deployments::{LONG, client};

on_every_wire! {
    a_primary_that_died
    a_primary_that_hangs
    a_primary_that_steps_down
}

/// Long enough for a failover on a slow machine, which takes two or three seconds on another.
const LEASE: Duration = Duration::from_secs(12);

async fn is_followed(wire: Wire, fail: impl AsyncFnOnce(&RedisCluster)) {
    let cluster = RedisCluster::builder().with_replicas().start().await;
    let builder = wire.builder().wait_for_replicas(1, Duration::from_secs(5));
    let here = builder.connect(&cluster.url()).await.unwrap();
    let there = client(wire, &cluster.url()).await;
    let mut key = String::new();
    for number in 0..100 {
        key = format!("k:{number}");
        if RedisCluster::slots_of(0).contains(&cluster.slot(&format!("lock:{key}")).await) {
            break;
        }
    }
    // Confirmed by the replica, so the failover cannot forget them.
    let held = here.write(format!("held:{{lock:{key}}}")).lease(LEASE).acquire().await.unwrap();
    let blocking = here.write(key.as_str()).lease(LEASE).acquire().await.unwrap();
    let token = blocking.fencing_token();
    let waiter = tokio::spawn(async move {
        loop {
            match there.read(key.as_str()).wait(LONG).acquire().await {
                Err(AcquireError::Unavailable(_)) => {
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
                granted => return granted.unwrap().fencing_token(),
            }
        }
    });
    fail(&cluster).await;
    eventually("the replica has taken over", LIMIT, async || {
        let replica = cluster.cli(RedisCluster::PRIMARIES).await;
        let info = replica.try_query::<String>(&["INFO", "replication"]).await;
        info.is_ok_and(|info| info.contains("role:master"))
    })
    .await;
    let _ = blocking.release().await;
    assert!(bounded(LIMIT, waiter).await.unwrap() > token);
    eventually("renewed", LIMIT, async || held.state() == LeaseState::Renewed).await;
    held.release().await.unwrap();
}

async fn a_primary_that_died(wire: Wire) {
    is_followed(wire, async |cluster| cluster.node(0).kill()).await;
}

async fn a_primary_that_hangs(wire: Wire) {
    is_followed(wire, async |cluster| cluster.node(0).pause()).await;
}

async fn a_primary_that_steps_down(wire: Wire) {
    is_followed(wire, async |cluster| {
        let () = cluster.cli(RedisCluster::PRIMARIES).await.query(&["CLUSTER", "FAILOVER"]).await;
    })
    .await;
}
