//! Sends requests: over which connection, how often, and for how long.
//!
//! One file: a reply decides whether, where and when a request is sent again, in one loop.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use lock_store::Unavailable;
use redis::{RedisError, Value};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::{
    cluster::Cluster,
    connect::{Endpoint, ErrorClass, Server, classify},
    connection::{ClientName, CommandReply, Connection, Failure, ManagedConnection, REFRESH},
    protocol::{Replicas, Request, SendOptions, reason, slot_of},
    pubsub::Subscriber,
};

/// The pause before a command that Redis refused for a passing reason is sent again.
const TRANSIENT_RETRY: Duration = Duration::from_millis(25);

/// The server, or the cluster, that has the keys of a client.
#[derive(Debug)]
pub(crate) enum Topology {
    Single(Arc<ManagedConnection>),
    Cluster(Arc<Cluster>),
}

#[derive(Debug)]
pub(crate) struct Dispatcher {
    pub(crate) topology: Topology,
    pub(crate) command_timeout: Duration,
    /// The subscriber, unless each node has one.
    subscriber: Option<Arc<Subscriber>>,
    closed: CancellationToken,
    nonces: AtomicU64,
}

impl fmt::Display for Dispatcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.topology {
            Topology::Single(managed) => write!(f, "Redis at {}", managed.address()),
            Topology::Cluster(cluster) => cluster.fmt(f),
        }
    }
}

/// An answer, and whether the request may have been executed more than once.
#[derive(Debug)]
pub(crate) struct Dispatched {
    pub(crate) answer: Value,
    pub(crate) again: bool,
    /// How many replicas have the write, if that was requested.
    pub(crate) replicas: Option<i64>,
    /// The connection that carried it, unless replicas were waited for.
    pub(crate) over: Arc<Connection>,
}

/// The progress of a request.
#[derive(Default)]
struct DispatchState {
    again: bool,
    last: Option<(Arc<Connection>, Instant)>,
    refusal: Option<Unavailable>,
    /// The node that is taking over the slot.
    asking: Option<Endpoint>,
    redirected: u32,
}

impl Dispatcher {
    pub(crate) fn new(
        topology: Topology,
        subscriber: Option<Arc<Subscriber>>,
        command_timeout: Duration,
    ) -> Self {
        let (closed, nonces) = (CancellationToken::new(), AtomicU64::new(1));
        Self { topology, command_timeout, subscriber, closed, nonces }
    }

    /// A text that no other reply to this client carries.
    pub(crate) fn nonce(&self) -> String {
        self.nonces.fetch_add(1, Ordering::Relaxed).to_string()
    }

    /// The connection to the node that has the slot, if there is one.
    pub(crate) fn up(
        &self,
        slot: u16,
    ) -> Option<(Arc<ManagedConnection>, Arc<Server>, Arc<Connection>)> {
        match &self.topology {
            Topology::Single(managed) => {
                let (server, connection) = managed.now()?;
                Some((Arc::clone(managed), server, connection))
            }
            Topology::Cluster(cluster) => cluster.up(slot),
        }
    }

    pub(crate) fn no_answer(&self, limit: Duration) -> Unavailable {
        Unavailable::unsent(format!("no answer from {self} within {limit:?}")).silence()
    }

    pub(crate) fn close(&self) {
        self.closed.cancel();
        if let Some(subscriber) = &self.subscriber {
            subscriber.close();
        }
        match &self.topology {
            Topology::Single(managed) => managed.close(),
            Topology::Cluster(cluster) => cluster.close(),
        }
    }

    /// Fails if there has been no connection for `time`.
    pub(crate) fn check(&self, time: Duration) -> Result<(), Unavailable> {
        match &self.topology {
            Topology::Single(managed) => managed.check(time),
            Topology::Cluster(cluster) => cluster.check(time),
        }
    }

