//! The link to one Redis: a connection for commands under supervision.
//!
//! The connection is replaced when it was dropped, became silent, belongs to a server that refuses
//! writes, or has received the answer to another request. Before the new one is used, the old one
//! is killed by its number, if the user may do that: a command still in flight in the old socket
//! would otherwise be executed after the release that was meant to undo it.

use std::{sync::Arc, time::Duration};

use lock_store::{
    Unavailable,
    runtime::{Backoff, Mutex},
};
use redis::Value;
use tokio::{sync::watch, time::Instant};
use tokio_util::sync::CancellationToken;

use super::{
    acl::MissingRights,
    client_name::{ClientName, REFRESH},
    multiplexed::{Connection, ConnectionId, Failure},
    wait_pool::WaitConnections,
    warnings::Warnings,
};
use crate::redis::{
    connect::{ConnectError, Server},
    discovery::Discovery,
    protocol::reason,
};

const FIRST_BACKOFF: Duration = Duration::from_millis(20);
const MAX_BACKOFF: Duration = Duration::from_secs(1);
/// The longest pause between connections that were all established.
const MAX_REPLACEMENT_BACKOFF: Duration = Duration::from_millis(150);
/// A connection that lived for this long counts as good.
const LIVED: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(crate) struct ManagedConnection {
    discovery: Box<dyn Discovery>,
    name: Arc<ClientName>,
    state: watch::Sender<ConnectionState>,
    closed: CancellationToken,
    /// A connection that is open before the supervising task starts.
    first: Mutex<Option<FirstConnection>>,
    /// The last connection, until Redis has ended it.
    old: Mutex<Option<ConnectionId>>,
    pub(crate) wait_pool: WaitConnections,
    pub(crate) warnings: Warnings,
}

/// A connection that was already checked, and the result.
pub(crate) type FirstConnection = (Arc<Server>, Connection, MissingRights);

#[derive(Debug, Clone)]
enum ConnectionState {
    Up(Arc<Server>, Arc<Connection>),
    Down { why: String, since: Instant },
}

impl ConnectionState {
    fn down(why: &str) -> Self {
        Self::Down { why: why.to_owned(), since: Instant::now() }
    }
}

impl ManagedConnection {
    pub(crate) fn new(
        discovery: Box<dyn Discovery>,
        name: Arc<ClientName>,
        first: Option<FirstConnection>,
    ) -> Self {
        Self {
            discovery,
            name,
            state: watch::Sender::new(ConnectionState::down("not connected yet")),
            closed: CancellationToken::new(),
            first: Mutex::new(first),
            old: Mutex::default(),
            wait_pool: WaitConnections::default(),
            warnings: Warnings::default(),
        }
    }

    pub(crate) fn address(&self) -> String {
        match &*self.state.borrow() {
            ConnectionState::Up(server, _) => server.address.clone(),
            ConnectionState::Down { .. } => self.discovery.to_string(),
        }
    }

    pub(crate) fn close(&self) {
        // Cancelled first: `down`, which may run on another thread, must not replace the reason
        // below with its own.
        self.closed.cancel();
        let before = self.state.send_replace(ConnectionState::down("the lock client is shut down"));
        if let ConnectionState::Up(_, connection) = before {
            connection.end();
        }
        self.wait_pool.close();
    }

    /// Fails if there has been no connection for `time`: zero for none at present.
    pub(crate) fn check(&self, time: Duration) -> Result<(), Unavailable> {
        match &*self.state.borrow() {
            ConnectionState::Down { why, since } if since.elapsed() >= time => {
                Err(Unavailable::unsent(why.clone()))
            }
            _ => Ok(()),
        }
    }

    /// Keeps a connection up until the link is closed.
    pub(crate) async fn supervise(self: Arc<Self>) {
        tokio::select! {
            () = self.closed.cancelled() => {}
            () = self.keep_connected() => {}
        }
        self.close();
    }

    async fn keep_connected(&self) {
        let mut backoff = Backoff::new(FIRST_BACKOFF);
        let mut last_up = None::<Instant>;
        loop {
            let started = Instant::now();
            let most = match self.open().await {
                Ok((server, connection)) => {
                    self.refresh(&server, &connection).await;
                    tracing::info!(redis = %server.address, "connected to Redis");
                    // Stored before any command can be sent over it: if it breaks with a command in
                    // flight, the next connection must be able to kill it.
                    *self.old.lock() = connection.identity.clone();
                    self.state.send_replace(ConnectionState::Up(
                        Arc::clone(&server),
                        Arc::clone(&connection),
                    ));
                    if let Some(up) = last_up {
                        server.on_reconnect.call(up.elapsed());
                    }
                    self.watch_until_dead(&server, &connection).await;
                    if connection.is_abandoned() {
                        // The runtime ends, and this task with it: nothing was lost.
                        return std::future::pending().await;
                    }
                    // The idle connections lead to the same server, perhaps over the same broken
                    // path. An acquisition that took one would wait out its timeout.
                    self.wait_pool.close();
                    self.down("the connection was lost".to_owned());
                    last_up = Some(Instant::now());
                    MAX_REPLACEMENT_BACKOFF
                }
                Err(why) => {
                    self.down(why.to_string());
                    // Cut while it was being established: the server was there a moment ago, and a
                    // longer pause would outlast the command timeout.
                    longest_pause(last_up.map(|up| up.elapsed()))
                }
            };
            // A server that accepts connections but is unusable must not be flooded with them.
            if has_lived(started.elapsed(), most) {
                backoff = Backoff::new(FIRST_BACKOFF);
                continue;
            }
            tokio::time::sleep(backoff.next(most)).await;
        }
    }

