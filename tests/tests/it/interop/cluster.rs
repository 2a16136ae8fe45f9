//! In a cluster, where Redisson listens to the channels of the shards.

use lock_tests::{LIMIT, RedisCluster, Redisson, eventually};

use crate::interop::{kinds::EXCLUDING, peer::Peer, session::Jvm};

/// A waiter of Redisson's misses a message that comes between its last try and its sleep, and not as
/// many.
const ROUNDS: usize = 5;

/// Where a waiter listens on any node, which is where the slot of its lock is.
async fn heard(cluster: &RedisCluster, key: &str) -> Vec<(usize, String)> {
    let mut heard = Vec::new();
    for node in 0..RedisCluster::PRIMARIES {
        let cli = cluster.cli(node).await;
        let channels: Vec<String> = cli.query(&["PUBSUB", "SHARDCHANNELS"]).await;
        let channels = channels.into_iter().filter(|channel| channel.contains(key));
        heard.extend(channels.map(|channel| (node, channel)));
    }
    heard
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
    assert!(heard(cluster, key).await.is_empty(), "a caller that does not wait does not subscribe");
    let granted = waiter.tell("b", format!("acquire {waiting} {key} 60000 0"));
    eventually("a waiter listens", LIMIT, async || !heard(cluster, key).await.is_empty()).await;
    holder.must("released", "a", format!("release {holding} {key}")).await;
    let told_again = async || {
        for (node, channel) in heard(cluster, key).await {
            let _: u64 = cluster.cli(node).await.query(&["SPUBLISH", &channel, "1"]).await;
        }
    };
    let woken = granted.answered_before(told_again).await;
    granted.must("held").await;
    waiter.must("released", "b", format!("release {waiting} {key}")).await;
    woken
}

#[tokio::test]
async fn each_is_woken_by_the_other() {
    let cluster = RedisCluster::start().await;
    let nodes = (0..RedisCluster::PRIMARIES).map(|at| cluster.node(at).url());
    let nodes = nodes.collect::<Vec<_>>().join(",");
    let java = Peer::java(Jvm::Shared, Redisson::Current, &[("CLUSTER_NODES", nodes)]).await;
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
