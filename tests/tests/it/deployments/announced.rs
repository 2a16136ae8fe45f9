//! A cluster that announces addresses which no client can reach, as one behind NAT or in containers does.

use std::time::Duration;

use lock_core::{ConnectError, LockClient, LockClientBuilder};
use lock_tests::{LIMIT, RedisCluster, RedisServer, bounded, eventually};

use crate::deployments::{client_with, life::lives};

/// Reserved for documentation: nothing is ever there.
const NOWHERE: &str = "192.0.2.1";
const NO_NAME: &str = "nowhere.invalid";

/// A cluster of one node, which has all slots.
async fn one_node() -> RedisServer {
    let node = RedisServer::builder()
        .args(["--cluster-enabled", "yes", "--cluster-announce-ip", NOWHERE])
        .start()
        .await;
    let cli = node.cli().await;
    let slots: Vec<_> = (0..16_384).map(|slot| slot.to_string()).collect();
    let mut words = vec!["CLUSTER", "ADDSLOTS"];
    words.extend(slots.iter().map(String::as_str));
    let () = cli.query(&words).await;
    eventually("all slots are served", LIMIT, async || {
        let info: String = cli.query(&["CLUSTER", "INFO"]).await;
        info.contains("cluster_state:ok")
    })
    .await;
    node
}

fn builder() -> LockClientBuilder {
    LockClient::builder().connect_timeout(Duration::from_secs(1))
}

fn assert_explained(text: &str, seed: &str) {
    for part in [NOWHERE, seed, "announces", "cluster-announce-ip", "map_address"] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[tokio::test]
async fn addresses_that_are_not_reached_are_explained() {
    let node = one_node().await;
    let seed = node.addr().to_string();
    let url = format!("redis+cluster://{seed}");
    let error = bounded(LIMIT, builder().connect(&url)).await.unwrap_err();
    assert!(matches!(error, ConnectError::Unreachable { .. }), "{error:?}");
    assert_explained(&error.to_string(), &seed);
    let lazy = builder().connect_lazy(&url).unwrap();
    eventually("the reason", LIMIT, async || {
        let why = lazy.write("k").acquire().await.unwrap_err().to_string();
        let explained = why.contains("announces");
        if explained {
            assert_explained(&why, &seed);
        }
        explained
    })
    .await;
}

/// That of the URL is used as it was given.
fn mapped(announced: &'static str) -> LockClientBuilder {
    builder().map_address(move |host, port| {
        assert_eq!(host, announced);
        ("127.0.0.1".to_owned(), port)
    })
}

#[tokio::test]
async fn addresses_that_are_mapped_are_used() {
    let node = one_node().await;
    let url = format!("redis+cluster://{}", node.addr());
    let client = || client_with(mapped(NOWHERE), &url);
    let cli = node.cli().await;
    let delete = async |key: &str| assert!(cli.del(key).await);
    lives(client().await, client().await, delete).await;
}

/// Before Redis 7 nodes have no names.
#[tokio::test]
async fn so_are_those_of_redirections() {
    if RedisCluster::major_version() < 7 {
        return;
    }
    let names = ["--cluster-announce-hostname", NO_NAME];
    let names = names.into_iter().chain(["--cluster-preferred-endpoint-type", "hostname"]);
    let cluster = RedisCluster::builder().args(names).start().await;
    let url = format!("redis+cluster://{}", cluster.node(0).addr());
    let client = client_with(mapped(NO_NAME), &url).await;
    let slot = cluster.slot("lock:moved").await;
    let from = (0..3).find(|at| RedisCluster::slots_of(*at).contains(&slot)).unwrap();
    client.write("moved").acquire().await.unwrap().release().await.unwrap();
    cluster.move_slot(slot, from, (from + 1) % 3).await;
    client.write("moved").acquire().await.unwrap().release().await.unwrap();
    for number in 0..30 {
        drop(client.write(format!("k:{number}")).acquire().await.unwrap());
    }
}
