//! One server: how to open a connection to it.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use lock_store::connect::OnReconnect;
use redis::RedisConnectionInfo;

use super::{
    ConnectError,
    address_map::AddressMap,
    dial::{Stream, dial},
    endpoint::Endpoint,
    greeting::greet,
    options::RedisOptions,
    tls::Connector,
};
use crate::redis::protocol::{ReplyReader, Wire};

#[derive(Clone)]
pub(crate) struct Server {
    pub(crate) endpoint: Endpoint,
    /// Host and port, or the socket's path: safe to print.
    pub(crate) address: String,
    pub(crate) connect_timeout: Duration,
    pub(crate) command_timeout: Duration,
    pub(crate) in_cluster: bool,
    pub(crate) wire: Arc<dyn Wire>,
    /// Whether the user must have every right that the scripts need.
    pub(crate) check_rights: bool,
    /// Whether grants wait for replicas.
    pub(crate) waits: bool,
    pub(crate) on_reconnect: OnReconnect,
    pub(super) tls: Option<Connector>,
    pub(super) login: RedisConnectionInfo,
    /// Where addresses are reached that servers announce.
    addresses: AddressMap,
    /// The server that has announced the address, unless the URL has it.
    pub(super) announced_by: Option<Arc<str>>,
    /// The name in `CLIENT LIST`.
    pub(crate) connection_name: String,
}

impl std::fmt::Debug for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.address.fmt(f)
    }
}

impl Server {
    pub(crate) fn new(
        endpoint: Endpoint,
        login: &RedisConnectionInfo,
        tls: Option<Connector>,
        options: &RedisOptions,
        wire: &Arc<dyn Wire>,
        name: &str,
    ) -> Self {
        Self {
            address: endpoint.to_string(),
            endpoint,
            connect_timeout: options.common.connect_timeout,
            command_timeout: options.common.command_timeout,
            in_cluster: false,
            wire: Arc::clone(wire),
            check_rights: options.check_rights,
            waits: options.replicas.is_some(),
            on_reconnect: options.common.on_reconnect.clone(),
            tls,
            login: login.clone(),
            addresses: options.addresses.clone(),
            announced_by: None,
            connection_name: name.to_owned(),
        }
    }

    /// The same server as a node of a cluster.
    pub(crate) fn in_cluster(self) -> Self {
        Self { in_cluster: true, ..self }
    }

    /// Another server that is reached in the same way.
    pub(crate) fn with_endpoint(&self, endpoint: Endpoint) -> Self {
        Self { address: endpoint.to_string(), endpoint, ..self.clone() }
    }

    #[cfg(test)]
    pub(crate) fn with_addresses(self, addresses: AddressMap) -> Self {
        Self { addresses, ..self }
    }

    /// The same at an address that was announced by this.
    pub(crate) fn announced_by(self, announcer: &str) -> Self {
        Self { announced_by: Some(announcer.into()), ..self }
    }

    /// Where a server is reached whose address this one announces.
    pub(crate) fn announced(&self, host: &str, port: u16) -> Endpoint {
        self.addresses.reached(Endpoint::announced(host, port, &self.endpoint))
    }

    /// The same for an address as redirections have it.
    pub(crate) fn redirected(&self, address: &str) -> Option<Endpoint> {
        Some(self.addresses.reached(Endpoint::parse(address, &self.endpoint)?))
    }

    /// The user by whose rights everything is done.
    pub(crate) fn user(&self) -> &str {
        self.login.username().unwrap_or("default")
    }

    /// The same server for another user.
    pub(crate) fn with_login(&self, login: &RedisConnectionInfo) -> Self {
        Self { login: login.clone(), ..self.clone() }
    }

    /// Opens a socket and logs in. `then` gets the stream, with the bytes that were already read
    /// from it, and must end within the same connect timeout.
    pub(crate) async fn reach<T, F: Future<Output = T> + Send>(
        &self,
        then: impl FnOnce(Box<dyn Stream>, ReplyReader) -> F + Send,
    ) -> Result<T, ConnectError> {
        let reached = AtomicBool::new(false);
        let opened = async {
            let stream = dial(&self.endpoint, self.tls.as_ref(), || {
                reached.store(true, Ordering::Relaxed);
            });
            let mut stream = stream.await.map_err(|error| self.dial_error(error))?;
            let mut reader = ReplyReader::default();
            if let Err(error) = greet(&mut stream, &mut reader, &self.login).await {
                return Err(self.greeting_error(error, &mut stream, &mut reader).await);
            }
            Ok(then(stream, reader).await)
        };
        match tokio::time::timeout(self.connect_timeout, opened).await {
            Ok(opened) => opened,
            Err(_) if reached.load(Ordering::Relaxed) && self.tls.is_some() => Err(self
                .tls_failure(
                    format!(
                        "no answer within {:?}; does this port speak TLS?",
                        self.connect_timeout
                    ),
                    None,
                )),
            Err(_) => Err(self.timeout_error()),
        }
    }
}
