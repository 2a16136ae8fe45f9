//! The quickstart as a process.

use std::path::Path;

pub(crate) use lock_tests::lock_keys;
use lock_tests::{LIMIT, Process, RedisServer, http, workspace_binary};
use serde_json::json;

/// The lock in Redis of the item that all tests buy.
pub(crate) const APPLE: &str = "lock:stock:apple";

/// A running shop; killed on drop.
#[derive(Debug)]
pub(crate) struct Shop {
    pub(crate) process: Process,
    base: String,
}

/// The program with these settings, and none that the test's own environment may have.
pub(crate) async fn quickstart(settings: &[(&str, &str)], arguments: &[&str]) -> Process {
    let program = workspace_binary("quickstart").await;
    let mut command = Process::builder("env").arg("-i");
    for (variable, value) in settings {
        command = command.arg(format!("{variable}={value}"));
    }
    command = command.arg(program);
    for argument in arguments {
        command = command.arg(argument);
    }
    command.start()
}

impl Shop {
    /// On the locks of `redis` and the stock in `data`, on any port.
    pub(crate) async fn open(redis: &RedisServer, data: &Path, stock: u32) -> Self {
        Self::open_at(0, redis, data, stock).await
    }

    pub(crate) async fn open_at(port: u16, redis: &RedisServer, data: &Path, stock: u32) -> Self {
        Self::open_on(("REDIS_URL", redis.url()), port, data, stock).await
    }

    /// On the locks of the store that a variable names.
    pub(crate) async fn open_on(
        store: (&'static str, String),
        port: u16,
        data: &Path,
        stock: u32,
    ) -> Self {
        let settings = [
            ("PORT", port.to_string()),
            store,
            ("DATA_DIR", data.display().to_string()),
            ("STOCK", stock.to_string()),
        ];
        let settings = settings.each_ref().map(|(name, value)| (*name, value.as_str()));
        Self::of(quickstart(&settings, &[]).await).await
    }

    /// Of a process that is about to open.
    pub(crate) async fn of(process: Process) -> Self {
        let line = process.line("listening on http://", LIMIT).await;
        let base = line.trim_start_matches("listening on ").to_owned();
        Self { process, base }
    }

    /// An absolute URL in this shop, such as for `apple/take`.
    pub(crate) fn url(&self, path: &str) -> String {
        format!("{}/stock/{path}", self.base)
    }

    pub(crate) async fn apples(&self) -> u64 {
        let reply = http::get(&self.url("apple")).await;
        assert_eq!(reply.status, 200, "{}", reply.text());
        let stock = reply.json()["stock"].as_u64().unwrap();
        assert_eq!(reply.json(), json!({ "sku": "apple", "stock": stock }));
        stock
    }
}

/// The content of the one file in `data`.
pub(crate) fn on_the_shelf(data: &Path) -> u32 {
    let shelf = std::fs::read_to_string(data.join("apple.stock"));
    shelf.unwrap().parse().unwrap()
}
