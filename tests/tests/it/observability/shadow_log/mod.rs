//! The log of shadow mode: what its lines have, and what docs/shadow-mode.md reads from them.

mod page;
mod traffic;

use std::{
    collections::BTreeSet,
    io,
    sync::{Arc, LazyLock, Mutex},
};

use axum::{Router, body::Body, extract::Request, routing::put};
use lock_tower::{Enforce, LockClient, MemoryStore, RequestLockLayer};
use serde_json::Value;
use tower::ServiceExt;
use tracing::Dispatch;
use tracing_subscriber::{
    filter::{LevelFilter, Targets},
    fmt::MakeWriter,
    layer::SubscriberExt,
    registry,
};

/// The secret that the instances of a service hash with.
const SECRET: [u8; 32] = [7; 32];

/// The filter of the page.
const FILTER: &str = "info,lock_tower::shadow=debug";

/// A second subscriber, which receives nothing. While a process has only one, `tracing` decides by
/// the thread that reaches a line first whether the line is of interest. A thread of another test
/// has no subscriber, and would turn the line off for all threads.
static SECOND: LazyLock<Dispatch> =
    LazyLock::new(|| Dispatch::new(registry().with(LevelFilter::OFF)));

/// Collects the log of this thread as JSON.
#[derive(Debug, Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Log {
    fn collect(&self) -> tracing::subscriber::DefaultGuard {
        LazyLock::force(&SECOND);
        let filter: Targets = FILTER.parse().unwrap();
        let log = tracing_subscriber::fmt::layer().json().with_writer(self.clone());
        tracing::subscriber::set_default(registry().with(filter).with(log))
    }

    fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }

    /// Returns the fields of the lines that requests have in the shadow log.
    fn requests(&self) -> Vec<Value> {
        let text = self.text();
        let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let lines = lines.filter(|line| line["target"] == "lock_tower::shadow");
        lines.map(|mut line| line["fields"].take()).collect()
    }
}

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl MakeWriter<'_> for Log {
    type Writer = Self;

    fn make_writer(&self) -> Self {
        self.clone()
    }
}

fn layer(locks: &LockClient, enforce: Enforce) -> RequestLockLayer {
    let layer = RequestLockLayer::new(locks.clone(), "jane-roe:{id:u64}").unwrap();
    layer.name("order").enforce(enforce)
}

/// Changes these orders one after the other, each under all of these locks.
async fn change(orders: &[u32], locks: &[RequestLockLayer]) {
    let app = Router::new().route("/orders/{id}", put(async || ()));
    let app = locks.iter().fold(app, |app, lock| app.route_layer(lock.clone()));
    for order in orders {
        let uri = format!("/orders/{order}");
        let request = Request::builder().method("PUT").uri(uri).body(Body::empty()).unwrap();
        assert_eq!(app.clone().oneshot(request).await.unwrap().status(), 200);
    }
}

#[tokio::test]
async fn keys_are_hashed_alike_in_every_instance_and_never_shown() {
    let (log, store) = (Log::default(), MemoryStore::new());
    let _collecting = log.collect();
    for _ in 0..2 {
        let locks = LockClient::builder().ticket_key(SECRET).in_memory_on(&store);
        change(&[1, 2, 3], &[layer(&locks, Enforce::Shadow)]).await;
    }
    let (text, requests) = (log.text(), log.requests());
    assert_eq!(requests.len(), 6, "{text}");
    assert!(!text.contains("jane-roe") && !text.contains("/orders/1"), "{text}");
    let different = |field: &str| {
        let values = requests.iter().map(|request| request[field].as_str().unwrap());
        values.collect::<BTreeSet<_>>().len()
    };
    assert_eq!(["hashed_by", "client", "keys", "path"].map(different), [1, 2, 3, 3]);
}

#[tokio::test]
async fn only_requests_in_shadow_mode_are_in_it() {
    let log = Log::default();
    let _collecting = log.collect();
    for (enforce, lines) in [(Enforce::On, 0), (Enforce::Off, 0), (Enforce::Shadow, 2)] {
        change(&[1, 2], &[layer(&LockClient::in_memory(), enforce)]).await;
        assert_eq!(log.requests().len(), lines, "{enforce:?}: {}", log.text());
    }
}

/// A second lock of the same request on the same key waits for nothing.
#[tokio::test]
async fn a_reentry_is_not_in_it() {
    let (log, locks) = (Log::default(), LockClient::in_memory());
    let _collecting = log.collect();
    let lock = layer(&locks, Enforce::Shadow);
    change(&[7], &[lock.clone(), lock]).await;
    assert_eq!(log.requests().len(), 1, "{}", log.text());
}
