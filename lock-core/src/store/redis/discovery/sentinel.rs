//! Sentinel: queries Sentinels for the address of the primary.

use std::{cmp::Reverse, collections::HashSet, fmt, sync::Arc, time::Duration};

use futures_util::{
    FutureExt,
    future::BoxFuture,
    stream::{FuturesUnordered, StreamExt},
};
use tokio::time::Instant;

use super::Discovery;
use crate::store::redis::connect::{ConnectError, Endpoint, Server, is_replica};

/// How long the other Sentinels have to contradict the first that answers. One that is down,
/// perhaps on the same machine as the failed primary, must not use up all the time.
const VOTE_GRACE: Duration = Duration::from_millis(500);
/// How often the Sentinels are queried for the primary while a connection is open: a primary that was
/// replaced may not know it yet, and keep its connections.
const RECHECK: Duration = Duration::from_secs(5);

/// The Sentinels that watch over one primary.
#[derive(Debug)]
pub(crate) struct Sentinels {
    sentinels: Vec<Server>,
    /// The name of the primary in their configuration.
    name: String,
    /// How the servers are reached: everything except the endpoint.
    server: Server,
}

impl fmt::Display for Sentinels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "primary {:?} of Sentinels", self.name)?;
        for (at, sentinel) in self.sentinels.iter().enumerate() {
            write!(f, "{} {}", if at == 0 { "" } else { "," }, sentinel.address)?;
        }
        Ok(())
    }
}

impl Discovery for Sentinels {
    fn find(&self) -> BoxFuture<'_, Result<Arc<Server>, ConnectError>> {
        self.primary().boxed()
    }

    fn superseded<'a>(&'a self, server: &'a Server) -> BoxFuture<'a, ()> {
        async move {
            loop {
                tokio::time::sleep(RECHECK).await;
                if let Ok(now) = self.primary().await
                    && now.endpoint != server.endpoint
                {
                    return;
                }
            }
        }
        .boxed()
    }
}

impl Sentinels {
    pub(crate) fn new(sentinels: Vec<Server>, name: String, server: Server) -> Self {
        Self { sentinels, name, server }
    }

    /// The server that most Sentinels name and that reports itself as a primary. A Sentinel that
    /// was partitioned, perhaps together with a replaced primary, is outvoted by the others; if
    /// they do not answer, its answer is accepted after a moment.
    async fn primary(&self) -> Result<Arc<Server>, ConnectError> {
        let mut failure = PrimaryError::default();
        let mut votes = Vec::<(Endpoint, usize)>::new();
        let mut tried = HashSet::new();
        let queries = self.sentinels.iter().map(|sentinel| self.query(sentinel));
        let mut answers = queries.collect::<FuturesUnordered<_>>();
        let mut all_answered = false;
        while !all_answered {
            let mut over = None;
            loop {
                let answer = match over {
                    Some(over) => tokio::time::timeout_at(over, answers.next()).await,
                    None => Ok(answers.next().await),
                };
                match answer {
                    Ok(Some(Ok(endpoint))) => {
                        over = over.or(Some(Instant::now() + VOTE_GRACE));
                        if vote(&mut votes, endpoint) * 2 > self.sentinels.len() {
                            break;
                        }
                    }
                    Ok(Some(Err(error))) => failure.add_sentinel_error(error),
                    Ok(None) => {
                        all_answered = true;
                        break;
                    }
                    Err(_) => break,
                }
            }
            votes.sort_by_key(|(_, votes)| Reverse(*votes));
            for (endpoint, _) in &votes {
                if !tried.insert(endpoint.clone()) {
                    continue;
                }
                let server = self.server.with_endpoint(endpoint.clone());
                match confirm(&server).await {
                    Ok(()) => return Ok(Arc::new(server)),
                    Err(error) => failure.add_server_error(error),
                }
            }
        }
        Err(failure.error.expect("BUG: there is a Sentinel, and each is queried"))
    }

    async fn query(&self, sentinel: &Server) -> Result<Endpoint, ConnectError> {
        let words = ["GET-MASTER-ADDR-BY-NAME", &self.name];
        let command = redis::cmd("SENTINEL").arg(&words).to_owned();
        match sentinel.query_once::<Option<(String, u16)>>(&command).await? {
            Ok(Some((host, port))) => Ok(Endpoint::announced(&host, port, &sentinel.endpoint)),
            Ok(None) => Err(sentinel.unreachable_error(format!(
                "this Sentinel knows no primary of the name {:?}",
                self.name
            ))),
            Err(error) => Err(sentinel.server_error(error)),
        }
    }
}

/// Counts a vote, and returns how many the endpoint has.
fn vote(votes: &mut Vec<(Endpoint, usize)>, endpoint: Endpoint) -> usize {
    if let Some((_, count)) = votes.iter_mut().find(|(known, _)| *known == endpoint) {
        *count += 1;
        return *count;
    }
    votes.push((endpoint, 1));
    1
}

/// The error to return if no primary is found.
#[derive(Default)]
struct PrimaryError {
    error: Option<ConnectError>,
    is_of_server: bool,
}

impl PrimaryError {
    fn add_sentinel_error(&mut self, error: ConnectError) {
        let refused = matches!(error, ConnectError::Refused { .. });
        if self.error.is_none() || (refused && !self.is_of_server) {
            self.error = Some(error);
        }
    }

    /// A server's own error is more useful than a Sentinel's report that it has no primary.
    fn add_server_error(&mut self, error: ConnectError) {
        let refused = matches!(error, ConnectError::Refused { .. });
        if !self.is_of_server || refused {
            self.error = Some(error);
        }
        self.is_of_server = true;
    }
}

/// Checks a server's role. If the user may not read it, a replica is detected when it refuses to
/// write.
async fn confirm(server: &Server) -> Result<(), ConnectError> {
    let command = redis::cmd("INFO").arg("replication").to_owned();
    match server.query_once::<String>(&command).await? {
        Ok(role) if is_replica(&role) => Err(server.unreachable_error(
            "the Sentinels' primary is a replica: a failover is under way".to_owned(),
        )),
        Err(error) if error.is_connection_dropped() => Err(server.timeout_error()),
        Ok(_) | Err(_) => Ok(()),
    }
}
