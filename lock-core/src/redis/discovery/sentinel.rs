//! Sentinel: queries Sentinels for the address of the primary.

use std::{cmp::Reverse, collections::HashSet, fmt, sync::Arc, time::Duration};

use futures_util::{
    FutureExt,
    future::BoxFuture,
    stream::{FuturesUnordered, StreamExt},
};
use tokio::time::Instant;

use super::Discovery;
use crate::redis::{
    connect::{ConnectError, Endpoint, Server, is_replica},
    connection::Transport,
};

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
    recheck: Duration,
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
                tokio::time::sleep(self.recheck).await;
                // Without an answer nothing is known: an outage of the Sentinels must not cost the
                // connection, and with it the renewals.
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
        Self { sentinels, name, server, recheck: RECHECK }
    }

    /// The server that most Sentinels name and that reports itself as a primary. A Sentinel that
    /// was partitioned, perhaps together with a replaced primary, is outvoted by the others. If
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
                        // The time counts from the first answer, and not from the start: an answer
                        // that takes longer than the grace would otherwise be accepted alone.
                        over = over.or(Some(Instant::now() + VOTE_GRACE));
                        // A majority cannot be outvoted by the answers that are missing.
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
            // The sort is stable: among servers with as many votes the first that was named comes
            // first.
            votes.sort_by_key(|(_, votes)| Reverse(*votes));
            for (endpoint, _) in &votes {
                // The answers that were missing may name another server: each round tries only the
                // servers that no earlier round has tried.
                if !tried.insert(endpoint.clone()) {
                    continue;
                }
                let server = self.server.with_endpoint(endpoint.clone()).announced_by("a Sentinel");
                // During a failover the Sentinels name the old primary until they agree. If it has
                // become a replica, locks written to it would be refused or lost.
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
        match Transport::query_once::<Option<(String, u16)>>(sentinel, &command).await? {
            Ok(Some((host, port))) => Ok(sentinel.announced(&host, port)),
            Ok(None) => Err(sentinel.unreachable_error(format!(
                "this Sentinel knows no primary of the name {:?}: the URL has the name that its line \
                 `sentinel monitor` gives",
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
    match Transport::query_once::<String>(server, &command).await? {
        Ok(role) if is_replica(&role) => Err(server.unreachable_error(
            "the Sentinels' primary is a replica: a failover is under way".to_owned(),
        )),
        Err(error) if error.is_connection_dropped() => Err(server.timeout_error()),
        Ok(_) | Err(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::redis::connect::{
        AddressMap,
        fake_server::{FakeServer, bulk, server_at},
    };

    const PRIMARY: &str = "role:master\r\n";

    /// A server that reports this role.
    async fn of_role(role: &str) -> Endpoint {
        let role = bulk(role);
        FakeServer::start(move |_| Some(role.clone())).await.endpoint
    }

    fn address(primary: &Endpoint) -> String {
        let Endpoint::Tcp(host, port) = primary else { panic!("{primary}") };
        format!("*2\r\n{}{}", bulk(host), bulk(&port.to_string()))
    }

    /// A Sentinel that names this server, after `ms` milliseconds.
    async fn naming(primary: &Endpoint, ms: u64) -> Server {
        let answer = address(primary);
        let pause = Duration::from_millis(ms);
        FakeServer::slow(pause, move |_| Some(answer.clone())).await.server()
    }

    async fn found(sentinels: Vec<Server>) -> Result<Endpoint, ConnectError> {
        let anything = server_at(Endpoint::Tcp("127.0.0.1".to_owned(), 1));
        let sentinels = Sentinels::new(sentinels, "main".to_owned(), anything);
        sentinels.find().await.map(|server| server.endpoint.clone())
    }

    #[tokio::test]
    async fn a_quick_sentinel_is_outvoted_by_two_slow_ones() {
        let (old, new) = (of_role(PRIMARY).await, of_role(PRIMARY).await);
        let sentinels = [naming(&old, 0).await, naming(&new, 50).await, naming(&new, 100).await];
        assert_eq!(found(sentinels.into()).await.expect("a primary"), new);
    }

    #[tokio::test]
    async fn the_address_of_a_primary_is_mapped_or_explained() {
        let primary = of_role(PRIMARY).await;
        let nowhere = Endpoint::Tcp("primary.invalid".to_owned(), 1);
        let why = found(vec![naming(&nowhere, 0).await]).await.expect_err("no primary").to_string();
        assert!(why.contains("a Sentinel announces") && why.contains("map_address"), "{why}");
        let Endpoint::Tcp(host, port) = primary.clone() else { panic!("{primary}") };
        let addresses = AddressMap::new(move |announced, _| {
            assert_eq!(announced, "primary.invalid");
            (host.clone(), port)
        });
        let sentinel = naming(&nowhere, 0).await.with_addresses(addresses);
        assert_eq!(found(vec![sentinel]).await.expect("a primary"), primary);
    }

    #[tokio::test]
    async fn a_sentinel_is_believed_when_the_others_are_silent() {
        let primary = of_role(PRIMARY).await;
        let hour = Duration::from_secs(3_600);
        let silent = || async { FakeServer::slow(hour, |_| None).await.server() };
        let sentinels = vec![silent().await, naming(&primary, 0).await, silent().await];
        assert_eq!(found(sentinels).await.expect("a primary"), primary);
    }

    #[tokio::test]
    async fn what_is_a_replica_by_its_own_account_is_passed_by() {
        let (replica, primary) = (of_role("role:slave\r\n").await, of_role(PRIMARY).await);
        let sentinels = [&replica, &replica, &primary];
        let mut named = Vec::new();
        for primary in sentinels {
            named.push(naming(primary, 0).await);
        }
        assert_eq!(found(named).await.expect("a primary"), primary);
        let only = found(vec![naming(&replica, 0).await]).await.expect_err("no primary");
        assert!(only.to_string().contains("a failover is under way"), "{only}");
    }

    #[tokio::test]
    async fn a_server_that_may_not_report_its_role_is_a_primary_and_one_that_hangs_up_is_not() {
        let refuses = |_: &str| Some("-NOPERM this user\r\n".to_owned());
        let quiet = FakeServer::start(refuses).await.endpoint;
        assert_eq!(found(vec![naming(&quiet, 0).await]).await.expect("a primary"), quiet);
        let gone = FakeServer::start(|_| None).await.endpoint;
        let why = found(vec![naming(&gone, 0).await]).await.expect_err("it hangs up");
        assert!(matches!(why, ConnectError::Unreachable { .. }), "{why}");
    }

    #[test]
    fn votes_are_counted_for_each_server() {
        let (one, other) = (Endpoint::Tcp("a".into(), 1), Endpoint::Tcp("a".into(), 2));
        let mut votes = Vec::new();
        let counts = [&one, &other, &one, &one].map(|named| vote(&mut votes, named.clone()));
        assert_eq!(counts, [1, 1, 2, 3]);
        assert_eq!(votes, [(one, 3), (other, 1)]);
    }

    #[test]
    fn the_error_that_helps_most_is_returned() {
        let server = server_at(Endpoint::Tcp("h".to_owned(), 1));
        let silent = || server.unreachable_error("silent".to_owned());
        let refused = || ConnectError::Refused {
            store: "Redis",
            address: "h:1".to_owned(),
            reason: "refused".to_owned(),
        };
        let of_server = || server.unreachable_error("of the server".to_owned());
        let shown = |add: &dyn Fn(&mut PrimaryError)| {
            let mut error = PrimaryError::default();
            add(&mut error);
            error.error.map_or_else(String::new, |error| error.to_string())
        };
        let first = shown(&|error| {
            error.add_sentinel_error(silent());
            error.add_sentinel_error(of_server());
        });
        assert!(first.contains("silent"), "{first}");
        let credentials = shown(&|error| {
            error.add_sentinel_error(silent());
            error.add_sentinel_error(refused());
        });
        assert!(credentials.contains("refused"), "{credentials}");
        let server_first = shown(&|error| {
            error.add_sentinel_error(refused());
            error.add_server_error(of_server());
            error.add_sentinel_error(refused());
        });
        assert!(server_first.contains("of the server"), "{server_first}");
        let refused_by_server = shown(&|error| {
            error.add_server_error(of_server());
            error.add_server_error(refused());
            error.add_server_error(of_server());
        });
        assert!(refused_by_server.contains("refused"), "{refused_by_server}");
    }

    #[tokio::test]
    async fn a_server_is_superseded_once_another_is_named() {
        let (old, new) = (of_role(PRIMARY).await, of_role(PRIMARY).await);
        let (queries, answers) = (AtomicUsize::new(0), [address(&old), address(&new)]);
        let sentinel = FakeServer::start(move |_| {
            let query = queries.fetch_add(1, Ordering::Relaxed);
            Some(answers[query.min(1)].clone())
        });
        let sentinel = sentinel.await;
        let anything = server_at(Endpoint::Tcp("127.0.0.1".to_owned(), 1));
        let mut sentinels = Sentinels::new(vec![sentinel.server()], "main".to_owned(), anything);
        // Real sockets need the real clock, and the result does not depend on the period.
        sentinels.recheck = Duration::from_millis(1);
        sentinels.superseded(&server_at(old)).await;
        assert_eq!(sentinel.count("SENTINEL"), 2, "the first answer confirmed it");
    }
}
