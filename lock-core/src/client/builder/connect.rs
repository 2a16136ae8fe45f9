//! Connecting to a store by its URL, and the settings that every such store has.

use std::{sync::Arc, time::Duration};

use super::{LONGEST_TIMEOUT, LockClientBuilder, beginnings};
#[cfg(feature = "redis")]
use crate::store::redis;
#[cfg(feature = "zookeeper")]
use crate::store::zookeeper;
use crate::{
    client::LockClient,
    types::{ConnectError, ConnectOptions},
};

impl LockClientBuilder {
    /// Sets the prefix of every lock's key in the store, so that a lock never collides with the
    /// application's own data. At most 64 bytes, without braces and control characters. In ZooKeeper it
    /// is a folder: `lock:` is `/lock`, and none is the chroot itself. Default: `lock:`.
    pub fn prefix(mut self, prefix: impl Into<String>) -> Self {
        self.connect.prefix = prefix.into();
        self
    }

    /// How long each step of connecting may take, at first and again later: to reach a server (or
    /// a Sentinel, or a node) and log in, to load the scripts, to query its role. So
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
    ///   `zookeeper://[user:password@]host[:port],.../chroot`. The session's timeout is five thirds of
    ///   the [lease](Self::lease), or the longest that the ensemble allows; every lock then has
    ///   the lease that follows from it, and an acquisition that sets another one is refused.
    ///
    /// # Errors
    ///
    /// See [`LockClient::connect`]; also when a setting is out of bounds.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future closes what was opened.
    #[cfg_attr(
        not(any(feature = "redis", feature = "zookeeper")),
        expect(unused_mut, reason = "stores change the settings")
    )]
    pub async fn connect(mut self, url: &str) -> Result<LockClient, ConnectError> {
        let (owners, tasks) = beginnings();
        #[cfg(feature = "zookeeper")]
        if zookeeper::is_url(url) {
            let store = zookeeper::connect(&self.zookeeper_plan(url)?, &tasks).await?;
            self.settings.command_timeout = store.command_timeout;
            return Ok(self.start(owners, Arc::new(store), tasks));
        }
        check_feature(url, cfg!(feature = "zookeeper"))?;
        #[cfg(feature = "redis")]
        {
            let options = self.checked_options()?;
            let store = redis::connect(url, options, owners.client(), &tasks).await?;
            Ok(self.start(owners, Arc::new(store), tasks))
        }
        #[cfg(not(feature = "redis"))]
        Err(ConnectError::MissingFeature { feature: "redis" })
    }

    /// As [`connect`](Self::connect), but connects in the background: for a service that must start
    /// while the store is down. Until the connection is established, acquisitions fail as unavailable,
    /// with the reason. What `connect` refuses is checked over every new connection. ZooKeeper must then
    /// grant the whole session that the [lease](Self::lease) needs.
    ///
    /// # Errors
    ///
    /// When the URL is malformed or a setting is out of bounds.
    #[cfg_attr(
        not(any(feature = "redis", feature = "zookeeper")),
        expect(unused_mut, reason = "stores change the settings")
    )]
    pub fn connect_lazy(mut self, url: &str) -> Result<LockClient, ConnectError> {
        let (owners, tasks) = beginnings();
        #[cfg(feature = "zookeeper")]
        if zookeeper::is_url(url) {
            let store = zookeeper::connect_lazy(&self.zookeeper_plan(url)?, &tasks)?;
            self.settings.command_timeout = store.command_timeout;
            return Ok(self.start(owners, Arc::new(store), tasks));
        }
        check_feature(url, cfg!(feature = "zookeeper"))?;
        #[cfg(feature = "redis")]
        {
            let options = self.checked_options()?;
            let store = redis::connect_lazy(url, options, owners.client(), &tasks)?;
            Ok(self.start(owners, Arc::new(store), tasks))
        }
        #[cfg(not(feature = "redis"))]
        Err(ConnectError::MissingFeature { feature: "redis" })
    }

    pub(super) fn connect_options(&self) -> ConnectOptions {
        ConnectOptions {
            command_timeout: self.settings.command_timeout,
            observer: self.settings.observer.clone(),
            ..self.connect.clone()
        }
    }

    #[cfg(feature = "zookeeper")]
    fn zookeeper_plan<'a>(&self, url: &'a str) -> Result<zookeeper::ConnectPlan<'a>, ConnectError> {
        crate::types::check_lease("lease", self.settings.lease)?;
        #[cfg(feature = "redis")]
        self.redis.check_unused()?;
        let options = self.connect_options();
        options.check()?;
        Ok(zookeeper::ConnectPlan {
            url,
            options,
            command_timeout: self
                .settings
                .has_command_timeout
                .then_some(self.settings.command_timeout),
            lease: self.settings.lease,
            #[cfg(feature = "zookeeper-tls")]
            tls: self.redis.tls.clone(),
        })
    }
}

/// Refuses the URL of a store that this program was built without.
fn check_feature(url: &str, has_zookeeper: bool) -> Result<(), ConnectError> {
    let feature = match url.split_once(':') {
        Some(("zookeeper", _)) => "zookeeper",
        Some(("zookeepers", _)) => "zookeeper-tls",
        _ => return Ok(()),
    };
    if has_zookeeper { Ok(()) } else { Err(ConnectError::MissingFeature { feature }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_of_a_store_that_is_not_built_in_names_the_feature() {
        for (url, feature) in
            [("zookeeper://a", "zookeeper"), ("zookeepers://user:s3cret@a/app", "zookeeper-tls")]
        {
            let refused = check_feature(url, false).expect_err(url);
            let text = refused.to_string();
            assert!(text.contains(&format!("needs the feature `{feature}`")), "{text}");
            assert!(
                text.contains(&format!("cargo add lock-tower --features {feature}`")),
                "{text}"
            );
            assert!(!text.contains("s3cret"), "{text}");
            assert!(check_feature(url, true).is_ok());
        }
        assert!(check_feature("redis://a", false).is_ok());
    }

    #[cfg(all(feature = "redis", feature = "zookeeper"))]
    #[tokio::test]
    async fn options_of_redis_are_refused_on_zookeeper() {
        let second = Duration::from_secs(1);
        for (builder, option) in [
            (LockClient::builder().redisson(), "redisson"),
            (LockClient::builder().beside_set_nx(), "beside_set_nx"),
            (LockClient::builder().wait_for_replicas(1, second), "wait_for_replicas"),
            (LockClient::builder().sentinel_credentials(None, "s3cret"), "sentinel_credentials"),
            (LockClient::builder().map_address(|host, port| (host.into(), port)), "map_address"),
        ] {
            let refused = builder.connect("zookeeper://127.0.0.1:1").await.expect_err(option);
            assert!(matches!(refused, ConnectError::InvalidOptions(_)), "{refused}");
            let text = refused.to_string();
            assert!(text.contains(option) && text.contains("Redis alone"), "{text}");
        }
    }
}
