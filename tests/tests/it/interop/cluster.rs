//! In a cluster, where Redisson listens to the channels of the shards.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use lock_core::LockClient;
use lock_tests::{LIMIT, RedisCluster, Redisson, bounded, connected, eventually};

use crate::interop::{kinds::EXCLUDING, peer::Peer, session::Jvm};

/// A waiter of Redisson's misses a message that comes between its last try and its sleep, and not as
/// many.
const ROUNDS: usize = 5;

/// Where a waiter listens on any node, which is where the slot of its lock is.
async fn received(cluster: &RedisCluster, key: &str) -> Vec<(usize, String)> {
    let mut received = Vec::new();
    for node in 0..RedisCluster::PRIMARIES {
        let cli = cluster.cli(node).await;
        let channels: Vec<String> = cli.query(&["PUBSUB", "SHARDCHANNELS"]).await;
        let channels = channels.into_iter().filter(|channel| channel.contains(key));
        received.extend(channels.map(|channel| (node, channel)));
    }
    received
}

/// Whether the waiter is woken by the release.
async fn is_woken(
    cluster: &RedisCluster,
    (holder, holding): (&Peer, &str),
    (waiter, waiting): (&Peer, &str),
    key: &str,
) -> bool {
    holder.must("held", "a", format!("acquire {holding} {key} 0 600000")).await;
    waiter.must("busy", "b", format!("acquire {waiting} {key} 0 0")).await;
    assert!(
        received(cluster, key).await.is_empty(),
        "a caller that does not wait does not subscribe"
    );
    let granted = waiter.tell("b", format!("acquire {waiting} {key} 60000 0"));
    eventually("a waiter listens", LIMIT, async || !received(cluster, key).await.is_empty()).await;
    holder.must("released", "a", format!("release {holding} {key}")).await;
    let told_again = async || {
        for (node, channel) in received(cluster, key).await {
            let _: u64 = cluster.cli(node).await.query(&["SPUBLISH", &channel, "1"]).await;
        }
    };
    let woken = granted.answered_before(told_again).await;
    granted.must("held").await;
    waiter.must("released", "b", format!("release {waiting} {key}")).await;
    woken
}

async fn java(cluster: &RedisCluster) -> Peer {
    let nodes = (0..RedisCluster::PRIMARIES).map(|at| cluster.node(at).url());
    let nodes = nodes.collect::<Vec<_>>().join(",");
    Peer::java(Jvm::Shared, Redisson::Current, &[("CLUSTER_NODES", nodes)]).await
}

#[tokio::test]
async fn each_is_woken_by_the_other() {
    let cluster = RedisCluster::start().await;
    let java = java(&cluster).await;
    let rust = Peer::rust(&[("LOCK_URL", cluster.url())]).await;
    for (turn, (holder, waiter)) in [(&java, &rust), (&rust, &java)].into_iter().enumerate() {
        for (holding, waiting) in EXCLUDING {
            let mut rounds = 0;
            let woken = loop {
                let key = format!("{holding}:{waiting}:{turn}:{rounds}");
                rounds += 1;
                let woken = is_woken(&cluster, (holder, holding), (waiter, waiting), &key).await;
                if woken || rounds == ROUNDS {
                    break woken;
                }
            };
            assert!(woken, "{holding} {waiting} {turn}");
        }
    }
}

/// A virtual machine's first turns take it a while.
const FIRST_TURNS: u64 = 10;
const JAVA_TURNS: u64 = 40;
/// As on one server.
const BETWEEN_JAVAS: u64 = 10;

/// The answer to the publication of a release counts the listeners of one node. They are all at that of the
/// lock's slot.
#[tokio::test]
async fn java_gets_turns_beside_a_task_that_takes_the_lock_again_at_once() {
    let cluster = RedisCluster::start().await;
    let java = java(&cluster).await;
    let client = connected(LockClient::builder().redisson(), &cluster.url()).await;
    for kind in ["reentrant", "write"] {
        let turns = Arc::new(AtomicU64::new(0));
        let counted = Arc::clone(&turns);
        let client = client.clone();
        let task = tokio::spawn(async move {
            loop {
                let lock =
                    if kind == "write" { client.write(kind) } else { client.reentrant(kind) };
                let guard = lock.wait(LIMIT).acquire().await.expect("a turn");
                counted.fetch_add(1, Ordering::Relaxed);
                guard.release().await.expect("it was held");
            }
        });
        let mut between = Vec::new();
        for turn in 0..FIRST_TURNS + JAVA_TURNS {
            // Java waits from here on.
            let before = turns.load(Ordering::Relaxed);
            java.must("held", "a", format!("acquire {kind} {kind} 60000 0")).await;
            if turn >= FIRST_TURNS {
                between.push(turns.load(Ordering::Relaxed) - before);
            }
            java.must("released", "a", format!("release {kind} {kind}")).await;
            eventually("a turn of ours", LIMIT, async || turns.load(Ordering::Relaxed) > before)
                .await;
        }
        between.sort_unstable();
        println!("{kind}: {between:?} turns before each of Java's");
        task.abort();
        assert!(bounded(LIMIT, task).await.is_err_and(|ended| ended.is_cancelled()));
        // A virtual machine without a processor is late now and then.
        assert!(between[between.len() / 2] <= BETWEEN_JAVAS, "{kind}: {between:?}");
    }
}
