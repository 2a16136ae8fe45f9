//! Keeps the slot map up to date.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use futures_util::stream::{FuturesUnordered, StreamExt};
use redis::RedisError;
use tokio::time::Instant;

use super::{Cluster, slot_map::SlotMap};
use crate::redis::{
    connect::{ConnectError, Server},
    connection::{Connection, Transport, check_server, has_shard_channels, push_channel},
};

/// How often the map is refreshed when no error suggests that it is wrong.
const REFRESH_INTERVAL: Duration = Duration::from_secs(30);
/// The first pause between refreshes while something is wrong; later pauses are longer.
const MIN_PAUSE: Duration = Duration::from_millis(20);
const MAX_PAUSE: Duration = Duration::from_secs(1);
/// A node that does not answer must not keep the others from being queried.
const NODE_TIMEOUT: Duration = Duration::from_millis(500);

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
        let mut pause = MIN_PAUSE;
        loop {
            let looked = Instant::now();
            match self.fetch_map().await {
                Ok((map, sharded)) => {
                    self.why_down.lock().clear();
                    if self.install(map, sharded) {
                        pause = MIN_PAUSE;
                    }
                    // Every request that fails requests a refresh. One that arrives during the
                    // pause is kept, and all of them share the next refresh: a cluster in trouble
                    // is not flooded with CLUSTER SLOTS.
                    tokio::time::sleep(pause).await;
                    let refresh_requested = self.refresh_requested.notified();
                    let _ = tokio::time::timeout(REFRESH_INTERVAL, refresh_requested).await;
                }
                Err(why) => {
                    tracing::debug!(redis = %self, %why, "cannot read the slot map");
                    *self.why_down.lock() = why.to_string();
                    tokio::time::sleep(pause).await;
                }
            }
            pause = next_pause(pause, looked.elapsed());
        }
    }

    /// Queries a connected node, or else all known nodes, for the slot map.
    async fn fetch_map(&self) -> Result<(SlotMap, bool), ConnectError> {
        let up: Vec<_> = self.nodes.lock().values().filter_map(|node| node.managed.now()).collect();
        let slots = redis::cmd("CLUSTER").arg("SLOTS").to_owned();
        // Another node each time: a node that is cut off from the others would report its old map
        // every time.
        let first = self.turn.fetch_add(1, Ordering::Relaxed);
        for at in 0..up.len() {
            let (server, connection) = &up[(first.wrapping_add(at)) % up.len()];
            let answer = connection.query(&slots);
            let answer = tokio::time::timeout(NODE_TIMEOUT, answer).await;
            if let Ok(Ok(answer)) = answer
                && let Ok(map) = SlotMap::parse(&answer, |host, port| server.announced(host, port))
            {
                self.map_from.lock().clone_from(&server.address);
                return Ok((map, connection.sharded));
            }
        }
        let mut all_endpoints = self.map.borrow().all_endpoints();
        all_endpoints.extend(self.seeds.iter().cloned());
        self.query_any(all_endpoints.into_iter().map(|node| self.node.with_endpoint(node))).await
    }

    async fn query_any(
        &self,
        nodes: impl Iterator<Item = Server>,
    ) -> Result<(SlotMap, bool), ConnectError> {
        let queries = nodes.map(|node| async move {
            let answer = query(&node).await;
            answer.inspect(|_| self.map_from.lock().clone_from(&node.address))
        });
        // All are queried at once: a seed that does not answer must not use up the connect timeout.
        let mut answers = queries.collect::<FuturesUnordered<_>>();
        let mut failure = None;
        while let Some(answer) = answers.next().await {
            match answer {
                // The first map is used without a comparison. If it is old, the first MOVED
                // corrects it.
                Ok(response) => return Ok(response),
                Err(why) => failure = failure.or(Some(why)),
            }
        }
        Err(failure.expect("BUG: a cluster's URL names a node"))
    }

    /// Reads the map and connects to a first node, for callers that connect at once.
    pub(crate) async fn bootstrap(self: &Arc<Self>) -> Result<(), ConnectError> {
        let seeds = self.seeds.iter().map(|seed| self.node.with_endpoint(seed.clone()));
        let (map, sharded) = self.query_any(seeds).await?;
        let mut outcome = Err(self.node.unreachable_error("no node has a slot".to_owned()));
        for primary in map.primaries() {
            let server = self.announced(primary);
            outcome = match Connection::open(&server).await {
                Ok(connection) => check_server(&connection, &server).await.map(drop),
                Err(why) => Err(why),
            };
            // The other nodes are connected when a request needs their slots.
            if outcome.is_ok() {
                self.install(map, sharded);
                break;
            }
        }
        outcome
    }
}

/// The pause before the next refresh, after one that was requested `time` after the last.
fn next_pause(pause: Duration, time: Duration) -> Duration {
    if time > MAX_PAUSE * 4 { MIN_PAUSE } else { (pause * 2).min(MAX_PAUSE) }
}

async fn query(node: &Server) -> Result<(SlotMap, bool), ConnectError> {
    let (pushes, _pushed) = push_channel();
    let connection = Transport::open(node, pushes).await?;
    let slots = redis::cmd("CLUSTER").arg("SLOTS").to_owned();
    let answer = tokio::time::timeout(node.connect_timeout, async {
        let answer = connection.query(&slots).await?;
        Ok::<_, RedisError>((answer, has_shard_channels(&connection).await))
    });
    match answer.await {
        Ok(Ok((answer, sharded))) => {
            match SlotMap::parse(&answer, |host, port| node.announced(host, port)) {
                Ok(map) => Ok((map, sharded)),
                Err(why) => Err(node.unreachable_error(why.to_string())),
            }
        }
        Ok(Err(error)) if error.to_string().contains("cluster support disabled") => {
            Err(node.unsupported_error("it is not in a cluster: connect with redis://"))
        }
        Ok(Err(error)) => Err(node.server_error(error)),
        Err(_) => Err(node.timeout_error()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::redis::connect::fake_server::FakeServer;

    #[test]
    fn refreshes_in_a_row_are_ever_rarer_and_a_late_one_is_not() {
        let mut pauses = vec![MIN_PAUSE];
        for _ in 0..7 {
            pauses.push(next_pause(pauses[pauses.len() - 1], MAX_PAUSE * 4));
        }
        let ms = [20, 40, 80, 160, 320, 640, 1_000, 1_000];
        assert_eq!(pauses, ms.map(Duration::from_millis));
        assert_eq!(next_pause(MAX_PAUSE, MAX_PAUSE * 4 + Duration::from_millis(1)), MIN_PAUSE);
    }

    #[tokio::test]
    async fn a_server_outside_a_cluster_is_named_as_such() {
        for (reply, is_outside) in [
            ("-ERR This instance has cluster support disabled\r\n", true),
            ("-ERR something else\r\n", false),
        ] {
            let fake = FakeServer::start(move |_| Some(reply.to_owned())).await;
            let why = query(&fake.server()).await.expect_err("no map").to_string();
            assert_eq!(why.contains("not in a cluster"), is_outside, "{why}");
        }
    }
}
