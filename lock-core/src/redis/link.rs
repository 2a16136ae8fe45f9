//! The link to Redis: one connection for commands under supervision.
//!
//! The connection is replaced when it was dropped, went silent, belongs to a server that refuses to
//! write, or has answered somebody else's question. Before the new one is used the old one is
//! killed by its number, where the user may do that: a command still on its way in the old socket
//! would otherwise be carried out after the release that was meant to undo it.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use redis::{ErrorKind, ServerErrorKind, Value};
use tokio::{sync::watch, time::Instant};
use tokio_util::sync::CancellationToken;

use super::{
    ConnectError,
    name::{ClientName, REFRESH},
    target::{Target, reason},
    wire::{Failure, Identity, Question, Wire},
};
use crate::error::Unavailable;

const FIRST_BACKOFF: Duration = Duration::from_millis(20);
const SLOWEST_BACKOFF: Duration = Duration::from_secs(1);
/// Between connections of which each came to stand.
const SLOWEST_REPLACEMENT: Duration = Duration::from_millis(150);
/// A connection that lived for this long was good.
const LIVED: Duration = Duration::from_secs(1);
/// Before a command that Redis refused for a passing reason is sent again.
const PASSING: Duration = Duration::from_millis(25);

#[derive(Debug)]
pub(super) struct Link {
    target: Arc<Target>,
    name: Arc<ClientName>,
    command_timeout: Duration,
    wire: watch::Sender<State>,
    closed: CancellationToken,
    /// A connection that stands before there is a task to watch over it.
    first: Mutex<Option<Wire>>,
    /// The last connection, until Redis has been told to end it.
    old: Mutex<Option<Identity>>,
}

#[derive(Debug, Clone)]
enum State {
    Up(Arc<Wire>),
    Down(String),
}

