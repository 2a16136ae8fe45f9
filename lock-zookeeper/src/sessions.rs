//! The client's session: one at a time, replaced when it has ended.
//!
//! All locks of a client end with its session, so a command belongs to the session in which it
//! began. Locks of an earlier session are lost.

use std::{sync::Arc, time::Duration};

use lock_store::{ConnectError, Unavailable, runtime::Backoff};
use tokio::{sync::watch, time::Instant};
use tokio_util::sync::CancellationToken;
use zookeeper_client::SessionState;

use super::{connect::SessionConnector, session::Session};

const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// The current session, and since when there is no connection.
#[derive(Debug)]
pub(crate) struct Sessions {
    connector: SessionConnector,
    current: watch::Sender<Current>,
    closed: CancellationToken,
}

#[derive(Debug, Clone)]
struct Current {
    session: Option<Arc<Session>>,
    /// Since when, and why, nothing can be sent.
    silent: Option<(Instant, String)>,
}

impl Current {
    fn is_usable(&self) -> bool {
        self.session.as_ref().is_some_and(|session| !session.has_ended())
    }
}

impl Sessions {
    /// With the first session, if there is one yet.
    pub(crate) fn new(connector: SessionConnector, first: Option<Session>) -> Self {
        let silent = first.is_none().then(|| (Instant::now(), "not connected yet".to_owned()));
        let current = Current { session: first.map(Arc::new), silent };
        Self { connector, current: watch::Sender::new(current), closed: CancellationToken::new() }
    }

    /// The current session, for which a caller waits when there is none.
    pub(crate) async fn current(&self) -> Result<Arc<Session>, Unavailable> {
        let mut current = self.current.subscribe();
        tokio::select! {
            found = current.wait_for(Current::is_usable) => {
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
        // Kept across attempts that fail: with the number of an earlier session, the locks of that
        // one would count as this one's.
        let mut last = 0;
        loop {
            let session = self.current.borrow().session.clone();
            if let Some(session) = session {
                tokio::select! {
                    () = self.until_ended(&session) => {}
                    () = session.touches.keep(&session.client) => {}
                }
                backoff = Backoff::new(FIRST_PAUSE);
                last = session.number;
            }
            let why = match self.connect(last + 1).await {
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
        let current = Current { session: Some(Arc::new(session)), silent: None };
        let before = self.current.send_replace(current);
        if number > 1 {
            let down_for = before.silent.map_or(Duration::ZERO, |(since, _)| since.elapsed());
            self.connector.on_reconnect.call(down_for);
        }
        Ok(())
    }

    /// Records when the connection comes and goes, until the session has ended.
    async fn until_ended(&self, session: &Session) {
        let mut states = session.client.state_watcher();
        let mut state = states.peek_state();
        loop {
            if state.is_terminated() {
                if self.closed.is_cancelled() {
                    // Ended by `close`, on another thread.
                    return;
                }
                tracing::warn!(target: "lock_core::zookeeper", state = %state, "the session with ZooKeeper has ended; all its locks are lost");
                let silent = Some((Instant::now(), format!("the session has ended: {state}")));
                // Removed before the next session is requested: callers that come now wait for that
                // one instead of failing in this one.
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

    /// The least timeout that the ensemble grants, normally two of its ticks, if it is longer than
    /// the requested one.
    pub(crate) async fn least_timeout(&self) -> Option<Duration> {
        self.connector.least_timeout().await
    }

    /// Ends the session, and with it everything that it holds.
    pub(crate) async fn close(&self) {
        self.closed.cancel();
        let session = self.current.borrow().session.clone();
        let states = session.as_ref().map(|session| session.client.state_watcher());
        self.forget();
        // The library ends the session with its last handle: kept here, the session would not end,
        // and the wait below would use up the shutdown's grace.
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
