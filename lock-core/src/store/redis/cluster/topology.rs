//! Keeps up with who has which slot.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use futures_util::stream::{FuturesUnordered, StreamExt};
use redis::RedisError;
use tokio::{sync::mpsc, time::Instant};

use super::{Cluster, slot_map::Map};
use crate::store::redis::{
    connect::{ConnectError, Target},
    connection::{Wire, check_server, has_shard_channels},
};

/// The map is looked at anew this often, though nobody complains.
const NOW_AND_THEN: Duration = Duration::from_secs(30);
/// While something is amiss it is looked at this often at first, then less and less.
const SOONEST: Duration = Duration::from_millis(20);
const LATEST: Duration = Duration::from_secs(1);
/// A node that stands still must not keep the others from being asked.
const ONE_ANSWER: Duration = Duration::from_millis(500);

impl Cluster {
    /// Keeps the map up to date until this is closed.
    pub(crate) async fn maintain(self: Arc<Self>) {
        tokio::select! {
            () = self.closed.cancelled() => {}
            () = self.keep_map() => {}
        }
        self.close();
    }

    async fn keep_map(self: &Arc<Self>) {
        let mut pause = SOONEST;
        loop {
            let looked = Instant::now();
            match self.learn().await {
                Ok((map, sharded)) => {
                    self.why_down.lock().clear();
                    if self.install(map, sharded) {
                        pause = SOONEST;
                    }
                    tokio::time::sleep(pause).await;
                    let doubted = self.doubted.notified();
                    let _ = tokio::time::timeout(NOW_AND_THEN, doubted).await;
                }
                Err(why) => {
                    tracing::debug!(redis = %self, %why, "cannot see who has which slot");
                    *self.why_down.lock() = why.to_string();
                    tokio::time::sleep(pause).await;
                }
            }
            pause = if looked.elapsed() > LATEST * 4 { SOONEST } else { (pause * 2).min(LATEST) };
        }
    }

    /// Asks a node that is connected, or else everybody, who has which slot.
    async fn learn(&self) -> Result<(Map, bool), ConnectError> {
        let up: Vec<_> = self.nodes.lock().values().filter_map(|node| node.link.now()).collect();
        let slots = redis::cmd("CLUSTER").arg("SLOTS").to_owned();
        let first = self.turn.fetch_add(1, Ordering::Relaxed);
        for at in 0..up.len() {
            let (target, wire) = &up[(first.wrapping_add(at)) % up.len()];
            let answer = wire.query(&slots);
            let answer = tokio::time::timeout(ONE_ANSWER, answer).await;
            if let Ok(Ok(answer)) = answer
                && let Some(map) = Map::parse(&answer, &target.endpoint)
            {
                return Ok((map, wire.sharded));
            }
        }
        let mut everybody = self.map.borrow().everybody();
        everybody.extend(self.seeds.iter().cloned());
        self.ask_any(everybody.into_iter().map(|node| self.node.elsewhere(node))).await
    }

    async fn ask_any(
        &self,
        nodes: impl Iterator<Item = Target>,
    ) -> Result<(Map, bool), ConnectError> {
        let asked = nodes.map(|node| async move { ask(&node).await });
        let mut answers = asked.collect::<FuturesUnordered<_>>();
        let mut failure = None;
        while let Some(answer) = answers.next().await {
            match answer {
                Ok(told) => return Ok(told),
                Err(why) => failure = failure.or(Some(why)),
            }
        }
        Err(failure.expect("BUG: a cluster's URL names a node"))
    }

    /// Learns the map and connects to a first node; for those who want to know at once.
    pub(crate) async fn meet(self: &Arc<Self>) -> Result<(), ConnectError> {
        let seeds = self.seeds.iter().map(|seed| self.node.elsewhere(seed.clone()));
        let (map, sharded) = self.ask_any(seeds).await?;
        let mut outcome = Err(self.node.unreachable("no node has a slot".to_owned()));
        for primary in map.primaries() {
            let target = self.node.elsewhere(primary);
            outcome = match Wire::open(&target).await {
                Ok(wire) => check_server(&wire, &target).await.map(drop),
                Err(why) => Err(why),
            };
            // The others will be found, or not, when their slots are asked for.
            if outcome.is_ok() {
                self.install(map, sharded);
                break;
            }
        }
        outcome
    }
}

async fn ask(node: &Target) -> Result<(Map, bool), ConnectError> {
    let (pushes, _pushed) = mpsc::unbounded_channel();
    let connection = node.open(pushes).await?;
    let mut connection = connection.clone();
    let slots = redis::cmd("CLUSTER").arg("SLOTS").to_owned();
    let answer = tokio::time::timeout(node.connect_timeout, async {
        let answer = slots.query_async(&mut connection).await?;
        Ok::<_, RedisError>((answer, has_shard_channels(&mut connection).await))
    });
    match answer.await {
        Ok(Ok((answer, sharded))) => match Map::parse(&answer, &node.endpoint) {
            Some(map) => Ok((map, sharded)),
            None => Err(node.unreachable("it knows of no slots yet".to_owned())),
        },
        Ok(Err(error)) if error.to_string().contains("cluster support disabled") => {
            Err(node.unsuitable("it is not in a cluster: connect with redis://"))
        }
        Ok(Err(error)) => Err(node.refusal(error)),
        Err(_) => Err(node.silent()),
    }
}
