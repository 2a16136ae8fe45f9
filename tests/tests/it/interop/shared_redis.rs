//! A server, or several, and the peers that share them.

use std::time::Duration;

use lock_tests::{Cli, LIMIT, RedisServer, Redisson, eventually};

use crate::interop::{
    kinds::MUTEX,
    peer::{Java, Language, Pair, Peer, Rust},
    session::Jvm,
};

#[derive(Debug)]
pub(crate) struct SharedRedis {
    pub(crate) server: RedisServer,
    pub(crate) cli: Cli,
    /// Servers beside the main one, which share nothing.
    pub(crate) others: Vec<RedisServer>,
    pub(crate) redisson: Redisson,
    watchdog: Option<Duration>,
    lease: Option<Duration>,
    prefix: Option<&'static str>,
}

impl SharedRedis {
    pub(crate) async fn start(redisson: Redisson) -> Self {
        let server = RedisServer::start().await;
        Self {
            cli: server.cli().await,
            server,
            others: Vec::new(),
            redisson,
            watchdog: None,
            lease: None,
            prefix: None,
        }
    }

    /// The `lockWatchdogTimeout` of the Java processes, which the Rust ones get too. It is their
    /// lease too, unless they have [another](Self::lease).
    pub(crate) fn watchdog(mut self, watchdog: Duration) -> Self {
        self.watchdog = Some(watchdog);
        self
    }

    /// The lease of the Rust processes.
    pub(crate) fn lease(mut self, lease: Duration) -> Self {
        self.lease = Some(lease);
        self
    }

    /// What stands before every name, on both sides.
    pub(crate) fn prefix(mut self, prefix: &'static str) -> Self {
        self.prefix = Some(prefix);
        self
    }

    /// With two servers more.
    pub(crate) async fn three_servers(mut self) -> Self {
        self.others = vec![RedisServer::start().await, RedisServer::start().await];
        self
    }

    pub(crate) async fn peer(&self, language: Language) -> Peer {
        self.peer_in(Jvm::Shared, language).await
    }

    /// A peer with a process of its own, which the test can kill.
    pub(crate) async fn process(&self, language: Language) -> Peer {
        self.peer_in(Jvm::Own, language).await
    }

    async fn peer_in(&self, jvm: Jvm, language: Language) -> Peer {
        let url = if language == Java { "REDIS_URL" } else { "LOCK_URL" };
        let mut settings = vec![(url, self.server.url())];
        if !self.others.is_empty() {
            let others: Vec<_> = self.others.iter().map(RedisServer::url).collect();
            settings.push(("OTHER_URLS", others.join(",")));
        }
        let milliseconds = |time: Duration| time.as_millis().to_string();
        settings.extend(self.watchdog.map(|time| ("WATCHDOG_MS", milliseconds(time))));
        let lease = self.lease.or(self.watchdog);
        settings.extend(lease.map(|time| ("LEASE_MS", milliseconds(time))));
        settings.extend(self.prefix.map(|prefix| ("PREFIX", prefix.to_owned())));
        match language {
            Java => Peer::java(jvm, self.redisson, &settings).await,
            Rust => Peer::rust(&settings).await,
        }
    }

    pub(crate) async fn pair(&self) -> Pair {
        let (java, rust) = tokio::join!(self.peer(Java), self.peer(Rust));
        Pair { java, rust }
    }

    /// A pair of which the test can kill this one.
    pub(crate) async fn pair_with_process(&self, of: Language) -> Pair {
        match of {
            Java => {
                let (java, rust) = tokio::join!(self.process(Java), self.peer(Rust));
                Pair { java, rust }
            }
            // Each Rust peer is a process.
            Rust => self.pair().await,
        }
    }

    /// Nothing of any lock is left, except what docs/redisson.md lists.
    pub(crate) async fn is_clean(&self) {
        let mut left = Vec::new();
        // Java deletes the key by which it finds an unlock again after it has answered.
        let clean = async || {
            left = self.left().await;
            left.is_empty()
        };
        let waited = tokio::time::timeout(LIMIT, eventually("no stray key", LIMIT * 2, clean));
        if waited.await.is_err() {
            panic!("still there: {left:?}");
        }
    }

    async fn left(&self) -> Vec<String> {
        let mut left = left(&self.cli).await;
        for server in &self.others {
            left.extend(self::left(&server.cli().await).await);
        }
        left
    }
}

async fn left(cli: &Cli) -> Vec<String> {
    let mut left = Vec::new();
    for key in cli.keys().await {
        let stays = match key.split(':').next().unwrap_or_default() {
            "redisson_lock_token" | "counter" => true,
            "lock_client" => cli.pttl(&key).await > 0,
            // The number of its permits.
            "semaphore" | MUTEX => cli.type_of(&key).await == "string",
            _ => false,
        };
        if !stays {
            left.push(key);
        }
    }
    left
}

/// Each case with the current release of Redisson, and with one of an older line.
macro_rules! on_every_redisson {
    ($($case:ident)*) => {
        mod current {
            $(#[tokio::test]
            async fn $case() {
                use lock_tests::Redisson;

                use $crate::interop::shared_redis::SharedRedis;
                super::$case(SharedRedis::start(Redisson::Current).await).await;
            })*
        }
        mod older {
            $(#[tokio::test]
            async fn $case() {
                use lock_tests::Redisson;

                use $crate::interop::shared_redis::SharedRedis;
                super::$case(SharedRedis::start(Redisson::Older).await).await;
            })*
        }
    };
}
pub(crate) use on_every_redisson;