    /// Sends a request until it is answered or the command timeout is over. The request must be
    /// idempotent or marked as `non_idempotent`: when a connection ends, the client does not know
    /// which requests were executed. An answer that `check` does not accept ends its connection.
    pub(crate) async fn send(
        &self,
        slot: u16,
        request: &Request<'_>,
        replicas: Option<Replicas>,
        check: impl Fn(&Value) -> Result<(), Unavailable> + Send + Sync,
    ) -> Result<Dispatched, Unavailable> {
        let started = Instant::now();
        let mut first = None;
        // Most requests are answered at once, over an open connection that watches the time itself.
        // Everything else is boxed: thousands of these futures may wait for a reply.
        if replicas.is_none()
            && let Some((managed, server, connection)) = self.up(slot)
            // An abandoned connection may still carry an acquisition. It is killed first, in the
            // loop: a release that was sent before would leave that lock held.
            && !managed.wait_pool.has_abandoned()
        {
            let options = SendOptions { sent: Some(started), ..SendOptions::default() };
            match connection.send(request, options).await {
                Ok(CommandReply { answer, .. }) => {
                    if let Err(strange) = check(&answer) {
                        // The reply belongs to another request, and so would every later one.
                        connection.end();
                        return Err(strange);
                    }
                    return Ok(Dispatched {
                        answer,
                        again: false,
                        replicas: None,
                        over: connection,
                    });
                }
                Err(failure) => first = Some((failure, server, connection)),
            }
        }
        Box::pin(self.send_after(first, slot, request, replicas, check, started)).await
    }

    /// Sends a request again after its first failure, or when there is a connection.
    async fn send_after(
        &self,
        first: Option<(Failure, Arc<Server>, Arc<Connection>)>,
        slot: u16,
        request: &Request<'_>,
        replicas: Option<Replicas>,
        check: impl Fn(&Value) -> Result<(), Unavailable> + Send + Sync,
        started: Instant,
    ) -> Result<Dispatched, Unavailable> {
        let mut state = DispatchState::default();
        let limit = self.command_timeout + replicas.map_or(Duration::ZERO, |each| each.timeout);
        let answered = tokio::time::timeout(limit.saturating_sub(started.elapsed()), async {
            tokio::select! {
                // The shutdown is checked first: no connection is opened after it, and the request
                // would wait out its whole timeout.
                biased;
                () = self.closed.cancelled() => {
                    Err(Unavailable::unsent("the lock client is shut down"))
                }
                answered = async {
                    if let Some((failure, server, connection)) = first {
                        state.last = Some((Arc::clone(&connection), started));
                        self.failed(slot, request, failure, &server, &connection, &mut state).await?;
                    }
                    self.dispatch_with_retry(slot, request, replicas, check, &mut state).await
                } => answered,
            }
        })
        .await;
        answered.unwrap_or_else(|_| Err(self.on_timeout(slot, state, limit)))
    }

    /// Refreshes the client's name in a cluster until this is closed. The connection to a single
    /// server does that itself.
    pub(crate) async fn keep_name(self: Arc<Self>, name: Arc<ClientName>) {
        let slot = slot_of(name.key.as_bytes());
        while !self.closed.is_cancelled() {
            let write = name.write();
            if let Err(why) = self.send(slot, &Request::Command(&write), None, |_| Ok(())).await {
                // Not every user may write it, and locks work without.
                tracing::debug!(%why, "cannot write the client's name");
            }
            let _ = tokio::time::timeout(REFRESH, self.closed.cancelled()).await;
        }
    }

    async fn dispatch_with_retry(
        &self,
        slot: u16,
        request: &Request<'_>,
        replicas: Option<Replicas>,
        check: impl Fn(&Value) -> Result<(), Unavailable> + Send + Sync,
        state: &mut DispatchState,
    ) -> Result<Dispatched, Unavailable> {
        loop {
            let asking = state.asking.take();
            let options = SendOptions { asking: asking.is_some(), replicas, sent: None };
            let (managed, server, connection) = self.connection_for(slot, asking).await;
            state.last = Some((Arc::clone(&connection), Instant::now()));
            // Rare cases are boxed: thousands of these futures may wait for an answer.
            if managed.wait_pool.has_abandoned() {
                Box::pin(managed.wait_pool.kill_abandoned(&connection)).await;
            }
            let answer = match replicas {
                None => {
                    // Counted from here, and not from before the kills: this connection was not
                    // silent while the others were killed.
                    state.last = Some((Arc::clone(&connection), Instant::now()));
                    connection.send(request, options).await
                }
                Some(_) => {
                    // Sent over another connection: if that one does not answer, this one may still
                    // be healthy, and must not be ended for it.
                    state.last = None;
                    let accepted = |answer: &Value| check(answer).is_ok();
                    Box::pin(dispatch_on_wait_connection(
                        &managed, &server, request, options, accepted,
                    ))
                    .await
                }
            };
            match answer {
                Ok(CommandReply { answer, replicas }) => match check(&answer) {
                    Ok(()) => {
                        let again = state.again;
                        return Ok(Dispatched { answer, again, replicas, over: connection });
                    }
                    Err(strange) => {
                        connection.end();
                        return Err(strange);
                    }
                },
                Err(failure) => {
                    self.failed(slot, request, failure, &server, &connection, state).await?;
                }
            }
        }
    }

