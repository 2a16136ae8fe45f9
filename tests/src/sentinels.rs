//! A primary, its replicas, and three Sentinels that monitor them.

use std::time::Duration;

use crate::{Authority, Cli, LIMIT, RedisServer, RedisServerBuilder, eventually};

/// The number of Sentinels, and how many must agree.
const SENTINELS: usize = 3;
const QUORUM: usize = 2;

/// The Sentinels' name for the primary.
const NAME: &str = "main";

/// Settings of a [`SentinelSetup`] before it starts.
#[derive(Clone, Debug)]
pub struct SentinelSetupBuilder {
    password: Option<String>,
    replicas: usize,
    arguments: Vec<String>,
    down_after: Duration,
    tls: Option<Authority>,
}

impl SentinelSetupBuilder {
    /// With certificates of this authority: between servers and Sentinels, and for clients at
    /// [`SentinelSetup::url`]. Connections for assertions are without TLS.
    #[must_use]
    pub fn tls(mut self, authority: &Authority) -> Self {
        self.tls = Some(authority.clone());
        self
    }

    /// Requires this password at servers and Sentinels (letters and digits).
    #[must_use]
    pub fn password(mut self, password: &str) -> Self {
        self.password = Some(password.to_owned());
        self
    }

    /// Sets the number of replicas. Default: 1.
    #[must_use]
    pub fn replicas(mut self, replicas: usize) -> Self {
        self.replicas = replicas;
        self
    }

    /// Adds arguments for each server, but not for the Sentinels.
    #[must_use]
    pub fn args<S: Into<String>>(mut self, arguments: impl IntoIterator<Item = S>) -> Self {
        self.arguments.extend(arguments.into_iter().map(Into::into));
        self
    }

    /// Sets after how much silence a primary is replaced. Default: 800 ms.
    #[must_use]
    pub fn down_after(mut self, down_after: Duration) -> Self {
        self.down_after = down_after;
        self
    }

    /// Starts all of them and waits until each knows the others.
    pub async fn start(self) -> SentinelSetup {
        SentinelSetup::launch(self).await
    }
}

/// A primary with replicas under Sentinels, which fails over in a second or two. All are killed on
/// drop.
#[derive(Debug)]
pub struct SentinelSetup {
    servers: Vec<RedisServer>,
    sentinels: Vec<RedisServer>,
    password: Option<String>,
    tls: bool,
}

impl SentinelSetup {
    /// The Sentinels' name for the primary.
    pub const NAME: &str = NAME;

    /// Starts a primary with one replica and Sentinels, without a password.
    pub async fn start() -> Self {
        Self::builder().start().await
    }

    /// Starts the same with this password (letters and digits).
    pub async fn with_password(password: &str) -> Self {
        Self::builder().password(password).start().await
    }

    /// Returns a builder for further settings.
    pub fn builder() -> SentinelSetupBuilder {
        SentinelSetupBuilder {
            password: None,
            replicas: 1,
            arguments: Vec::new(),
            down_after: Duration::from_millis(800),
            tls: None,
        }
    }

    async fn launch(settings: SentinelSetupBuilder) -> Self {
        let SentinelSetupBuilder { password, replicas, arguments, down_after, tls } = settings;
        let secured = |builder: RedisServerBuilder| match &password {
            Some(password) => builder.password(password).args(["--masterauth", password]),
            None => builder,
        };
        let encrypted = |builder: RedisServerBuilder| match &tls {
            Some(authority) => builder.tls(authority).args(["--tls-replication", "yes"]),
            None => builder,
        };
        let server = RedisServer::builder().args(["--repl-diskless-sync-delay", "0"]);
        let server = secured(server.args(&arguments));
        let primary = encrypted(server.clone()).start().await;
        let port = primary.secure_port().to_string();
        let cli = primary.cli().await;
        let mut servers = vec![primary];
        for _ in 0..replicas {
            // Each with a port of its own for TLS.
            let replica = encrypted(server.clone());
            servers.push(replica.args(["--replicaof", "127.0.0.1", &port]).start().await);
        }
        eventually("the replicas are in step", LIMIT, async || {
            let info: String = cli.query(&["INFO", "replication"]).await;
            info.matches("state=online").count() == replicas
        })
        .await;
        let mut configuration = format!(
            "sentinel monitor {NAME} 127.0.0.1 {port} {QUORUM}\n\
             sentinel down-after-milliseconds {NAME} {}\n\
             sentinel failover-timeout {NAME} 4000\n",
            down_after.as_millis()
        );
        if let Some(password) = &password {
            configuration += &format!(
                "sentinel auth-pass {NAME} {password}\n\
                 requirepass {password}\n\
                 sentinel sentinel-pass {password}\n"
            );
        }
        let mut sentinels = Vec::new();
        for _ in 0..SENTINELS {
            let builder = encrypted(RedisServer::builder().sentinel(&configuration));
            let builder = match &password {
                Some(password) => builder.known_password(password),
                None => builder,
            };
            sentinels.push(builder.start().await);
        }
        let setup = Self { servers, sentinels, password, tls: tls.is_some() };
        setup.hurry().await;
        for sentinel in &setup.sentinels {
            let cli = sentinel.cli().await;
            eventually("the Sentinels know each other and the replicas", LIMIT, async || {
                let others: Vec<redis::Value> = cli.query(&["SENTINEL", "SENTINELS", NAME]).await;
                let known: Vec<redis::Value> = cli.query(&["SENTINEL", "REPLICAS", NAME]).await;
                others.len() == SENTINELS - 1 && known.len() == replicas
            })
            .await;
        }
        setup
    }

