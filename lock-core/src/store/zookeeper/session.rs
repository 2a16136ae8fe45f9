//! The session: one at a time, replaced when it has ended.
//!
//! All locks of a client end with its session, so a command belongs to the session in which it
//! began: what an earlier one held is lost.

use std::{
    collections::HashSet,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use futures_util::future::join;
use tokio::{
    sync::{Mutex, watch},
    time::Instant,
};
use tokio_util::sync::CancellationToken;
use zookeeper_client::{Acls, Client, CreateMode, Error, SessionState};

use super::{connect::Connector, path::Root};
use crate::{
    runtime::Backoff,
    types::{ConnectError, Unavailable},
};

const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// One session of the client with the ensemble.
pub(crate) struct Session {
    pub(crate) client: Client,
    /// Which of this process' sessions it is.
    pub(crate) number: u64,
    root: Root,
    confirmations: Confirmations,
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session").field("number", &self.number).finish_non_exhaustive()
    }
}

impl Session {
    pub(crate) fn new(client: Client, number: u64, root: Root) -> Self {
        Self { client, number, root, confirmations: Confirmations::default() }
    }

    /// Creates the folders of a path, as containers: the server removes those that are empty.
    pub(crate) async fn make_folder(&self, path: &str) -> Result<(), Error> {
        let container = CreateMode::Container.with_acls(Acls::anyone_all());
        retry(|| self.client.mkdir(path, &container)).await
    }

    /// The children of a path, of which there are none if it is not there.
    ///
    /// The `sync` before it goes through the leader, so the answer is no older than the call, and
    /// proves that the session had not ended when the leader answered. A read alone proves neither:
    /// a server that is cut off from the others answers it too.
    pub(crate) async fn children_now(&self, path: &str) -> Result<Vec<String>, Error> {
        let ask = || async {
            let (synced, children) =
                join(self.client.sync(path), self.client.get_children(path)).await;
            synced?;
            Ok(children?.0)
        };
        match retry(ask).await {
            Err(Error::NoNode) => Ok(Vec::new()),
            answer => answer,
        }
    }

    /// Confirms that the session is alive, and returns the paths of everything that it holds. Callers
    /// that wait at the same time share one confirmation, which is sent after all of them came.
    pub(crate) async fn confirm(&self) -> Result<Arc<HashSet<String>>, Error> {
        let number = self.confirmations.calls.fetch_add(1, Ordering::AcqRel) + 1;
        let mut last = self.confirmations.last.lock().await;
        if last.covers < number {
            let covers = self.confirmations.calls.load(Ordering::Acquire);
            let folder = self.root.folder();
            let ask = || async {
                let (synced, held) =
                    join(self.client.sync(folder), self.client.list_ephemerals(folder)).await;
                synced?;
                held
            };
            *last = Confirmation {
                covers,
                held: retry(ask).await.map(|held| Arc::new(held.into_iter().collect())),
            };
        }
        last.held.clone()
    }
}

/// Confirmations of the session, one at a time.
#[derive(Default)]
struct Confirmations {
    calls: AtomicU64,
    last: Mutex<Confirmation>,
}

/// The last one, and up to which call it was sent after the call.
struct Confirmation {
    covers: u64,
    held: Result<Arc<HashSet<String>>, Error>,
}

impl Default for Confirmation {
    fn default() -> Self {
        Self { covers: 0, held: Err(Error::ConnectionLoss) }
    }
}

/// Repeats what may be repeated for as long as connections end: the library sends it over the next
/// one. The caller limits the time.
pub(crate) async fn retry<T, F: Future<Output = Result<T, Error>>>(
    ask: impl Fn() -> F,
) -> Result<T, Error> {
    loop {
        match ask().await {
            Err(why) if is_lost(&why) => tokio::task::yield_now().await,
            answer => return answer,
        }
    }
}

/// Whether the connection ended before the answer, so that it is not known whether the command was
/// executed. A reset is reported by the library as the system's own error.
pub(crate) fn is_lost(why: &Error) -> bool {
    matches!(why, Error::ConnectionLoss | Error::Custom(_))
}

/// The current session, and since when there is no connection.
#[derive(Debug)]
pub(crate) struct Sessions {
    connector: Connector,
    current: watch::Sender<Current>,
    closed: CancellationToken,
}

