//! Connections that may block: WAIT holds up every later command on its connection, and counts only
//! the writes of its own connection.
//!
//! A connection that is given up with a command in flight is killed by its number before anything
//! else is sent to the server, like a lost connection for commands.

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
    /// Each with its server: another one may be the primary by now.
    idle: Mutex<Vec<(Arc<Server>, Connection)>>,
    /// Given up, and not yet killed in Redis.
    abandoned: Mutex<Vec<ConnectionId>>,
}

impl Default for WaitConnections {
    fn default() -> Self {
        Self { free: Semaphore::new(MOST), idle: Mutex::default(), abandoned: Mutex::default() }
    }
}

impl WaitConnections {
    /// Closes the idle connections.
    pub(crate) fn close(&self) {
        self.idle.lock().clear();
    }

    /// A connection for one command. Fails when the server accepts no more of them.
    pub(crate) async fn take(&self, server: &Arc<Server>) -> Result<WaitConnection<'_>, Failure> {
        let permit = self.free.acquire().await.map_err(|_| Failure::ConnectionLost)?;
        let known = loop {
            match self.idle.lock().pop() {
                Some((to, connection)) if Arc::ptr_eq(&to, server) && !connection.has_ended() => {
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

    /// Whether a given-up connection was not killed yet.
    pub(crate) fn has_abandoned(&self) -> bool {
        !self.abandoned.lock().is_empty()
    }

    /// Kills given-up connections before `connection` is used.
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

/// A connection that one command has for itself.
pub(crate) struct WaitConnection<'a> {
    connections: &'a WaitConnections,
    connection: Option<(Arc<Server>, Connection)>,
    answered: bool,
    _permit: SemaphorePermit<'a>,
}

impl WaitConnection<'_> {
    /// A connection with an unexpected answer, or to a server that is not a primary, is not reused.
    pub(crate) async fn send(
        mut self,
        request: &Request<'_>,
        options: SendOptions,
        accepted: impl Fn(&Value) -> bool,
    ) -> Result<Response, Failure> {
        let Some((_, connection)) = &self.connection else {
            return Err(Failure::ConnectionLost);
        };
        let answer = connection.send(request, options).await;
        self.answered = match &answer {
            Ok(response) => accepted(&response.answer),
            Err(Failure::ServerError(error)) => {
                !matches!(classify(error), ErrorClass::Transient { replace: true, .. })
            }
            Err(Failure::ConnectionLost | Failure::Late) => false,
        };
        answer
    }
}

impl Drop for WaitConnection<'_> {
    fn drop(&mut self) {
        let Some((server, connection)) = self.connection.take() else {
            return;
        };
        if self.answered && !connection.has_ended() {
            self.connections.idle.lock().push((server, connection));
        } else if let Some(identity) = &connection.identity {
            self.connections.abandoned.lock().push(identity.clone());
        }
    }
}
