//! Connecting to a store by its URL, and the settings that every such store has.

use std::time::Duration;

use lock_store::connect::{ConnectError, ConnectOptions};

use super::{LONGEST_TIMEOUT, LockClientBuilder, beginnings, store_url::StoreUrl};
use crate::client::LockClient;

impl LockClientBuilder {
    /// Sets the prefix of every lock's key in the store, so that a lock never collides with the
    /// application's own data. At most 64 bytes, without braces and control characters. In ZooKeeper it
    /// is a folder: `lock:` is `/lock`, and none is the chroot itself. Default: `lock:`.
    pub fn prefix(mut self, prefix: impl Into<String>) -> Self {
        self.connect.prefix = prefix.into();
        self
    }

    /// Sets how long each step of connecting may take, at first and again later: to reach a server
    /// (or a Sentinel, or a node) and log in, to load the scripts, to query its role. So
    /// [`connect`](Self::connect) as a whole may take a few times that. Default: 2 s.
    pub fn connect_timeout(mut self, timeout: Duration) -> Self {
        self.connect.connect_timeout = timeout.min(LONGEST_TIMEOUT);
        self
    }

    /// Names this process, so that an operator can see which instance holds a lock: kept in Redis
    /// under `lock_client:<uuid>` and as the connections' names, in ZooKeeper in each of the client's
    /// znodes. Control characters and spaces become `-`, in the connections' names all that is not
    /// ASCII. Default: the program's name, and the host's with the process' number.
    pub fn client_name(mut self, service: impl Into<String>, instance: impl Into<String>) -> Self {
        self.connect.service = Some(service.into());
        self.connect.instance = Some(instance.into());
        self
    }

    /// Connects to a store:
    ///
    /// - Redis: `redis://[user:password@]host[:port][/database]`, `rediss://` for TLS,
    ///   `redis+unix:///path`, `redis+sentinel://host[:port],.../name[/database]`,
    ///   `redis+cluster://host[:port],...`.
    /// - ZooKeeper, with the feature `zookeeper`:
    ///   `zookeeper://[user:password@]host[:port],.../chroot`. The session's timeout is five thirds
    ///   of the [lease](Self::lease), or the longest that the ensemble allows. Every lock has the
    ///   lease that follows from it, and an acquisition that sets another one is refused.
    ///
    /// # Errors
    ///
    /// See [`LockClient::connect`]; also when a setting is out of bounds.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future closes every connection that was opened.
    pub async fn connect(mut self, url: &str) -> Result<LockClient, ConnectError> {
        let (owners, tasks) = beginnings();
        let store = StoreUrl::new(&mut self, url)?.connect(owners.client(), &tasks).await?;
        Ok(self.start(owners, store, tasks))
    }

    /// Creates the client at once and connects in the background: for a service that must start
    /// while the store is down. Until the connection is established, acquisitions fail as
    /// unavailable, with the reason. The checks of `connect` are made over every new connection.
    /// ZooKeeper must then grant the whole session that the [lease](Self::lease) needs.
    ///
    /// # Errors
    ///
    /// When the URL is malformed or a setting is out of bounds.
    pub fn connect_lazy(mut self, url: &str) -> Result<LockClient, ConnectError> {
        let (owners, tasks) = beginnings();
        let store = StoreUrl::new(&mut self, url)?.connect_lazy(owners.client(), &tasks)?;
        Ok(self.start(owners, store, tasks))
    }

    pub(super) fn connect_options(&self) -> ConnectOptions {
        ConnectOptions {
            command_timeout: self.settings.command_timeout,
            on_reconnect: self.settings.observer.on_reconnect(),
            ..self.connect.clone()
        }
    }
}
