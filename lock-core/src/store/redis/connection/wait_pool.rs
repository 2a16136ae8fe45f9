//! Connections that may stand still: WAIT holds up whatever is behind it on its connection, and
//! counts what was written over its own.
//!
//! One that is given up with a command under way is killed by its number before anything else is
//! asked of the server, like a lost connection for commands.

use std::sync::Arc;

use redis::Value;
use tokio::sync::{Semaphore, SemaphorePermit};

use super::multiplexed::{Connection, ConnectionId, Failure, Response};
use crate::{
    runtime::Mutex,
    store::redis::{
        connect::{ErrorClass, Server, classify},
        protocol::{Request, SendOptions},
    },
};

/// How many acquisitions may wait for replicas at once; more of them queue.
const MOST: usize = 8;

#[derive(Debug)]
pub(crate) struct WaitConnections {
    free: Semaphore,
    /// With the server that each leads to: another one may be the primary by now.
    idle: Mutex<Vec<(Arc<Server>, Connection)>>,
    /// Given up, and Redis has not been told yet.
    abandoned: Mutex<Vec<ConnectionId>>,
}

impl Default for WaitConnections {
    fn default() -> Self {
        Self { free: Semaphore::new(MOST), idle: Mutex::default(), abandoned: Mutex::default() }
    }
}

impl WaitConnections {
    /// Closes those that nobody uses.
    pub(crate) fn close(&self) {
        self.idle.lock().clear();
    }

    /// One connection for one command. It fails when the server takes no more of them.
    pub(crate) async fn take(&self, server: &Arc<Server>) -> Result<WaitConnection<'_>, Failure> {
        let permit = self.free.acquire().await.map_err(|_| Failure::ConnectionLost)?;
        let known = loop {
            match self.idle.lock().pop() {
                Some((to, connection))
                    if Arc::ptr_eq(&to, server) && !connection.dead.is_cancelled() =>
                {
                    break Some(connection);
                }
                Some(_) => {}
                None => break None,
            }
        };
        let connection = match known {
            Some(connection) => connection,
            None => Connection::open(server).await.map_err(|why| {
                tracing::debug!(redis = %server.address, %why, "no further connection");
                Failure::ConnectionLost
            })?,
        };
        let connection = Some((Arc::clone(server), connection));
        Ok(WaitConnection { connections: self, connection, answered: false, _permit: permit })
    }

    /// Whether something was given up that Redis has not ended yet.
    pub(crate) fn has_abandoned(&self) -> bool {
        !self.abandoned.lock().is_empty()
    }

    /// Has Redis end what was given up, before `connection` is asked anything.
    pub(crate) async fn kill_abandoned(&self, connection: &Connection) {
        let abandoned = self.abandoned.lock().clone();
        for identity in abandoned {
            if let Err(Failure::ConnectionLost) = connection.query::<i64>(&identity.kill()).await {
                return;
            }
            self.abandoned.lock().retain(|other| *other != identity);
        }
    }
}

/// A connection of one's own.
pub(crate) struct WaitConnection<'a> {
    connections: &'a WaitConnections,
    connection: Option<(Arc<Server>, Connection)>,
    answered: bool,
    _permit: SemaphorePermit<'a>,
}

impl WaitConnection<'_> {
    /// A connection whose answer is not accepted, or whose server is no primary, is not used again.
    pub(crate) async fn ask(
        mut self,
        request: &Request<'_>,
        options: SendOptions,
        accepted: impl Fn(&Value) -> bool,
    ) -> Result<Response, Failure> {
        let Some((_, connection)) = &self.connection else {
            return Err(Failure::ConnectionLost);
        };
        let answer = connection.ask(request, options).await;
        self.answered = match &answer {
            Ok(response) => accepted(&response.answer),
            Err(Failure::ServerError(error)) => {
                !matches!(classify(error), ErrorClass::Transient { replace: true, .. })
            }
            Err(Failure::ConnectionLost) => false,
        };
        answer
    }
}

impl Drop for WaitConnection<'_> {
    fn drop(&mut self) {
        let Some((server, connection)) = self.connection.take() else {
            return;
        };
        if self.answered && !connection.dead.is_cancelled() {
            self.connections.idle.lock().push((server, connection));
        } else if let Some(identity) = &connection.identity {
            self.connections.abandoned.lock().push(identity.clone());
        }
    }
}