/// An answer, and whether the question may have been carried out more than once.
#[derive(Debug)]
pub(super) struct Answered {
    pub(super) answer: Value,
    pub(super) again: bool,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Link {
    pub(super) fn new(
        target: Arc<Target>,
        name: Arc<ClientName>,
        command_timeout: Duration,
        first: Option<Wire>,
    ) -> Self {
        Self {
            target,
            name,
            command_timeout,
            wire: watch::Sender::new(State::Down("not connected yet".to_owned())),
            closed: CancellationToken::new(),
            first: Mutex::new(first),
            old: Mutex::default(),
        }
    }

    pub(super) fn address(&self) -> &str {
        &self.target.address
    }

    pub(super) fn close(&self) {
        self.closed.cancel();
        self.wire.send_replace(State::Down("the lock client is shut down".to_owned()));
    }

    /// Whether there is a connection.
    pub(super) fn check(&self) -> Result<(), Unavailable> {
        match &*self.wire.borrow() {
            State::Up(_) => Ok(()),
            State::Down(why) => Err(Unavailable::unsent(why.clone())),
        }
    }

    /// Keeps a connection up until the link is closed.
    pub(super) async fn supervise(&self) {
        tokio::select! {
            () = self.closed.cancelled() => {}
            () = self.keep_up() => {}
        }
        self.close();
    }

    async fn keep_up(&self) {
        let mut backoff = FIRST_BACKOFF;
        loop {
            let started = Instant::now();
            let most = match self.open().await {
                Ok(wire) => {
                    self.refresh_name(&wire).await;
                    tracing::info!(redis = %self.target.address, "connected to Redis");
                    *lock(&self.old) = wire.identity.clone();
                    self.wire.send_replace(State::Up(Arc::clone(&wire)));
                    self.watch_over(&wire).await;
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
                backoff = FIRST_BACKOFF;
                continue;
            }
            tokio::time::sleep(backoff.mul_f64(0.5 + jitter() / 2.0)).await;
            backoff = (backoff * 2).min(most);
        }
    }

    /// A connection over which anything may be asked: the one before it has been ended.
    async fn open(&self) -> Result<Arc<Wire>, ConnectError> {
        let first = lock(&self.first).take();
        let wire = match first {
            Some(wire) => wire,
            None => Wire::open(&self.target).await?,
        };
        let old = lock(&self.old).clone();
        if let Some(old) = old {
            let kill = old.kill();
            let ended = wire.query::<i64>(&kill);
            match tokio::time::timeout(self.target.connect_timeout, ended).await {
                // Refused: the user may not, and the lease bounds what a late command can do.
                Ok(Ok(_) | Err(Failure::Answered(_))) => *lock(&self.old) = None,
                Ok(Err(Failure::Dead)) | Err(_) => return Err(self.target.silent()),
            }
        }
        Ok(Arc::new(wire))
    }

    async fn watch_over(&self, wire: &Wire) {
        loop {
            tokio::select! {
                () = wire.dead.cancelled() => return,
                () = tokio::time::sleep(REFRESH) => self.refresh_name(wire).await,
            }
        }
    }

    /// Also asks whether an idle connection still stands.
    async fn refresh_name(&self, wire: &Wire) {
        let sent = Instant::now();
        let refreshed = self.name.refresh(wire);
        if tokio::time::timeout(self.target.connect_timeout, refreshed).await.is_err() {
            wire.silent_since(sent);
        }
    }

    fn down(&self, why: String) {
        let known = matches!(&*self.wire.borrow(), State::Down(known) if *known == why);
        if !known {
            tracing::warn!(redis = %self.target.address, %why, "no connection to Redis");
            self.wire.send_replace(State::Down(why));
        }
    }

    /// Asks until there is an answer or the command timeout is over. What is asked must be safe to
    /// ask again: when a connection ends, nobody knows what was carried out. An answer that `check`
    /// does not accept ends its connection.
    pub(super) async fn ask(
        &self,
        question: &Question<'_>,
        check: impl Fn(&Value) -> Result<(), Unavailable> + Send + Sync,
    ) -> Result<Answered, Unavailable> {
        let mut again = false;
        let mut last: Option<(Arc<Wire>, Instant)> = None;
        let mut refusal = None;
        let answered = tokio::time::timeout(self.command_timeout, async {
            loop {
                let wire = tokio::select! {
                    wire = self.wire() => wire,
                    () = self.closed.cancelled() => {
                        return Err(Unavailable::unsent("the lock client is shut down"));
                    }
                };
                last = Some((Arc::clone(&wire), Instant::now()));
                match wire.ask(question).await {
                    Ok(answer) => match check(&answer) {
                        Ok(()) => return Ok(Answered { answer, again }),
                        Err(strange) => {
                            wire.dead.cancel();
                            return Err(strange);
                        }
                    },
                    Err(Failure::Dead) => again = true,
                    Err(Failure::Answered(error)) => {
                        let (passing, replace) = passes(&error);
                        if replace {
                            wire.dead.cancel();
                        }
                        let text = reason(&error);
                        if !passing {
                            return Err(Unavailable::because(text, error));
                        }
                        refusal = Some(Unavailable::because(text, error));
                        tokio::time::sleep(PASSING).await;
                    }
                }
            }
        })
        .await;
        answered.unwrap_or_else(|_| {
            // A connection that came up a moment ago has not been silent for long.
            if let Some((wire, sent)) = last
                && sent.elapsed() >= self.command_timeout.mul_f64(0.9)
            {
                wire.silent_since(sent);
            }
            let state = self.check();
            Err(refusal.or(state.err()).unwrap_or_else(|| {
                let timeout = self.command_timeout;
                Unavailable::unsent(format!(
                    "no answer from {} within {timeout:?}",
                    self.target.address
                ))
            }))
        })
    }

    /// The connection, as soon as there is one.
    async fn wire(&self) -> Arc<Wire> {
        let mut changes = self.wire.subscribe();
        loop {
            if let State::Up(wire) = &*changes.borrow_and_update()
                && !wire.dead.is_cancelled()
            {
                return Arc::clone(wire);
            }
            let _ = changes.changed().await;
        }
    }
}

/// Whether the same command may succeed in a moment, and whether over another connection only.
/// In each of these cases the command was not carried out.
fn passes(error: &redis::RedisError) -> (bool, bool) {
    use ServerErrorKind::{BusyLoading, ClusterDown, MasterDown, NoScript, ReadOnly, TryAgain};
    match error.kind() {
        ErrorKind::Server(BusyLoading | MasterDown | ReadOnly) => (true, true),
        ErrorKind::Server(ClusterDown | NoScript | TryAgain) => (true, false),
        _ if error.code() == Some("BUSY") => (true, false),
        _ => (false, false),
    }
}

/// From 0 to 1.
fn jitter() -> f64 {
    let mut byte = [0_u8];
    let _ = getrandom::fill(&mut byte);
    f64::from(byte[0]) / 255.0
}
