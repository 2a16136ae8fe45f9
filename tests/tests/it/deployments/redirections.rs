//! MOVED, ASK and TRYAGAIN: a node that redirects a client, or lets it wait.

use lock_core::{AcquireError, LockClient};
use lock_tests::{LIMIT, RedisCluster, bounded, eventually};

use crate::deployments::{client, lock_keys, refusals};

/// A key of the first node, and its slot.
async fn first_key(cluster: &RedisCluster) -> (String, u16) {
    for number in 0.. {
        let key = format!("k:{number}");
        let slot = cluster.slot(&format!("lock:{key}")).await;
        if RedisCluster::slots_of(0).contains(&slot) {
            return (key, slot);
        }
    }
    unreachable!("there are more keys than slots")
}

async fn patient(cluster: &RedisCluster) -> LockClient {
    let builder = LockClient::builder().command_timeout(LIMIT);
    builder.connect(&cluster.url()).await.unwrap()
}

#[tokio::test]
async fn a_slot_that_has_moved_is_followed() {
    let cluster = RedisCluster::start().await;
    let (key, slot) = first_key(&cluster).await;
    let client = client(&cluster.url()).await;
    // A client that reads the map just then is not redirected.
    bounded(LIMIT, async {
        loop {
            let guard = client.write(key.as_str()).acquire().await.unwrap();
            cluster.move_slot(slot, 0, 1).await;
            guard.release().await.unwrap();
            if refusals(&cluster.cli(0).await, "MOVED").await > 0 {
                return;
            }
            cluster.move_slot(slot, 1, 0).await;
        }
    })
    .await;
    assert_eq!(lock_keys(cluster.keys().await), [""; 0]);
    // What was learned is kept, once the node that is queried for the map has it too.
    eventually("it is not sent elsewhere any more", LIMIT, async || {
        let moved = refusals(&cluster.cli(0).await, "MOVED").await;
        for _ in 0..5 {
            client.write(key.as_str()).acquire().await.unwrap().release().await.unwrap();
        }
        refusals(&cluster.cli(0).await, "MOVED").await == moved
    })
    .await;
}

#[tokio::test]
async fn a_slot_that_is_moving_is_waited_for() {
    let cluster = RedisCluster::start().await;
    let (key, slot) = first_key(&cluster).await;
    let client = patient(&cluster).await;
    let held = client.write(key.as_str()).acquire().await.unwrap();
    cluster.begin_move(slot, 0, 1).await;
    // Some names of this lock exist and some do not: its node cannot redirect.
    let releasing = tokio::spawn(held.release());
    let (source, target) = (cluster.cli(0).await, cluster.cli(1).await);
    eventually("told to try again", LIMIT, async || {
        // Redis before 7 sends it to the other node even then.
        refusals(&source, "TRYAGAIN").await + refusals(&target, "TRYAGAIN").await > 1
    })
    .await;
    // Of this one none exists: the other node is tried, which cannot redirect either.
    let fresh = format!("fresh:{{lock:{key}}}");
    assert_eq!(cluster.slot(&format!("lock:{fresh}")).await, slot);
    let acquiring = tokio::spawn(client.write(fresh).acquire());
    eventually("sent to the other", LIMIT, async || {
        refusals(&source, "ASK").await > 1 && refusals(&target, "TRYAGAIN").await > 1
    })
    .await;
    cluster.move_keys(slot, 0, 1).await;
    cluster.end_move(slot, 0, 1).await;
    bounded(LIMIT, releasing).await.unwrap().unwrap();
    bounded(LIMIT, acquiring).await.unwrap().unwrap().release().await.unwrap();
    assert_eq!(lock_keys(cluster.keys().await), [""; 0]);
}

#[tokio::test]
async fn a_slot_that_moves_for_too_long_is_unavailable() {
    let cluster = RedisCluster::start().await;
    let (key, slot) = first_key(&cluster).await;
    let client = client(&cluster.url()).await;
    cluster.begin_move(slot, 0, 1).await;
    let refused = client.write(key.as_str()).acquire().await.unwrap_err();
    assert!(matches!(refused, AcquireError::Unavailable(_)), "{refused}");
    cluster.end_move(slot, 0, 1).await;
    eventually("granted", LIMIT, async || client.write(key.as_str()).acquire().await.is_ok()).await;
}

#[tokio::test]
async fn scripts_that_were_flushed_are_loaded_again() {
    let cluster = RedisCluster::start().await;
    let client = client(&cluster.url()).await;
    drop(client.write("warm").acquire().await.unwrap());
    for node in 0..RedisCluster::PRIMARIES {
        let () = cluster.cli(node).await.query(&["SCRIPT", "FLUSH"]).await;
    }
    for number in 0..10 {
        drop(client.write(format!("k:{number}")).acquire().await.unwrap());
    }
}

#[tokio::test]
async fn a_cluster_that_is_down_is_waited_for() {
    let cluster = RedisCluster::start().await;
    let (key, slot) = first_key(&cluster).await;
    let client = patient(&cluster).await;
    let cli = cluster.cli(0).await;
    let () = cli.query(&["CLUSTER", "DELSLOTS", &slot.to_string()]).await;
    let acquiring = tokio::spawn(client.write(key.as_str()).acquire());
    eventually("refused, or seen to have no node", LIMIT, async || {
        let warnings = client.health().await.warnings;
        refusals(&cli, "CLUSTERDOWN").await > 1
            || warnings.iter().any(|warning| warning.contains("have no node"))
    })
    .await;
    assert!(!acquiring.is_finished());
    let () = cli.query(&["CLUSTER", "ADDSLOTS", &slot.to_string()]).await;
    drop(bounded(LIMIT, acquiring).await.unwrap().unwrap());
}