    /// Returns when the request may be sent again.
    async fn failed(
        &self,
        slot: u16,
        request: &Request<'_>,
        failure: Failure,
        server: &Server,
        connection: &Connection,
        state: &mut DispatchState,
    ) -> Result<(), Unavailable> {
        match failure {
            Failure::ConnectionLost => {
                // The request may have been executed. If it finds no lock the second time, it may
                // itself have released it, and the caller must not report a loss.
                state.again = true;
                if let Topology::Cluster(cluster) = &self.topology {
                    cluster.request_refresh();
                }
            }
            Failure::Late => {
                let state = std::mem::take(state);
                return Err(self.on_timeout(slot, state, self.command_timeout));
            }
            Failure::ServerError(error) => {
                Box::pin(self.refused(slot, error, server, connection, state)).await?;
            }
        }
        // Sent twice, a forced release would take the lock away from the next holder, too.
        if request.non_idempotent() && state.again {
            let why = "the connection was lost before a reply: the command may have been executed";
            return Err(state.refusal.take().unwrap_or_else(|| Unavailable::unsent(why)));
        }
        Ok(())
    }

    /// A connection to the node that has the slot, or to the one that is taking it over.
    async fn connection_for(
        &self,
        slot: u16,
        asking: Option<Endpoint>,
    ) -> (Arc<ManagedConnection>, Arc<Server>, Arc<Connection>) {
        match &self.topology {
            Topology::Single(managed) => {
                let (server, connection) = managed.connected().await;
                (Arc::clone(managed), server, connection)
            }
            Topology::Cluster(cluster) => Box::pin(cluster.connection_for(slot, asking)).await,
        }
    }

    /// Returns when the request may be sent again.
    async fn refused(
        &self,
        slot: u16,
        error: RedisError,
        server: &Server,
        connection: &Connection,
        state: &mut DispatchState,
    ) -> Result<(), Unavailable> {
        let text = reason(&error);
        let refusal = match (classify(&error), &self.topology) {
            (ErrorClass::Moved(to), Topology::Cluster(cluster)) => {
                cluster.moved(slot, server.redirected(&to));
                state.redirected += 1;
                // A node may be wrong about the new owner of a slot for a moment. Followed at once
                // each time, two nodes that name each other would be flooded.
                if state.redirected == 1 { None } else { Some((false, false)) }
            }
            (ErrorClass::Ask(to), Topology::Cluster(_)) => {
                // The map stays: the slot belongs to the other node only when it has moved as a
                // whole. Until then keys that have not moved are still here.
                state.asking = server.redirected(&to);
                state.redirected += 1;
                if state.redirected == 1 { None } else { Some((false, false)) }
            }
            (
                ErrorClass::Moved(_) | ErrorClass::Ask(_) | ErrorClass::CrossSlot,
                Topology::Single(_),
            ) => {
                let hint = "this is one node of a cluster: connect with redis+cluster://";
                return Err(Unavailable::because(format!("{hint} ({text})"), error));
            }
            (ErrorClass::Transient { replace, halfway }, _) => Some((replace, halfway)),
            (ErrorClass::RefusesWrites, _) => {
                return Err(Unavailable::because(text, error).refusing_writes());
            }
            (ErrorClass::CrossSlot | ErrorClass::Permanent, _) => {
                return Err(Unavailable::because(text, error));
            }
        };
        state.refusal = Some(Unavailable::because(text, error));
        let Some((replace, halfway)) = refusal else {
            return Ok(());
        };
        // A script that failed halfway may have written: as after a lost connection, the next
        // outcome may be caused by the first execution.
        state.again |= halfway;
        // The server is a replica or still loads its data. Kept, its connection would answer every
        // retry with the same error, and the new primary would not be looked up.
        if replace {
            connection.end();
        }
        if let Topology::Cluster(cluster) = &self.topology {
            cluster.request_refresh();
        }
        tokio::time::sleep(TRANSIENT_RETRY).await;
        Ok(())
    }

