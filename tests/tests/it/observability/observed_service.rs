//! The example `observed`, as a process of its own, on a Redis of the test's own.

use std::path::PathBuf;

use axum::http::Method;
use lock_tests::{
    LIMIT, Process, RedisServer, bounded, eventually,
    http::{self, Reply},
    workspace_binary,
};
use tempfile::TempDir;
use tokio::process::Command;

use crate::observability::scrape::Scrape;

pub(crate) const LOCKS: &str = include_str!("../../../../examples/observed/locks.toml");

pub(crate) struct ObservedService {
    pub(crate) redis: RedisServer,
    pub(crate) process: Process,
    url: String,
    directory: TempDir,
}

impl ObservedService {
    /// With leases of one and a half seconds, so that half a second brings a renewal.
    pub(crate) async fn start() -> Self {
        Self::start_with(&[]).await
    }

    /// With further environment variables.
    pub(crate) async fn start_with(environment: &[(&str, String)]) -> Self {
        let redis = RedisServer::start().await;
        let directory = tempfile::tempdir().unwrap();
        let locks = directory.path().join("locks.toml");
        std::fs::write(&locks, LOCKS).unwrap();
        let process = Process::builder(workspace_binary("observed").await)
            .env("PORT", "0")
            .env("ADMIN_PORT", "0")
            .env("REDIS_URL", redis.url())
            .env("LOCKS_FILE", locks)
            .env("LEASE", "1500ms");
        let process = environment
            .iter()
            .fold(process, |process, (name, value)| process.env(name, value))
            .start();
        let line = process.line("serving on ", LIMIT).await;
        let url = line.rsplit(' ').next().unwrap().to_owned();
        Self { redis, process, url, directory }
    }

    pub(crate) fn locks(&self) -> PathBuf {
        self.directory.path().join("locks.toml")
    }

    pub(crate) async fn ask(&self, method: Method, path: &str) -> Reply {
        http::request(method, &format!("{}{path}", self.url), "").await.unwrap()
    }

    pub(crate) async fn scrape(&self) -> Scrape {
        let reply = self.ask(Method::GET, "/metrics").await;
        assert_eq!(reply.status, 200);
        Scrape::parse(reply.text())
    }

    /// Returns when a series with these labels has at least this value.
    pub(crate) async fn shows(&self, series: &str, labels: &[(&str, &str)], least: f64) {
        eventually(&format!("{series} {labels:?} of {least}"), LIMIT, async || {
            self.scrape().await.value(series, labels) >= Some(least)
        })
        .await;
    }
}

/// Beside the service: its callers do not reach the page.
#[tokio::test]
async fn the_page_for_operators_is_on_a_separate_port() {
    let service = ObservedService::start().await;
    let line = service.process.line("page for operators: ", LIMIT).await;
    let page = http::get(line.rsplit(' ').next().unwrap()).await;
    assert!(page.status == 200 && page.text().contains("No lock is held"), "{page:?}");
    assert_eq!(service.ask(Method::GET, "/?format=json").await.status, 404);
}

/// Errors of `main` are texts with their lines, not Rust's `Debug`.
#[tokio::test]
async fn an_error_at_the_start_is_printed_as_text() {
    let redis = RedisServer::start().await;
    let directory = tempfile::tempdir().unwrap();
    let wrong = directory.path().join("locks.toml");
    std::fs::write(&wrong, LOCKS.replacen("wait", "wiat", 1)).unwrap();
    let start = async |url: String, locks: PathBuf| {
        let mut service = Command::new(workspace_binary("observed").await);
        service.env("PORT", "0").env("LOCKS_FILE", locks).env("REDIS_URL", url);
        let output = bounded(LIMIT, service.output()).await.unwrap();
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        String::from_utf8(output.stderr).unwrap()
    };
    let said = start(redis.url(), wrong.clone()).await;
    assert!(said.contains("has no field `wiat`\n"), "{said}");
    assert!(said.contains(" ^^^^\n"), "{said}");
    let said = start("http://127.0.0.1:1".to_owned(), wrong).await;
    assert!(said.starts_with("Error: the URL cannot be used"), "{said}");
}
