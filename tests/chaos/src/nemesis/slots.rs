//! Slots of a cluster move: row 20.

use lock_tests::RedisCluster;
use redis::{RedisResult, Value};
use tokio::time::sleep;

use super::servers::{Injected, because, insist};
use crate::{
    deployment::{Admin, Deployment, cluster_nodes},
    keys,
    schedule::Planned,
};

/// A slot that some key of the campaign is in.
async fn some_slot(cluster: &RedisCluster, planned: &Planned) -> RedisResult<String> {
    let count = keys::all().count();
    let at = usize::try_from(planned.amount >> 8).unwrap_or(0) % count;
    let key = keys::all().nth(at).unwrap_or_default();
    let admin = Admin::to(cluster.node(0)).await?;
    let slot: u16 = admin.ask(&["CLUSTER", "KEYSLOT", &format!("lock:{key}")]).await?;
    Ok(slot.to_string())
}

/// Primaries by position and name, and the position of the one that has a slot.
async fn primaries(cluster: &RedisCluster, slot: &str) -> (Vec<(usize, String)>, Option<usize>) {
    let number: u16 = slot.parse().unwrap_or_default();
    let has = |range: &str| match range.split_once('-') {
        Some((first, last)) => {
            first.parse().is_ok_and(|first: u16| first <= number)
                && last.parse().is_ok_and(|last: u16| number <= last)
        }
        None => range.parse() == Ok(number),
    };
    let (mut primaries, mut owner) = (Vec::new(), None);
    for (at, primary, line) in cluster_nodes(cluster).await {
        let words: Vec<&str> = line.split(' ').collect();
        if primary && words.len() > 8 {
            primaries.push((at, words[0].to_owned()));
            if words[8..].iter().any(|range| has(range)) {
                owner = Some(at);
            }
        }
    }
    (primaries, owner)
}

pub(super) async fn replica_of(cluster: &RedisCluster, at: usize) -> Option<usize> {
    let nodes = cluster_nodes(cluster).await;
    let name = nodes.iter().find(|(node, ..)| *node == at)?.2.split(' ').next()?.to_owned();
    let follows = |line: &str| line.split(' ').nth(3) == Some(&name);
    nodes.iter().find(|(_, primary, line)| !primary && follows(line)).map(|(node, ..)| *node)
}

/// A slot moves to another primary with its keys, while they are locked.
pub(super) async fn move_one(deployment: &Deployment, planned: &Planned) -> Injected {
    let Deployment::Cluster(cluster) = deployment else {
        return Err("only a cluster has slots".to_owned());
    };
    let slot = some_slot(cluster, planned).await.map_err(because)?;
    let (primaries, owner) = primaries(cluster, &slot).await;
    let name = |at| primaries.iter().find(|(node, _)| *node == at).map(|(_, name)| name.clone());
    let from = owner.ok_or("the slot has no owner")?;
    let others: Vec<usize> = primaries.iter().map(|(at, _)| *at).filter(|at| *at != from).collect();
    let to = *others
        .get(usize::try_from(planned.amount & 1).map_err(because)?)
        .ok_or("there is no other primary")?;
    let (source, target) = (name(from).unwrap_or_default(), name(to).unwrap_or_default());
    let tell =
        async |at: usize, words: &[&str]| Admin::to(cluster.node(at)).await?.tell(words).await;
    let done = async {
        tell(to, &["CLUSTER", "SETSLOT", &slot, "IMPORTING", &source]).await?;
        tell(from, &["CLUSTER", "SETSLOT", &slot, "MIGRATING", &target]).await?;
        sleep(planned.lasts).await;
        move_keys(cluster, &slot, from, to).await
    };
    let done = done.await;
    // All nodes are informed of the slot's owner, or clients would be redirected in circles.
    let (new, owner) = if done.is_ok() { (to, target) } else { (from, source) };
    let mut reported = vec![new];
    reported.extend(primaries.iter().map(|(at, _)| *at).filter(|at| *at != new));
    for at in reported {
        let words = ["CLUSTER", "SETSLOT", &slot, "NODE", &owner];
        insist("the slot to be given", || tell(at, &words)).await;
    }
    done.map_err(because)
}

async fn move_keys(cluster: &RedisCluster, slot: &str, from: usize, to: usize) -> RedisResult<()> {
    let admin = Admin::to(cluster.node(from)).await?;
    let port = cluster.node(to).port().to_string();
    loop {
        let keys: Vec<String> = admin.ask(&["CLUSTER", "GETKEYSINSLOT", slot, "100"]).await?;
        if keys.is_empty() {
            return Ok(());
        }
        let mut words = vec!["MIGRATE", "127.0.0.1", &port, "", "0", "2000", "KEYS"];
        words.extend(keys.iter().map(String::as_str));
        let _: Value = admin.ask(&words).await?;
    }
}