    /// Makes them check and communicate more often than every few seconds, if they support it (Redis 7).
    async fn hurry(&self) {
        for sentinel in &self.sentinels {
            let cli = sentinel.cli().await;
            let words = [
                "SENTINEL",
                "DEBUG",
                "INFO-PERIOD",
                "300",
                "PUBLISH-PERIOD",
                "200",
                "PING-PERIOD",
                "200",
            ];
            let _ = cli.try_query::<redis::Value>(&words).await;
        }
    }

    /// `redis+sentinel://`, with TLS `rediss+sentinel://`, with the addresses of all Sentinels.
    pub fn url(&self) -> String {
        let address = |sentinel: &RedisServer| format!("127.0.0.1:{}", sentinel.secure_port());
        let sentinels: Vec<_> = self.sentinels.iter().map(address).collect();
        let scheme = if self.tls { "rediss" } else { "redis" };
        let user = self.password.as_ref().map_or(String::new(), |it| format!(":{it}@"));
        format!("{scheme}+sentinel://{user}{}/{NAME}", sentinels.join(","))
    }

    /// One of the Sentinels.
    pub fn sentinel(&self, at: usize) -> &RedisServer {
        &self.sentinels[at]
    }

    /// All servers, the initial primary first.
    pub fn servers(&self) -> &[RedisServer] {
        &self.servers
    }

    /// A server, to be restarted.
    pub fn server_mut(&mut self, at: usize) -> &mut RedisServer {
        &mut self.servers[at]
    }

    /// All Sentinels.
    pub fn sentinels(&self) -> &[RedisServer] {
        &self.sentinels
    }

    /// The initial primary.
    pub fn first(&self) -> &RedisServer {
        &self.servers[0]
    }

    /// The initial replica.
    pub fn second(&self) -> &RedisServer {
        &self.servers[1]
    }

    /// Opens a connection to the initial replica, for assertions.
    pub async fn second_cli(&self) -> Cli {
        self.servers[1].cli().await
    }

    /// Makes the Sentinels promote the replica while both servers run.
    pub async fn fail_over(&self) {
        let cli = self.sentinels[0].cli().await;
        eventually("they promote it", LIMIT, async || {
            let is_primary = self.is_second(&cli).await;
            if !is_primary {
                // Refused while it is under way. They give it up while they know too little of the replica.
                let _ = cli.try_query::<()>(&["SENTINEL", "FAILOVER", NAME]).await;
            }
            is_primary
        })
        .await;
        self.second_is_primary().await;
    }

    /// Waits until the second server is the primary.
    pub async fn second_is_primary(&self) {
        // The server itself closes every connection when its role changes.
        let cli = self.sentinels[1].cli().await;
        eventually("the replica is the primary", LIMIT, async || self.is_second(&cli).await).await;
    }

    /// Whether this Sentinel names the second server as the primary.
    async fn is_second(&self, sentinel: &Cli) -> bool {
        let address: Vec<String> =
            sentinel.query(&["SENTINEL", "GET-MASTER-ADDR-BY-NAME", NAME]).await;
        address.last() == Some(&self.servers[1].secure_port().to_string())
    }
}
