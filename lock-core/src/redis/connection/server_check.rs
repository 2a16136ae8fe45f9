//! Checks a server over a new connection: whether it answers scripts, and with which rights.

use redis::{ErrorKind, RedisError, ServerErrorKind};

use super::{
    acl::MissingRights,
    multiplexed::{Connection, Failure},
};
use crate::redis::{
    connect::{ConnectError, Server, is_replica},
    protocol::{Request, SendOptions},
};

/// Refuses a server that does not run the scripts completely, or accepts no writes.
pub(crate) async fn check_server(
    connection: &Connection,
    server: &Server,
) -> Result<MissingRights, ConnectError> {
    let missing = MissingRights::find(connection, server).await?;
    missing.check(server)?;
    let mut probe = server.wire.probe();
    probe.nonce = "probe".to_owned();
    let info = redis::cmd("INFO").arg("replication").to_owned();
    let check = async {
        match connection.send(&Request::Script(&probe), SendOptions::default()).await {
            // Another node of the cluster has the probe's slot: this one runs scripts.
            Err(Failure::ServerError(error)) if server.in_cluster && redirects(&error) => {}
            Err(Failure::ServerError(error)) => return Err(server.server_error(error)),
            Err(Failure::ConnectionLost | Failure::Late) => return Err(server.timeout_error()),
            Ok(_) => {}
        }
        // If the user may not read the role, the first lock reveals a replica.
        let role = connection.query::<String>(&info).await.unwrap_or_default();
        if is_replica(&role) {
            return Err(server.unsupported_error("it is a read-only replica"));
        }
        Ok(missing)
    };
    let check = tokio::time::timeout(server.connect_timeout, check).await;
    check.unwrap_or_else(|_| Err(server.timeout_error()))
}

pub(super) fn redirects(error: &RedisError) -> bool {
    use ServerErrorKind::{Ask, Moved, TryAgain};
    [Moved, Ask, TryAgain].into_iter().any(|kind| error.kind() == ErrorKind::Server(kind))
}