    /// Opens a connection that may carry any request: the one before it has been ended.
    async fn open(&self) -> Result<(Arc<Server>, Arc<Connection>), ConnectError> {
        let first = self.first.lock().take();
        let (server, connection, missing) = match first {
            Some(first) => first,
            None => {
                let server = self.discovery.find().await?;
                let connection = Connection::open(&server).await?;
                let missing = MissingRights::find(&connection, &server).await?;
                (server, connection, missing)
            }
        };
        let old = self.old.lock().clone();
        if let Some(old) = old {
            // The old socket may still carry an acquisition that Redis has not executed. Executed
            // after the release over the new connection, it would leave the lock held without a
            // holder for a whole lease.
            let kill = old.kill();
            let ended = connection.query::<i64>(&kill);
            match tokio::time::timeout(server.connect_timeout, ended).await {
                // Forgotten only once Redis has answered. A refusal is an answer: the user may not
                // kill connections, and the lease bounds the harm of a late command.
                Ok(Ok(_) | Err(Failure::ServerError(_))) => *self.old.lock() = None,
                Ok(Err(Failure::ConnectionLost | Failure::Late)) | Err(_) => {
                    // Whether the old connection was killed is unknown. The new one is given up,
                    // and the next one kills the old one first.
                    return Err(server.timeout_error());
                }
            }
        }
        missing.check(&server)?;
        self.warnings.lack(&server, &missing);
        Ok((server, Arc::new(connection)))
    }

    async fn watch_until_dead(&self, server: &Server, connection: &Connection) {
        let mut superseded = self.discovery.superseded(server);
        loop {
            tokio::select! {
                () = connection.ended() => return,
                () = &mut superseded => {
                    // A replaced primary may accept writes for a while. A lock that is acquired
                    // there is unknown to the new primary, which would grant it to another client.
                    tracing::warn!(redis = %server.address, "another server is the primary now");
                    connection.end();
                    return;
                }
                () = tokio::time::sleep(REFRESH) => {
                    self.refresh(server, connection).await;
                    self.warnings.look_at_rights(connection, server).await;
                }
            }
        }
    }

    /// Refreshes the client's name, which also checks that an idle connection is still open.
    async fn refresh(&self, server: &Server, connection: &Connection) {
        let sent = Instant::now();
        let refreshed = async {
            // In a cluster the name is on one particular node.
            if !server.in_cluster
                && let Err(Failure::ServerError(why)) =
                    connection.query::<Value>(&self.name.write()).await
            {
                // Not every user may write it, and locks work without.
                tracing::debug!(why = reason(&why), "cannot write the client's name");
            }
            self.warnings.look_for_eviction(connection, server).await;
        };
        if tokio::time::timeout(server.connect_timeout, refreshed).await.is_err() {
            // A slow reply alone does not end the connection: other commands may have been answered
            // meanwhile.
            connection.silent_since(sent);
        }
    }

    fn down(&self, why: String) {
        // Ended by `close`, on another thread: the watching task was already running.
        if self.closed.is_cancelled() {
            return;
        }
        // `since` stays the same when only the reason changes: callers measure with it how long
        // there was no connection.
        let (known, since) = match &*self.state.borrow() {
            ConnectionState::Down { why: known, since } => (*known == why, *since),
            ConnectionState::Up(..) => (false, Instant::now()),
        };
        if !known {
            tracing::warn!(redis = %self.discovery, %why, "no connection to Redis");
            self.state.send_replace(ConnectionState::Down { why, since });
        }
    }

    /// Returns the connection, if there is one.
    pub(crate) fn now(&self) -> Option<(Arc<Server>, Arc<Connection>)> {
        match &*self.state.borrow() {
            // The supervisor may not have noticed the end yet. Callers that got this connection
            // would fail over it again and again.
            ConnectionState::Up(server, connection) if !connection.has_ended() => {
                Some((Arc::clone(server), Arc::clone(connection)))
            }
            _ => None,
        }
    }

