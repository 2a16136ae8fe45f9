//! A cluster: every lock is with the node that has its slot.

use lock_core::{ConnectError, LockClient};
use lock_tests::{
    LIMIT, RedisCluster, RedisServer, Wire, bounded, eventually, free_port, on_every_wire,
};

use crate::deployments::{client, life::lives, lock_keys};

on_every_wire! {
    locks_live_in_their_slots
    a_server_that_is_no_cluster_and_a_node_that_is
}

async fn locks_live_in_their_slots(wire: Wire) {
    let cluster = RedisCluster::start().await;
    let delete = async |key: &str| {
        let slot = cluster.slot(key).await;
        let at =
            (0..RedisCluster::PRIMARIES).find(|at| RedisCluster::slots_of(*at).contains(&slot));
        assert!(cluster.cli(at.unwrap()).await.del(key).await);
    };
    let (here, there) = (client(wire, &cluster.url()).await, client(wire, &cluster.url()).await);
    eventually("two clients have their names", LIMIT, async || {
        let keys = cluster.keys().await;
        keys.iter().filter(|key| key.starts_with("lock_client:")).count() == 2
    })
    .await;
    lives(here, there, delete).await;
    assert_eq!(lock_keys(cluster.keys().await), [""; 0]);
    let names = async || cluster.keys().await.iter().any(|key| key.starts_with("lock_client:"));
    assert!(!names().await, "a shutdown takes the name away");
}

#[tokio::test]
async fn one_address_is_enough_and_dead_ones_do_no_harm() {
    let cluster = RedisCluster::start().await;
    let url = format!("redis+cluster://127.0.0.1:{},{}", free_port(), cluster.node(1).addr());
    let client = client(Wire::Native, &url).await;
    for number in 0..30 {
        drop(client.write(format!("k:{number}")).acquire().await.unwrap());
    }
}

#[tokio::test]
async fn a_lazy_client_finds_the_cluster_by_itself() {
    let cluster = RedisCluster::start().await;
    let client = LockClient::builder().connect_lazy(&cluster.url()).unwrap();
    eventually("connected", LIMIT, async || client.write("k").acquire().await.is_ok()).await;
}

#[tokio::test]
async fn an_eviction_policy_of_one_node_is_warned_of() {
    let cluster = RedisCluster::start().await;
    let words = ["CONFIG", "SET", "maxmemory-policy", "allkeys-lru"];
    let () = cluster.cli(2).await.query(&words).await;
    let client = client(Wire::Native, &cluster.url()).await;
    eventually("warned", LIMIT, async || {
        client.health().await.warnings.iter().any(|warning| warning.contains("allkeys-lru"))
    })
    .await;
}

async fn a_server_that_is_no_cluster_and_a_node_that_is(wire: Wire) {
    let server = RedisServer::start().await;
    let url = format!("redis+cluster://{}", server.addr());
    let error = bounded(LIMIT, wire.builder().connect(&url)).await.unwrap_err();
    assert!(matches!(error, ConnectError::Unsuitable { .. }), "{error}");
    assert!(error.to_string().contains("not in a cluster"), "{error}");

    let cluster = RedisCluster::start().await;
    // Whether this node has the slot of the probe or not: one of its locks is elsewhere.
    let client = wire.builder().connect_lazy(&cluster.node(0).url()).unwrap();
    let mut reported = false;
    for number in 0..30 {
        if let Err(error) = client.write(format!("k:{number}")).acquire().await {
            reported |= error.to_string().contains("redis+cluster://");
        }
    }
    assert!(reported);
}
