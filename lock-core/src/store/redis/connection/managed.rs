//! The link to one Redis: a connection for commands under supervision.
//!
//! The connection is replaced when it was dropped, went silent, belongs to a server that refuses to
//! write, or has answered somebody else's question. Before the new one is used the old one is
//! killed by its number, where the user may do that: a command still on its way in the old socket
//! would otherwise be carried out after the release that was meant to undo it.

use std::{sync::Arc, time::Duration};

use redis::{ErrorKind, RedisError, ServerErrorKind, Value};
use tokio::{sync::watch, time::Instant};
use tokio_util::sync::CancellationToken;

use super::{
    acl::MissingRights,
    client_name::{ClientName, REFRESH},
    connection::{Failure, Identity, Wire},
    wait_pool::SideWires,
    warnings::Warnings,
};
use crate::{
    runtime::{Backoff, sync::Mutex},
    store::redis::{
        connect::{ConnectError, Target, is_replica},
        discovery::Discovery,
        protocol::{LockNames, Manner, Question, encode},
    },
    types::Unavailable,
};

const FIRST_BACKOFF: Duration = Duration::from_millis(20);
const SLOWEST_BACKOFF: Duration = Duration::from_secs(1);
/// Between connections of which each came to stand.
const SLOWEST_REPLACEMENT: Duration = Duration::from_millis(150);
/// A connection that lived for this long was good.
const LIVED: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(crate) struct Link {
    discovery: Box<dyn Discovery>,
    name: Arc<ClientName>,
    state: watch::Sender<State>,
    closed: CancellationToken,
    /// A connection that stands before there is a task to watch over it.
    first: Mutex<Option<First>>,
    /// The last connection, until Redis has been told to end it.
    old: Mutex<Option<Identity>>,
    pub(crate) side: SideWires,
    pub(crate) warnings: Warnings,
}

/// A connection that was looked at already, and what was seen.
pub(crate) type First = (Arc<Target>, Wire, MissingRights);

#[derive(Debug, Clone)]
enum State {
    Up(Arc<Target>, Arc<Wire>),
    Down(String),
}

impl Link {
    pub(crate) fn new(
        discovery: Box<dyn Discovery>,
        name: Arc<ClientName>,
        first: Option<First>,
    ) -> Self {
        Self {
            discovery,
            name,
            state: watch::Sender::new(State::Down("not connected yet".to_owned())),
            closed: CancellationToken::new(),
            first: Mutex::new(first),
            old: Mutex::default(),
            side: SideWires::default(),
            warnings: Warnings::default(),
        }
    }

    pub(crate) fn address(&self) -> String {
        match &*self.state.borrow() {
            State::Up(target, _) => target.address.clone(),
            State::Down(_) => self.discovery.to_string(),
        }
    }

    pub(crate) fn close(&self) {
        self.closed.cancel();
        self.state.send_replace(State::Down("the lock client is shut down".to_owned()));
        self.side.close();
    }

    /// Whether there is a connection.
    pub(crate) fn check(&self) -> Result<(), Unavailable> {
        match &*self.state.borrow() {
            State::Up(..) => Ok(()),
            State::Down(why) => Err(Unavailable::unsent(why.clone())),
        }
    }

    /// Keeps a connection up until the link is closed.
    pub(crate) async fn supervise(self: Arc<Self>) {
        tokio::select! {
            () = self.closed.cancelled() => {}
            () = self.keep_up() => {}
        }
        self.close();
    }

    async fn keep_up(&self) {
        let mut backoff = Backoff::new(FIRST_BACKOFF);
        loop {
            let started = Instant::now();
            let most = match self.open().await {
                Ok((target, wire)) => {
                    self.refresh(&target, &wire).await;
                    tracing::info!(redis = %target.address, "connected to Redis");
                    *self.old.lock() = wire.identity.clone();
                    self.state.send_replace(State::Up(Arc::clone(&target), Arc::clone(&wire)));
                    self.watch_over(&target, &wire).await;
                    // They lead to where it led, perhaps no further than it did.
                    self.side.close();
                    self.down("the connection was lost".to_owned());
                    SLOWEST_REPLACEMENT
                }
                Err(why) => {
                    self.down(why.to_string());
                    SLOWEST_BACKOFF
                }
            };
            // A server that takes connections and is no good must not be stormed.
            if started.elapsed() > LIVED && most == SLOWEST_REPLACEMENT {
                backoff = Backoff::new(FIRST_BACKOFF);
                continue;
            }
            tokio::time::sleep(backoff.next(most)).await;
        }
    }