#[derive(Debug, Clone)]
struct Current {
    session: Option<Arc<Session>>,
    /// Since when, and why, nothing can be sent.
    silent: Option<(Instant, String)>,
}

impl Sessions {
    /// With the first session, if there is one yet.
    pub(crate) fn new(connector: Connector, first: Option<Session>) -> Self {
        let silent = first.is_none().then(|| (Instant::now(), "not connected yet".to_owned()));
        let current = Current { session: first.map(Arc::new), silent };
        Self { connector, current: watch::Sender::new(current), closed: CancellationToken::new() }
    }

    /// The current session, for which a caller waits when there is none.
    pub(crate) async fn current(&self) -> Result<Arc<Session>, Unavailable> {
        let mut current = self.current.subscribe();
        tokio::select! {
            found = current.wait_for(|current| current.session.is_some()) => {
                let session = found.ok().and_then(|found| found.session.clone());
                session.ok_or_else(closed)
            }
            () = self.closed.cancelled() => Err(closed()),
        }
    }

    /// Why nothing has been sent for longer than `limit`.
    pub(crate) fn check(&self, limit: Duration) -> Result<(), Unavailable> {
        match &self.current.borrow().silent {
            Some((since, why)) if since.elapsed() >= limit => {
                Err(Unavailable::no_answer(why.clone()))
            }
            _ => Ok(()),
        }
    }

    /// Keeps a session, and replaces it when it has ended.
    pub(crate) async fn supervise(self: Arc<Self>) {
        let closed = self.closed.clone();
        tokio::select! {
            () = self.keep() => {}
            () = closed.cancelled() => {}
        }
    }

    async fn keep(&self) {
        let mut backoff = Backoff::new(FIRST_PAUSE);
        loop {
            let session = self.current.borrow().session.clone();
            let number = match session {
                Some(session) => {
                    self.until_ended(&session).await;
                    backoff = Backoff::new(FIRST_PAUSE);
                    session.number + 1
                }
                None => 1,
            };
            let why = match self.connect(number).await {
                Ok(()) => continue,
                Err(why) => why,
            };
            self.current.send_modify(|current| {
                if let Some((_, reason)) = &mut current.silent {
                    *reason = why.to_string();
                }
            });
            tokio::time::sleep(backoff.next(LONGEST_PAUSE)).await;
        }
    }

    async fn connect(&self, number: u64) -> Result<(), ConnectError> {
        let session = self.connector.connect(number).await?;
        self.current.send_replace(Current { session: Some(Arc::new(session)), silent: None });
        Ok(())
    }

    /// Records when the connection comes and goes, until the session has ended.
    async fn until_ended(&self, session: &Session) {
        let mut states = session.client.state_watcher();
        let mut state = states.peek_state();
        loop {
            if state.is_terminated() {
                tracing::warn!(state = %state, "the session with ZooKeeper has ended; all its locks are lost");
                let silent = Some((Instant::now(), format!("the session has ended: {state}")));
                self.current.send_replace(Current { session: None, silent });
                return;
            }
            self.current.send_modify(|current| match (state, &current.silent) {
                (SessionState::Disconnected, None) => {
                    let why = format!("no connection to {}", self.connector.address());
                    current.silent = Some((Instant::now(), why));
                }
                (SessionState::Disconnected, Some(_)) => {}
                _ => current.silent = None,
            });
            state = states.changed().await;
        }
    }

    /// The least timeout that the ensemble grants, normally two of its ticks, if it is longer than what
    /// is requested for it.
    pub(crate) async fn least_timeout(&self) -> Option<Duration> {
        self.connector.least_timeout().await
    }

    /// Ends the session, and with it everything that it holds.
    pub(crate) async fn close(&self) {
        self.closed.cancel();
        let session = self.current.borrow().session.clone();
        let states = session.as_ref().map(|session| session.client.state_watcher());
        self.forget();
        drop(session);
        if let Some(mut states) = states {
            while !states.changed().await.is_terminated() {}
        }
    }

    /// As [`close`](Self::close), without waiting until the ensemble has confirmed it.
    pub(crate) fn forget(&self) {
        self.closed.cancel();
        self.current.send_replace(Current { session: None, silent: None });
    }
}

fn closed() -> Unavailable {
    Unavailable::unsent("the lock client is shut down")
}
