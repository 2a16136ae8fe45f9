//! The campaign's own word with a server, past all proxies.

use std::{collections::BTreeSet, time::Duration};

use lock_tests::RedisServer;
use redis::{
    AsyncConnectionConfig, Client, FromRedisValue, RedisResult, aio::MultiplexedConnection,
};

/// A server under fault may answer late or never.
const PATIENCE: Duration = Duration::from_secs(2);

/// A connection as the user with all rights.
pub(crate) struct Admin(MultiplexedConnection);

impl Admin {
    pub(crate) async fn to(server: &RedisServer) -> RedisResult<Self> {
        Self::open(&server.url()).await
    }

    pub(crate) async fn open(url: &str) -> RedisResult<Self> {
        let config = AsyncConnectionConfig::new()
            .set_connection_timeout(Some(PATIENCE))
            .set_response_timeout(Some(PATIENCE));
        let client = Client::open(url)?;
        Ok(Self(client.get_multiplexed_async_connection_with_config(&config).await?))
    }

    pub(crate) async fn ask<T: FromRedisValue>(&self, words: &[&str]) -> RedisResult<T> {
        let (name, arguments) = words.split_first().expect("BUG: a command without a name");
        redis::cmd(name).arg(arguments).query_async(&mut self.0.clone()).await
    }

    /// Whatever it answers but an error is well.
    pub(crate) async fn tell(&self, words: &[&str]) -> RedisResult<()> {
        self.ask::<redis::Value>(words).await.map(|_| ())
    }

    /// A line of INFO.
    pub(crate) async fn info(&self, section: &str, line: &str) -> RedisResult<Option<String>> {
        let info: String = self.ask(&["INFO", section]).await?;
        let value = info.lines().find_map(|it| it.strip_prefix(line)?.strip_prefix(':'));
        Ok(value.map(str::to_owned))
    }

    pub(super) async fn keys(&self) -> RedisResult<Vec<(String, i64)>> {
        // SCAN may give a key twice.
        let (mut keys, mut cursor) = (BTreeSet::<String>::new(), "0".to_owned());
        loop {
            let page: (String, Vec<String>) = self.ask(&["SCAN", &cursor, "COUNT", "1000"]).await?;
            keys.extend(page.1);
            cursor = page.0;
            if cursor == "0" {
                break;
            }
        }
        let mut with_ttl = Vec::new();
        for key in keys {
            let ttl = self.ask(&["PTTL", &key]).await?;
            with_ttl.push((key, ttl));
        }
        Ok(with_ttl)
    }
}