    /// Returns the connection, as soon as there is one.
    pub(crate) async fn connected(&self) -> (Arc<Server>, Arc<Connection>) {
        let mut changes = self.state.subscribe();
        loop {
            // Marked before the check: a connection that is opened in between counts as a change.
            // Otherwise the caller would sleep although there is a connection.
            changes.mark_unchanged();
            if let Some(up) = self.now() {
                return up;
            }
            let _ = changes.changed().await;
        }
    }
}

/// Whether a connection was of use, so that the next one need not wait.
fn has_lived(time: Duration, most: Duration) -> bool {
    time > LIVED && most == MAX_REPLACEMENT_BACKOFF
}

/// The longest pause after an attempt that failed; `since_lost` is the time since the last
/// connection was lost.
fn longest_pause(since_lost: Option<Duration>) -> Duration {
    let is_recent = since_lost.is_some_and(|time| time < LIVED);
    if is_recent { MAX_REPLACEMENT_BACKOFF } else { MAX_BACKOFF }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::redis::connection::check_server;
    use crate::redis::{
        connect::{
            Endpoint, RedisOptions,
            fake_server::{FakeServer, bulk, server_at},
        },
        discovery::Fixed,
    };
    use lock_store::ClientId;

    fn managed(server: Server) -> ManagedConnection {
        let name = ClientName::new(&RedisOptions::default(), &ClientId::random());
        ManagedConnection::new(Box::new(Fixed(Arc::new(server))), Arc::new(name), None)
    }

    #[test]
    fn only_a_connection_that_has_lived_is_replaced_without_a_pause() {
        let more = LIVED + Duration::from_millis(1);
        assert!(has_lived(more, MAX_REPLACEMENT_BACKOFF));
        assert!(!has_lived(LIVED, MAX_REPLACEMENT_BACKOFF), "the server may be unusable");
        assert!(!has_lived(more, MAX_BACKOFF), "there was none");
        assert_eq!(longest_pause(None), MAX_BACKOFF);
        assert_eq!(longest_pause(Some(LIVED)), MAX_BACKOFF);
        assert_eq!(longest_pause(Some(LIVED / 2)), MAX_REPLACEMENT_BACKOFF);
    }

    #[tokio::test(start_paused = true)]
    async fn how_long_there_was_no_connection_counts() {
        let managed = managed(server_at(Endpoint::Tcp("h".to_owned(), 1)));
        let second = Duration::from_secs(1);
        assert!(managed.check(Duration::ZERO).is_err() && managed.check(second).is_ok());
        tokio::time::advance(second).await;
        assert!(managed.check(second).is_err() && managed.check(2 * second).is_ok());
        managed.down("for another reason".to_owned());
        let why = managed.check(second).expect_err("since when has not changed").to_string();
        assert!(why.contains("for another reason"), "{why}");
    }

    #[tokio::test]
    async fn a_connection_that_has_ended_is_not_given_out() {
        let fake = FakeServer::start(|_| None).await;
        let server = Arc::new(fake.server());
        let managed = managed(fake.server());
        let connection = Arc::new(Connection::open(&server).await.expect("a connection"));
        managed
            .state
            .send_replace(ConnectionState::Up(Arc::clone(&server), Arc::clone(&connection)));
        assert!(managed.now().is_some() && managed.check(Duration::ZERO).is_ok());
        connection.end();
        assert!(managed.now().is_none());
        let connection = Arc::new(Connection::open(&server).await.expect("a connection"));
        managed.state.send_replace(ConnectionState::Up(server, Arc::clone(&connection)));
        managed.close();
        assert!(connection.has_ended() && managed.now().is_none());
        // As the watching task would, which already runs on another thread.
        managed.down("the connection was lost".to_owned());
        let why = managed.check(Duration::ZERO).expect_err("closed").to_string();
        assert!(why.contains("shut down"), "{why}");
    }

    #[tokio::test]
    async fn a_node_of_a_cluster_need_not_have_the_slot_of_the_probe() {
        for (reply, in_cluster, is_fine) in [
            ("-MOVED 7 h:2", true, true),
            ("-ASK 7 h:2", true, true),
            ("-TRYAGAIN later", true, true),
            ("-MOVED 7 h:2", false, false),
            ("-CLUSTERDOWN down", true, false),
            ("+OK", false, true),
        ] {
            let fake = FakeServer::start(move |command| {
                let is_probe = command.starts_with("EVALSHA");
                Some(if is_probe { format!("{reply}\r\n") } else { bulk("role:master\r\n") })
            })
            .await;
            let mut server = fake.server();
            server.in_cluster = in_cluster;
            let connection = Connection::open(&server).await.expect("a connection");
            let checked = check_server(&connection, &server).await;
            assert_eq!(checked.is_ok(), is_fine, "{reply}: {checked:?}");
        }
    }
}
