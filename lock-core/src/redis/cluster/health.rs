//! The health of a cluster: its slowest node, and its faults.

use std::time::Duration;

use futures_util::stream::{FuturesUnordered, StreamExt};
use lock_store::Unavailable;
use redis::Value;
use tokio::time::Instant;

use super::Cluster;

impl Cluster {
    /// How long the slowest primary takes to answer, and the faults that were found. As long as one
    /// node answers, some locks are available.
    pub(crate) async fn health(
        &self,
        limit: Duration,
    ) -> (Result<Duration, Unavailable>, Vec<String>) {
        let (connections, unassigned_slots) = self.connections();
        let checks = connections.iter().map(|managed| async move {
            let sent = Instant::now();
            let answer = async {
                match managed.now() {
                    Some((_, connection)) => {
                        connection.query::<Value>(&redis::cmd("PING")).await.is_ok()
                    }
                    None => false,
                }
            };
            let answered = tokio::time::timeout(limit, answer).await.unwrap_or_default();
            if answered { Ok(sent.elapsed()) } else { Err(managed.address()) }
        });
        let mut answers = checks.collect::<FuturesUnordered<_>>();
        let mut slowest = None::<Duration>;
        let unanswered = Err(match self.why_down.lock().clone() {
            why if why.is_empty() => Unavailable::unsent(format!("no node of {self} answers")),
            why => Unavailable::unsent(why),
        });
        let mut amiss = Vec::new();
        while let Some(answer) = answers.next().await {
            match answer {
                Ok(time) => slowest = slowest.max(Some(time)),
                Err(address) => amiss.push(format!(
                    "the cluster's node {address} does not answer: locks in its slots cannot be \
                     acquired"
                )),
            }
        }
        if slowest.is_some() && unassigned_slots > 0 {
            amiss.push(format!("{unassigned_slots} slots of the cluster have no node"));
        }
        amiss.extend(connections.iter().flat_map(|managed| managed.warnings.all()));
        amiss.sort();
        // Most problems affect all nodes: each is reported once.
        amiss.dedup();
        (slowest.map_or(unanswered, Ok), amiss)
    }
}
