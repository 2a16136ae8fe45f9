//! A primary, its replica, and three Sentinels that watch over them.

use crate::{Cli, LIMIT, RedisServer, RedisServerBuilder, eventually};

/// How many Sentinels there are, and how many must agree.
const SENTINELS: usize = 3;
const QUORUM: usize = 2;

/// By what the Sentinels know the primary.
const NAME: &str = "main";

/// A primary with a replica under Sentinels, that fails over in a second or two. All are killed on
/// drop.
#[derive(Debug)]
pub struct SentinelSetup {
    servers: [RedisServer; 2],
    sentinels: Vec<RedisServer>,
    password: Option<String>,
}

impl SentinelSetup {
    /// Servers and Sentinels that ask for no password.
    pub async fn start() -> Self {
        Self::launch(None).await
    }

    /// Servers and Sentinels that ask for this password (letters and digits).
    pub async fn with_password(password: &str) -> Self {
        Self::launch(Some(password.to_owned())).await
    }

    async fn launch(password: Option<String>) -> Self {
        let secured = |builder: RedisServerBuilder| match &password {
            Some(password) => builder.password(password).args(["--masterauth", password]),
            None => builder,
        };
        let server = RedisServer::builder().args(["--repl-diskless-sync-delay", "0"]);
        let primary = secured(server.clone()).start().await;
        let port = primary.port().to_string();
        let replica = secured(server).args(["--replicaof", "127.0.0.1", &port]).start().await;
        let cli = primary.cli().await;
        eventually("the replica is in step", LIMIT, async || {
            let info: String = cli.query(&["INFO", "replication"]).await;
            info.contains("connected_slaves:1") && info.contains("state=online")
        })
        .await;
        let mut configuration = format!(
            "sentinel monitor {NAME} 127.0.0.1 {port} {QUORUM}\n\
             sentinel down-after-milliseconds {NAME} 800\n\
             sentinel failover-timeout {NAME} 4000\n"
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
            let builder = RedisServer::builder().sentinel(&configuration);
            let builder = match &password {
                Some(password) => builder.known_password(password),
                None => builder,
            };
            sentinels.push(builder.start().await);
        }
        let setup = Self { servers: [primary, replica], sentinels, password };
        setup.hurry().await;
        for sentinel in &setup.sentinels {
            let cli = sentinel.cli().await;
            eventually("the Sentinels know each other and the replica", LIMIT, async || {
                let others: Vec<redis::Value> = cli.query(&["SENTINEL", "SENTINELS", NAME]).await;
                let replicas: Vec<redis::Value> = cli.query(&["SENTINEL", "REPLICAS", NAME]).await;
                others.len() == SENTINELS - 1 && replicas.len() == 1
            })
            .await;
        }
        setup
    }

    /// Has them look and talk more often than once in seconds, where they know how (Redis 7).
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

    /// `redis+sentinel://` with the addresses of all Sentinels.
    pub fn url(&self) -> String {
        let sentinels: Vec<_> =
            self.sentinels.iter().map(|sentinel| sentinel.addr().to_string()).collect();
        let user = self.password.as_ref().map_or(String::new(), |it| format!(":{it}@"));
        format!("redis+sentinel://{user}{}/{NAME}", sentinels.join(","))
    }

    /// One of the Sentinels.
    pub fn sentinel(&self, at: usize) -> &RedisServer {
        &self.sentinels[at]
    }

    /// The server that began as the primary.
    pub fn first(&self) -> &RedisServer {
        &self.servers[0]
    }

    /// The server that began as the replica.
    pub fn second(&self) -> &RedisServer {
        &self.servers[1]
    }

    /// A connection to the server that began as the replica, for looking.
    pub async fn second_cli(&self) -> Cli {
        self.servers[1].cli().await
    }

    /// Has the Sentinels make the replica the primary while both live.
    pub async fn fail_over(&self) {
        let cli = self.sentinels[0].cli().await;
        eventually("they begin", LIMIT, async || {
            cli.try_query::<()>(&["SENTINEL", "FAILOVER", NAME]).await.is_ok()
        })
        .await;
        self.second_is_primary().await;
    }

    /// Waits until the second server is the primary.
    pub async fn second_is_primary(&self) {
        // Asked itself, it ends every connection when it changes sides.
        let cli = self.sentinels[1].cli().await;
        let port = self.servers[1].port().to_string();
        eventually("the replica is the primary", LIMIT, async || {
            let words = ["SENTINEL", "GET-MASTER-ADDR-BY-NAME", NAME];
            let address: Vec<String> = cli.query(&words).await;
            address.last() == Some(&port)
        })
        .await;
    }
}