    /// A connection over which anything may be asked: the one before it has been ended.
    async fn open(&self) -> Result<(Arc<Target>, Arc<Wire>), ConnectError> {
        let first = self.first.lock().take();
        let (target, wire, missing) = match first {
            Some(first) => first,
            None => {
                let target = self.discovery.find().await?;
                let wire = Wire::open(&target).await?;
                let missing = MissingRights::find(&wire, &target).await?;
                (target, wire, missing)
            }
        };
        let old = self.old.lock().clone();
        if let Some(old) = old {
            let kill = old.kill();
            let ended = wire.query::<i64>(&kill);
            match tokio::time::timeout(target.connect_timeout, ended).await {
                // Refused: the user may not, and the lease bounds what a late command can do.
                Ok(Ok(_) | Err(Failure::Answered(_))) => *self.old.lock() = None,
                Ok(Err(Failure::Dead)) | Err(_) => return Err(target.silent()),
            }
        }
        missing.check(&target)?;
        self.warnings.lack(&target, &missing);
        Ok((target, Arc::new(wire)))
    }

    async fn watch_over(&self, target: &Target, wire: &Wire) {
        let mut superseded = self.discovery.superseded(target);
        loop {
            tokio::select! {
                () = wire.dead.cancelled() => return,
                () = &mut superseded => {
                    tracing::warn!(redis = %target.address, "another server is the primary now");
                    wire.dead.cancel();
                    return;
                }
                () = tokio::time::sleep(REFRESH) => {
                    self.refresh(target, wire).await;
                    self.warnings.look_at_rights(wire, target).await;
                }
            }
        }
    }

    /// Also asks whether an idle connection still stands.
    async fn refresh(&self, target: &Target, wire: &Wire) {
        let sent = Instant::now();
        let refreshed = async {
            // In a cluster it has a node of its own.
            if !target.in_cluster {
                if let Err(Failure::Answered(why)) = wire.query::<Value>(&self.name.write()).await {
                    // Not every user may write it, and locks work without.
                    tracing::debug!(%why, "cannot write the client's name");
                }
            }
            self.warnings.look_for_eviction(wire, target).await;
        };
        if tokio::time::timeout(target.connect_timeout, refreshed).await.is_err() {
            wire.silent_since(sent);
        }
    }

    fn down(&self, why: String) {
        let known = matches!(&*self.state.borrow(), State::Down(known) if *known == why);
        if !known {
            tracing::warn!(redis = %self.discovery, %why, "no connection to Redis");
            self.state.send_replace(State::Down(why));
        }
    }

    /// The connection, if there is one.
    pub(crate) fn now(&self) -> Option<(Arc<Target>, Arc<Wire>)> {
        match &*self.state.borrow() {
            State::Up(target, wire) if !wire.dead.is_cancelled() => {
                Some((Arc::clone(target), Arc::clone(wire)))
            }
            _ => None,
        }
    }

    /// The connection, as soon as there is one.
    pub(crate) async fn wire(&self) -> (Arc<Target>, Arc<Wire>) {
        let mut changes = self.state.subscribe();
        loop {
            changes.mark_unchanged();
            if let Some(up) = self.now() {
                return up;
            }
            let _ = changes.changed().await;
        }
    }
}

/// Refuses a server that does not run the scripts with all that they do, or takes no writes.
pub(crate) async fn check_server(
    wire: &Wire,
    target: &Target,
) -> Result<MissingRights, ConnectError> {
    let missing = MissingRights::find(wire, target).await?;
    missing.check(target)?;
    let mut probe = encode::inspect(&LockNames::probe(&target.prefix));
    probe.nonce = "probe".to_owned();
    let info = redis::cmd("INFO").arg("replication").to_owned();
    let asked = async {
        match wire.ask(&Question::Script(&probe), Manner::default()).await {
            // Another node of its cluster has the probe's slot: this one runs scripts.
            Err(Failure::Answered(error)) if target.in_cluster && redirects(&error) => {}
            Err(Failure::Answered(error)) => return Err(target.refusal(error)),
            Err(Failure::Dead) => return Err(target.silent()),
            Ok(_) => {}
        }
        // A user without the right to read the role finds out at the first lock.
        let role = wire.query::<String>(&info).await.unwrap_or_default();
        if is_replica(&role) {
            return Err(target.unsuitable("it is a read-only replica"));
        }
        Ok(missing)
    };
    let asked = tokio::time::timeout(target.connect_timeout, asked).await;
    asked.unwrap_or_else(|_| Err(target.silent()))
}

fn redirects(error: &RedisError) -> bool {
    use ServerErrorKind::{Ask, Moved, TryAgain};
    [Moved, Ask, TryAgain].into_iter().any(|kind| error.kind() == ErrorKind::Server(kind))
}
