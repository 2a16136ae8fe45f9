//! Connections that may block: WAIT holds up every later command on its connection, and counts only
//! writes of the same connection.
//!
//! A connection that is given up with a command in flight is killed before anything else is sent to
//! the server.

use std::sync::Arc;

use lock_store::runtime::Mutex;
use redis::Value;
use tokio::sync::{Semaphore, SemaphorePermit};

use super::multiplexed::{CommandReply, Connection, ConnectionId, Failure};
use crate::redis::{
    connect::{ErrorClass, Server, classify},
    protocol::{Request, SendOptions},
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
        // Acquired before a connection is opened, so that a server whose replicas are slow is not
        // flooded with blocked connections.
        let permit = self.free.acquire().await.map_err(|_| Failure::ConnectionLost)?;
        let known = loop {
            match self.idle.lock().pop() {
                // After a failover an idle connection still leads to the former primary. A grant
                // that its replicas confirm is unknown to the new primary.
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
        // `answered` is false until an accepted reply arrives: a caller that is dropped while it
        // waits leaves a command in flight on this connection.
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
                // Whether Redis has ended it is unknown: it stays listed, and the next connection
                // kills it. Any other error is a refusal. The user may not kill connections, and
                // the lease bounds the harm of a late command.
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
    ) -> Result<CommandReply, Failure> {
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
            // Only an idle connection is reused: behind a blocked WAIT the next acquisition would
            // wait as long.
            self.connections.idle.lock().push((server, connection));
        } else if let Some(identity) = &connection.identity {
            // Its acquisition may still be executed. It is killed before anything else is sent, so
            // that the acquisition cannot follow the release that undoes it.
            self.connections.abandoned.lock().push(identity.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::redis::connect::fake_server::FakeServer;

    /// A server that answers GET with its key, as a text or an error.
    async fn fake() -> FakeServer {
        FakeServer::start(|command| match command.split_once(' ')? {
            ("GET", reply) => Some(format!("{reply}\r\n")),
            _ => Some(":1\r\n".to_owned()),
        })
        .await
    }

    /// Sends one command over a separate connection.
    async fn send(all: &WaitConnections, server: &Arc<Server>, reply: &str, accepted: bool) {
        let get = redis::cmd("GET").arg(reply).to_owned();
        let connection = all.take(server).await.expect("a connection");
        let _ =
            connection.send(&Request::Command(&get), SendOptions::default(), |_| accepted).await;
    }

    #[tokio::test]
    async fn only_a_connection_that_has_answered_well_is_used_again() {
        let fake = fake().await;
        let (all, server) = (WaitConnections::default(), Arc::new(fake.server()));
        let mut connections = 0;
        for (reply, accepted, is_kept) in [
            ("+OK", true, true),
            ("-ERR no", true, true),
            ("+OK", false, false),
            ("-READONLY no", true, false),
            ("-LOADING no", true, false),
        ] {
            // The one before is used, or a first one.
            send(&all, &server, "+OK", true).await;
            connections = connections.max(fake.count("HELLO"));
            send(&all, &server, reply, accepted).await;
            assert_eq!(fake.count("HELLO"), connections, "{reply}: it was idle");
            assert_eq!(all.idle.lock().len(), usize::from(is_kept), "{reply}");
            assert_eq!(all.has_abandoned(), !is_kept, "{reply}");
            all.abandoned.lock().clear();
        }
    }

    #[tokio::test]
    async fn an_idle_connection_that_has_ended_or_leads_elsewhere_is_not_used() {
        let fake = fake().await;
        let (all, server) = (WaitConnections::default(), Arc::new(fake.server()));
        send(&all, &server, "+OK", true).await;
        all.idle.lock()[0].1.end();
        send(&all, &server, "+OK", true).await;
        assert_eq!(fake.count("HELLO"), 2, "it has ended");
        send(&all, &Arc::new(fake.server()), "+OK", true).await;
        assert_eq!(fake.count("HELLO"), 3, "another server is the primary");
        all.close();
        assert!(all.idle.lock().is_empty());
    }

    #[tokio::test]
    async fn what_was_given_up_is_killed_once() {
        let fake = fake().await;
        let (all, server) = (WaitConnections::default(), Arc::new(fake.server()));
        let other = Connection::open(&server).await.expect("a connection");
        drop(all.take(&server).await.expect("a connection"));
        drop(all.take(&server).await.expect("a connection"));
        assert!(all.has_abandoned());
        all.kill_abandoned(&other).await;
        assert!(!all.has_abandoned());
        all.kill_abandoned(&other).await;
        assert_eq!(fake.count("CLIENT KILL"), 2);
        assert_eq!(fake.count("CLIENT KILL ID 2 ADDR here"), 1);
        drop(all.take(&server).await.expect("a connection"));
        other.end();
        all.kill_abandoned(&other).await;
        assert!(all.has_abandoned(), "it is not known whether Redis has ended it");
    }
}