    fn on_timeout(&self, slot: u16, state: DispatchState, limit: Duration) -> Unavailable {
        // The time may have been spent on waiting for a connection. Ended for that, a connection
        // that was opened a moment ago would be lost, and so would its successors.
        if let Some((connection, sent)) = state.last
            && sent.elapsed() >= limit.mul_f64(0.9)
        {
            connection.silent_since(sent);
        }
        let mut why = state.refusal.or(self.check(Duration::ZERO).err());
        if let Topology::Cluster(cluster) = &self.topology {
            cluster.request_refresh();
            why = why.or_else(|| cluster.why_not(slot));
        }
        let why = why.unwrap_or_else(|| {
            Unavailable::unsent(format!("no answer from {self} within {limit:?}"))
        });
        why.silence()
    }
}

/// Sends a request over a connection that may block.
async fn dispatch_on_wait_connection(
    managed: &ManagedConnection,
    server: &Arc<Server>,
    request: &Request<'_>,
    options: SendOptions,
    accepted: impl Fn(&Value) -> bool,
) -> Result<CommandReply, Failure> {
    match managed.wait_pool.take(server).await {
        Ok(wait_pool) => wait_pool.send(request, options, accepted).await,
        Err(failure) => {
            // No connection could be opened. Without a pause the loop would dial the server as fast
            // as it can.
            tokio::time::sleep(TRANSIENT_RETRY).await;
            Err(failure)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::redis::{
        connect::{RedisOptions, fake_server::FakeServer},
        discovery::Fixed,
    };
    use lock_store::ClientId;

    /// Sends to a server of a test, over a connection that is kept up.
    fn dispatcher(fake: &FakeServer) -> Dispatcher {
        let name = ClientName::new(&RedisOptions::default(), &ClientId::random());
        let discovery = Box::new(Fixed(Arc::new(fake.server())));
        let managed = Arc::new(ManagedConnection::new(discovery, Arc::new(name), None));
        tokio::spawn(Arc::clone(&managed).supervise());
        Dispatcher::new(Topology::Single(managed), None, Duration::from_secs(20))
    }

    #[tokio::test]
    async fn no_two_requests_have_a_nonce_in_common() {
        let fake = FakeServer::start(|_| None).await;
        let dispatcher = dispatcher(&fake);
        let nonces: std::collections::HashSet<_> = (0..100).map(|_| dispatcher.nonce()).collect();
        assert_eq!(nonces.len(), 100);
    }

    #[tokio::test]
    async fn an_answer_to_another_question_ends_the_connection() {
        let fake = FakeServer::start(|_| Some("+OK\r\n".to_owned())).await;
        let dispatcher = dispatcher(&fake);
        let ping = redis::cmd("PING");
        let request = Request::Command(&ping);
        let send = |is_fine: bool| {
            let refuse = || Err(Unavailable::unsent("another question"));
            dispatcher.send(0, &request, None, move |_| if is_fine { Ok(()) } else { refuse() })
        };
        // The first is sent by the loop, the others over a connection that is there.
        for connections in 1..=3 {
            let Err(why) = send(false).await else { panic!("it was accepted") };
            assert!(why.to_string().contains("another question"), "{why}");
            send(true).await.map(drop).expect("an answer over the next connection");
            assert_eq!(fake.count("HELLO"), connections + 1);
        }
    }

    #[tokio::test]
    async fn a_script_that_was_refused_halfway_may_have_done_its_work() {
        for (refusal, again) in [
            ("-ERR Script attempted to access a non local key\r\n", true),
            ("-TRYAGAIN later\r\n", false),
        ] {
            let replies = lock_store::runtime::Mutex::new(vec!["+OK\r\n", refusal]);
            let fake = FakeServer::start(move |command| match command {
                "PING" => replies.lock().pop().map(str::to_owned),
                _ => Some("+OK\r\n".to_owned()),
            })
            .await;
            let ping = redis::cmd("PING");
            let answer =
                dispatcher(&fake).send(0, &Request::Command(&ping), None, |_| Ok(())).await;
            assert_eq!(answer.expect("the second answer").again, again, "{refusal}");
        }
    }
}
