//! A connection for assertions.

mod clients;
mod counts;

pub use clients::ConnectedClient;

use std::collections::{BTreeMap, BTreeSet};

use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, Client, FromRedisValue, RedisResult};

use crate::LIMIT;

/// The test's own connection to Redis, apart from the connections under test.
///
/// One RESP2 connection with long timeouts, named [`Cli::NAME`]. It does not reconnect.
#[derive(Clone, Debug)]
pub struct Cli {
    connection: MultiplexedConnection,
}

impl Cli {
    /// The client name by which [`client_list`](Self::client_list) excludes this connection.
    pub const NAME: &str = "lock-tests";

    /// Connects to `url`.
    pub async fn connect(url: &str) -> Self {
        Self::open(url, AsyncConnectionConfig::new()).await
    }

    pub(crate) async fn open(url: &str, config: AsyncConnectionConfig) -> Self {
        let client = Client::open(url).expect("a redis:// URL");
        let config = config.set_connection_timeout(Some(LIMIT)).set_response_timeout(Some(LIMIT));
        let connection = client
            .get_multiplexed_async_connection_with_config(&config)
            .await
            .unwrap_or_else(|error| panic!("no connection to {url}: {error}"));
        let cli = Self { connection };
        let () = cli.query(&["CLIENT", "SETNAME", Self::NAME]).await;
        cli
    }

    /// For a RESP3 connection with a push sender.
    pub(crate) async fn subscribe(&self, channel: &str) {
        let mut connection = self.connection.clone();
        let subscribed = connection.subscribe(channel).await;
        subscribed.unwrap_or_else(|error| panic!("cannot subscribe to {channel}: {error}"));
    }

    /// Sends any command, one argument per word, and returns its reply.
    pub async fn query<T: FromRedisValue>(&self, words: &[&str]) -> T {
        match self.try_query(words).await {
            Ok(answer) => answer,
            Err(error) => panic!("{words:?}: {error}"),
        }
    }

    /// Sends any command and returns its reply, or Redis' error.
    ///
    /// # Errors
    ///
    /// Redis' error, a broken connection, or a reply that is not a `T`.
    pub async fn try_query<T: FromRedisValue>(&self, words: &[&str]) -> RedisResult<T> {
        let (name, arguments) = words.split_first().expect("a command has a name");
        let mut connection = self.connection.clone();
        redis::cmd(name).arg(arguments).query_async(&mut connection).await
    }

    /// Every key in the database, sorted.
    pub async fn keys(&self) -> Vec<String> {
        // SCAN may return a key twice.
        let mut keys = BTreeSet::new();
        let mut cursor = "0".to_owned();
        loop {
            let page: (String, Vec<String>) = self.query(&["SCAN", &cursor, "COUNT", "1000"]).await;
            keys.extend(page.1);
            cursor = page.0;
            if cursor == "0" {
                return keys.into_iter().collect();
            }
        }
    }

    /// Fields and values of a hash, empty if there is no such key.
    pub async fn hash(&self, key: &str) -> BTreeMap<String, String> {
        self.query(&["HGETALL", key]).await
    }

    /// A string's value, `None` if there is no such key.
    pub async fn string(&self, key: &str) -> Option<String> {
        self.query(&["GET", key]).await
    }

    /// Members of a sorted set with their scores, lowest first.
    pub async fn sorted_set(&self, key: &str) -> Vec<(String, f64)> {
        self.query(&["ZRANGE", key, "0", "-1", "WITHSCORES"]).await
    }

    /// Elements of a list, head first.
    pub async fn list(&self, key: &str) -> Vec<String> {
        self.query(&["LRANGE", key, "0", "-1"]).await
    }

    /// Milliseconds until the key expires, on Redis' clock; -1 without expiry, -2 without key.
    pub async fn pttl(&self, key: &str) -> i64 {
        self.query(&["PTTL", key]).await
    }

    /// `hash`, `string`, `list`, `set`, `zset`; `none` if there is no such key.
    pub async fn type_of(&self, key: &str) -> String {
        self.query(&["TYPE", key]).await
    }

    /// Returns whether the key exists.
    pub async fn exists(&self, key: &str) -> bool {
        self.query(&["EXISTS", key]).await
    }

    /// Deletes a key and returns whether it existed.
    pub async fn del(&self, key: &str) -> bool {
        self.query(&["DEL", key]).await
    }

    /// Publishes a message and returns how many subscribers it reached.
    pub async fn publish(&self, channel: &str, message: &str) -> u64 {
        self.query(&["PUBLISH", channel, message]).await
    }
}
