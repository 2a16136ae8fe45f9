//! The least rights with which a client works in a cluster and queries Sentinels, as
//! docs/deployments.md lists them on top of docs/redisson.md.

use std::time::Duration;

use lock_core::{LeaseState, LockClient};
use lock_tests::{LIMIT, RedisCluster, SentinelSetup, bounded, eventually};

use crate::deployments::{LONG, client};

const ONE_SERVER: &str = include_str!("../../../../docs/redisson.md");
const DEPLOYMENTS: &str = include_str!("../../../../docs/deployments.md");

/// The words of the first block after a heading.
fn rights(document: &'static str, heading: &str) -> Vec<&'static str> {
    let (_, rest) = document.split_once(heading).unwrap();
    let block = rest.split("```").nth(1).unwrap();
    block.split_whitespace().filter(|word| word.starts_with(['+', '~', '&'])).collect()
}

#[tokio::test]
async fn in_a_cluster() {
    let cluster = RedisCluster::builder().with_replicas().start().await;
    let mut user = vec!["ACL", "SETUSER", "locks", "on", ">secret", "resetchannels", "-@all"];
    user.extend(rights(ONE_SERVER, "### A whole client"));
    user.extend(rights(DEPLOYMENTS, "### In a cluster"));
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
    let careful = LockClient::builder().wait_for_replicas(1, Duration::from_secs(5));
    let here = careful.connect(&url).await.unwrap();
    let there = client(&url).await;
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
#[tokio::test]
async fn a_right_that_one_node_of_a_cluster_does_not_give_is_named() {
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
        let client = LockClient::builder().connect_lazy(&url).unwrap();
        let mut key = 0;
        eventually("the reason", LIMIT, async || {
            key += 1;
            let refused = client.write(format!("k{key}")).acquire().await.err();
            refused.is_some_and(|why| why.to_string().contains("ACL SETUSER <user> +pexpire"))
        })
        .await;
        for (name, ttl) in ttls(&cli).await {
            assert!(ttl >= 0, "{name} stays for ever");
        }
        let _: String = cli.query(&["ACL", "SETUSER", "locks", "+pexpire"]).await;
    }
}

async fn ttls(cli: &lock_tests::Cli) -> Vec<(String, i64)> {
    let mut ttls = Vec::new();
    for name in cli.keys().await {
        let ttl = cli.pttl(&name).await;
        ttls.push((name, ttl));
    }
    ttls
}

#[tokio::test]
async fn at_sentinels() {
    let setup = SentinelSetup::start().await;
    let mut user = vec!["ACL", "SETUSER", "locks", "on", ">secret", "resetchannels", "-@all"];
    user.extend(rights(DEPLOYMENTS, "### At Sentinels"));
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
