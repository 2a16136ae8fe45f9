//! Messages reach the waiters, wherever the slot moves.

use lock_core::LockClient;
use lock_tests::{Cli, LIMIT, RedisCluster, Wire, bounded, eventually, on_every_wire};

use crate::deployments::{LONG, client};

on_every_wire! {
    a_waiter_is_woken_before_and_after_its_slot_moves
    channels_of_many_slots_are_subscribed_at_once
}

/// Far more than a waiter polls within the limit.
const MESSAGES: usize = 100;

fn verb() -> &'static str {
    if RedisCluster::major_version() >= 7 { "SPUBLISH" } else { "PUBLISH" }
}

/// The channel on which the waiter of `k` is woken. Before Redis 7 its client listens at any node.
async fn channel(wire: Wire, cluster: &RedisCluster) -> String {
    if wire == Wire::Redisson {
        return "redisson_rwlock:{lock:k}".to_owned();
    }
    let verb = if RedisCluster::major_version() >= 7 { "SHARDCHANNELS" } else { "CHANNELS" };
    let mut channels: Vec<String> = Vec::new();
    eventually("it listens", LIMIT, async || {
        for node in 0..RedisCluster::PRIMARIES {
            let node = cluster.cli(node).await;
            channels.extend(node.query::<Vec<String>>(&["PUBSUB", verb, "lock_wake:*"]).await);
        }
        !channels.is_empty()
    })
    .await;
    channels.swap_remove(0)
}

/// Each message makes the waiter retry.
async fn is_woken(node: &Cli, channel: &str) {
    bounded(LIMIT, async {
        for _ in 0..MESSAGES {
            let before = node.calls("evalsha").await;
            eventually("a subscriber is there", LIMIT, async || {
                node.query::<u64>(&[verb(), channel, "1"]).await > 0
                    || RedisCluster::major_version() < 7
            })
            .await;
            eventually("it looks", LIMIT, async || node.calls("evalsha").await > before).await;
        }
    })
    .await;
}

async fn a_waiter_is_woken_before_and_after_its_slot_moves(wire: Wire) {
    let cluster = RedisCluster::start().await;
    let slot = cluster.slot("lock:k").await;
    let from = (0..3).find(|at| RedisCluster::slots_of(*at).contains(&slot)).unwrap();
    let to = (from + 1) % 3;
    let (here, there): (LockClient, LockClient) =
        (client(wire, &cluster.url()).await, client(wire, &cluster.url()).await);
    // So long that nothing is renewed meanwhile.
    let guard = here.write("k").lease(LONG * 100).acquire().await.unwrap();
    let waiter = tokio::spawn(there.read("k").wait(LONG * 10).acquire());
    let channel = channel(wire, &cluster).await;
    let channel = channel.as_str();
    is_woken(&cluster.cli(from).await, channel).await;
    cluster.move_slot(slot, from, to).await;
    is_woken(&cluster.cli(to).await, channel).await;
    cluster.move_slot(slot, to, from).await;
    is_woken(&cluster.cli(from).await, channel).await;
    // The connection that listens is lost.
    let cli = cluster.cli(from).await;
    let _: u64 = cli.query(&["CLIENT", "KILL", "TYPE", "PUBSUB"]).await;
    is_woken(&cli, channel).await;
    guard.release().await.unwrap();
    bounded(LIMIT, waiter).await.unwrap().unwrap().release().await.unwrap();
}

async fn channels_of_many_slots_are_subscribed_at_once(wire: Wire) {
    let cluster = RedisCluster::start().await;
    let (here, there) = (client(wire, &cluster.url()).await, client(wire, &cluster.url()).await);
    let mut guards = Vec::new();
    let mut waiters = Vec::new();
    for number in 0..60 {
        let key = format!("k:{number}");
        guards.push(here.write(key.as_str()).lease(LONG * 10).acquire().await.unwrap());
        waiters.push(tokio::spawn(there.write(key).wait(LONG).acquire()));
    }
    let verb = if RedisCluster::major_version() >= 7 { "SHARDCHANNELS" } else { "CHANNELS" };
    eventually("all are listened to", LIMIT, async || {
        let mut received = 0;
        for node in 0..RedisCluster::PRIMARIES {
            received += cluster.cli(node).await.query::<Vec<String>>(&["PUBSUB", verb]).await.len();
        }
        received == 60
    })
    .await;
    for guard in guards {
        guard.release().await.unwrap();
    }
    for waiter in waiters {
        bounded(LIMIT, waiter).await.unwrap().unwrap().release().await.unwrap();
    }
    eventually("no subscriber is left", LIMIT, async || {
        let mut received = 0;
        for node in 0..RedisCluster::PRIMARIES {
            received += cluster.cli(node).await.query::<Vec<String>>(&["PUBSUB", verb]).await.len();
        }
        received == 0
    })
    .await;
}
