//! The least rights with which a client works in a cluster and queries Sentinels, as
//! docs/deployments.md lists them on top of those for one server.

use std::time::Duration;

use lock_core::{LeaseState, LockClient};
use lock_tests::{
    Cli, LIMIT, RedisCluster, SentinelSetup, Wire, bounded, eventually, least_rights,
    listed_rights, on_every_wire,
};

use crate::deployments::{LONG, client};

on_every_wire! {
    in_a_cluster
    a_right_that_one_node_of_a_cluster_does_not_give_is_named
}

const DEPLOYMENTS: &str = include_str!("../../../../docs/deployments.md");

async fn in_a_cluster(wire: Wire) {
    let cluster = RedisCluster::builder().with_replicas().start().await;
    let mut user = vec!["ACL", "SETUSER", "locks", "on", ">secret", "resetchannels", "-@all"];
    user.extend(least_rights(wire));
    user.extend(listed_rights(DEPLOYMENTS, "### In a cluster"));
    // For `wait_for_replicas`.
    user.push("+wait");
    if RedisCluster::major_version() < 7 {
        user.retain(|word| !["+ssubscribe", "+sunsubscribe", "+spublish"].contains(word));
        for word in &mut user {
            *word = if *word == "+cluster|slots" { "+cluster" } else { word };
        }
    }
    for node in 0..2 * RedisCluster::PRIMARIES {
        let _: String = cluster.cli(node).await.query(&user).await;
    }
    let url = cluster.url().replace("redis+cluster://", "redis+cluster://locks:secret@");
    let careful = wire.builder().wait_for_replicas(1, Duration::from_secs(5));
    let here = careful.connect(&url).await.unwrap();
    let there = client(wire, &url).await;
    let mut guard =
        here.write("k").lease(Duration::from_secs(1)).max_hold(LONG).acquire().await.unwrap();
    let waiter = tokio::spawn(there.read("k").wait(LONG).acquire());
    eventually("renewed", LIMIT, async || guard.state() == LeaseState::Renewed).await;
    let slot = cluster.slot("lock:k").await;
    let from = (0..3).find(|at| RedisCluster::slots_of(*at).contains(&slot)).unwrap();
    cluster.move_slot(slot, from, (from + 1) % 3).await;
    guard.downgrade().await.unwrap();
    drop(bounded(LIMIT, waiter).await.unwrap().unwrap());
    guard.release().await.unwrap();
    assert!(here.health().await.is_ready());
    here.shutdown(LIMIT).await.unwrap();
    there.shutdown(LIMIT).await.unwrap();
    for node in 0..RedisCluster::PRIMARIES {
        let denied: Vec<redis::Value> = cluster.cli(node).await.query(&["ACL", "LOG"]).await;
        assert!(denied.is_empty(), "{denied:?}");
    }
}

/// Each node has users of its own.
async fn a_right_that_one_node_of_a_cluster_does_not_give_is_named(wire: Wire) {
    let cluster = RedisCluster::builder().start().await;
    let mut user = vec!["ACL", "SETUSER", "locks", "on", ">secret", "allkeys", "allchannels"];
    user.push("+@all");
    for node in 0..RedisCluster::PRIMARIES {
        let _: String = cluster.cli(node).await.query(&user).await;
    }
    // Whichever node has the requested name, two others do not.
    for node in 0..RedisCluster::PRIMARIES {
        let cli = cluster.cli(node).await;
        let _: String = cli.query(&["ACL", "SETUSER", "locks", "-pexpire"]).await;
        let url = cluster.url().replace("redis+cluster://", "redis+cluster://locks:secret@");
        let client = wire.builder().connect_lazy(&url).unwrap();
        let mut key = 0;
        eventually("the reason", LIMIT, async || {
            key += 1;
            let refused = client.write(format!("k{key}")).acquire().await.err();
            refused.is_some_and(|why| why.to_string().contains("ACL SETUSER locks +pexpire"))
        })
        .await;
        assert_eq!(without_end(&cli).await, [""; 0]);
        let _: String = cli.query(&["ACL", "SETUSER", "locks", "+pexpire"]).await;
    }
}

/// The keys of locks that stay forever.
async fn without_end(cli: &Cli) -> Vec<String> {
    let mut without_end = Vec::new();
    for name in cli.keys().await {
        if cli.pttl(&name).await == -1 && !name.starts_with("lock_token:") {
            without_end.push(name);
        }
    }
    without_end
}

#[tokio::test]
async fn at_sentinels() {
    let setup = SentinelSetup::start().await;
    let mut user = vec!["ACL", "SETUSER", "locks", "on", ">secret", "resetchannels", "-@all"];
    user.extend(listed_rights(DEPLOYMENTS, "### At Sentinels"));
    for at in 0..3 {
        let cli = setup.sentinel(at).cli().await;
        let _: String = cli.query(&user).await;
    }
    let builder = LockClient::builder().sentinel_credentials(Some("locks"), "secret");
    let client = builder.connect(&setup.url()).await.unwrap();
    drop(client.write("k").acquire().await.unwrap());
    for at in 0..3 {
        let denied: Vec<redis::Value> = setup.sentinel(at).cli().await.query(&["ACL", "LOG"]).await;
        assert!(denied.is_empty(), "{denied:?}");
    }
}
