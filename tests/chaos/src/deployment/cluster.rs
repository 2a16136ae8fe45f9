//! A cluster: its primaries, and whether it serves all slots with all its nodes.

use lock_tests::RedisCluster;

use super::Admin;

/// As some node that answers sees it: each node's position, whether it is a primary, and its line.
pub(crate) async fn nodes(cluster: &RedisCluster) -> Vec<(usize, bool, String)> {
    for node in cluster.nodes().iter().filter(|node| node.runs()) {
        let reported = async { Admin::to(node).await?.ask::<String>(&["CLUSTER", "NODES"]).await };
        let Ok(reported) = reported.await else { continue };
        let position = |line: &str| {
            let port: u16 =
                line.split(' ').nth(1)?.split('@').next()?.rsplit(':').next()?.parse().ok()?;
            cluster.nodes().iter().position(|node| node.port() == port)
        };
        let seen = reported.lines().filter_map(|line| {
            let flags = line.split(' ').nth(2)?;
            let primary = flags.contains("master") && !flags.contains("fail");
            Some((position(line)?, primary, line.to_owned()))
        });
        return seen.collect();
    }
    Vec::new()
}

/// Primaries that have slots.
pub(super) async fn primaries(cluster: &RedisCluster) -> Vec<usize> {
    let nodes = nodes(cluster).await.into_iter();
    let with_slots = nodes.filter(|(_, primary, line)| *primary && line.split(' ').count() > 8);
    with_slots.map(|(at, ..)| at).collect()
}

pub(super) async fn is_whole(cluster: &RedisCluster) -> bool {
    if primaries(cluster).await.len() != RedisCluster::PRIMARIES {
        return false;
    }
    for node in cluster.nodes() {
        let in_step = async {
            let admin = Admin::to(node).await?;
            let state: String = admin.ask(&["CLUSTER", "INFO"]).await?;
            let replication: String = admin.ask(&["INFO", "replication"]).await?;
            let follows = ["state=online", "master_link_status:up"];
            redis::RedisResult::Ok(
                state.contains("cluster_state:ok")
                    && follows.iter().any(|line| replication.contains(line)),
            )
        };
        if !in_step.await.unwrap_or(false) {
            return false;
        }
    }
    true
}
