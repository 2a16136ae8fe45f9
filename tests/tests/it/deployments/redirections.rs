//! MOVED, ASK and TRYAGAIN: a node that redirects a client, or lets it wait.

use lock_core::{AcquireError, LockClient};
use lock_tests::{LIMIT, RedisCluster, Wire, bounded, eventually, on_every_wire};

use crate::deployments::{client, lock_keys, refusals};

on_every_wire! {
    a_slot_that_has_moved_is_followed
    a_slot_that_is_moving_is_waited_for
    a_slot_that_moves_for_too_long_is_unavailable
    scripts_that_were_flushed_are_loaded_again
    a_cluster_that_is_down_is_waited_for
}

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

async fn patient(wire: Wire, cluster: &RedisCluster) -> LockClient {
    let builder = wire.builder().command_timeout(LIMIT);
    builder.connect(&cluster.url()).await.unwrap()
}

async fn a_slot_that_has_moved_is_followed(wire: Wire) {
    let cluster = RedisCluster::start().await;
    let (key, slot) = first_key(&cluster).await;
    let client = client(wire, &cluster.url()).await;
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

async fn a_slot_that_is_moving_is_waited_for(wire: Wire) {
    let cluster = RedisCluster::start().await;
    let (key, slot) = first_key(&cluster).await;
    let client = patient(wire, &cluster).await;
    let mut held = client.write(key.as_str()).acquire().await.unwrap();
    cluster.begin_move(slot, 0, 1).await;
    // Some names of this lock exist and some do not: its node cannot redirect.
    let changing = tokio::spawn(async move {
        held.downgrade().await.unwrap();
        held
    });
    let (source, target) = (cluster.cli(0).await, cluster.cli(1).await);
    eventually("reported to try again", LIMIT, async || {
        // Redis before 7 sends it to the other node even then.
        refusals(&source, "TRYAGAIN").await + refusals(&target, "TRYAGAIN").await > 1
    })
    .await;
    // Of this one none exists, except on the native wire the counter of the slot's tokens: the other node
    // is tried, which cannot redirect either.
    let fresh = format!("fresh:{{lock:{key}}}");
    assert_eq!(cluster.slot(&format!("lock:{fresh}")).await, slot);
    let before = refusals(&source, "TRYAGAIN").await;
    let acquiring = tokio::spawn(client.write(fresh).acquire());
    // Redis before 7 redirects that one too.
    eventually("reported to try again, or sent to the other", LIMIT, async || {
        let tries_again = refusals(&source, "TRYAGAIN").await > before + 1;
        let redirected = refusals(&source, "ASK").await > 1;
        let cannot_be_redirected = redirected && refusals(&target, "TRYAGAIN").await > 1;
        (wire == Wire::Native && tries_again) || cannot_be_redirected
    })
    .await;
    cluster.move_keys(slot, 0, 1).await;
    cluster.end_move(slot, 0, 1).await;
    bounded(LIMIT, changing).await.unwrap().release().await.unwrap();
    bounded(LIMIT, acquiring).await.unwrap().unwrap().release().await.unwrap();
    assert_eq!(lock_keys(cluster.keys().await), [""; 0]);
}

async fn a_slot_that_moves_for_too_long_is_unavailable(wire: Wire) {
    let cluster = RedisCluster::start().await;
    let (key, slot) = first_key(&cluster).await;
    let client = client(wire, &cluster.url()).await;
    cluster.begin_move(slot, 0, 1).await;
    let refused = client.write(key.as_str()).acquire().await.unwrap_err();
    assert!(matches!(refused, AcquireError::Unavailable(_)), "{refused}");
    cluster.end_move(slot, 0, 1).await;
    eventually("granted", LIMIT, async || client.write(key.as_str()).acquire().await.is_ok()).await;
}

async fn scripts_that_were_flushed_are_loaded_again(wire: Wire) {
    let cluster = RedisCluster::start().await;
    let client = client(wire, &cluster.url()).await;
    drop(client.write("warm").acquire().await.unwrap());
    for node in 0..RedisCluster::PRIMARIES {
        let () = cluster.cli(node).await.query(&["SCRIPT", "FLUSH"]).await;
    }
    for number in 0..10 {
        drop(client.write(format!("k:{number}")).acquire().await.unwrap());
    }
}

async fn a_cluster_that_is_down_is_waited_for(wire: Wire) {
    let cluster = RedisCluster::start().await;
    let (key, slot) = first_key(&cluster).await;
    let client = patient(wire, &cluster).await;
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
