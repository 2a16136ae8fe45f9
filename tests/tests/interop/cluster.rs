//! In a cluster, where Redisson listens to the channels of the shards.

use lock_tests::{LIMIT, RedisCluster, Redisson, eventually};

use crate::{
    kinds::EXCLUDING,
    peer::{Java, Peer, Rust},
};

/// On every node: a waiter listens where the slot of its lock is.
async fn is_heard(cluster: &RedisCluster, key: &str) -> bool {
    let mut heard = false;
    for node in 0..RedisCluster::PRIMARIES {
        let channels = cluster.cli(node).await;
        let channels: Vec<String> = channels.query(&["PUBSUB", "SHARDCHANNELS"]).await;
        heard |= channels.iter().any(|channel| channel.contains(key));
    }
    heard
}

#[tokio::test]
async fn each_is_woken_by_the_other() {
    let redisson = Redisson::Current;
    let cluster = RedisCluster::start().await;
    let nodes = (0..RedisCluster::PRIMARIES).map(|at| cluster.node(at).url());
    let nodes = nodes.collect::<Vec<_>>().join(",");
    let java = Peer::start(Java, redisson, &[("CLUSTER_NODES", nodes)]).await;
    let rust = Peer::start(Rust, redisson, &[("REDIS_URL", cluster.url())]).await;
    for (turn, (holder, waiter)) in [(&java, &rust), (&rust, &java)].into_iter().enumerate() {
        for (holding, waiting) in EXCLUDING {
            let key = format!("{holding}:{waiting}:{turn}");
            holder.must("held", "a", format!("acquire {holding} {key} 0 600000")).await;
            waiter.must("busy", "b", format!("acquire {waiting} {key} 0 0")).await;
            assert!(!is_heard(&cluster, &key).await, "who does not wait does not listen");
            let granted = waiter.tell("b", format!("acquire {waiting} {key} 60000 0"));
            eventually("a waiter listens", LIMIT, async || is_heard(&cluster, &key).await).await;
            holder.must("released", "a", format!("release {holding} {key}")).await;
            granted.must("held").await;
            waiter.must("released", "b", format!("release {waiting} {key}")).await;
        }
    }
}
