//! The operators' view of requests that hold locks for long.

use std::{
    io,
    sync::{Arc, Mutex},
    time::Duration,
};

use axum::{Router, routing::put};
use lock_tower::{
    LockClient, LockError, Locked, MemoryStore, RequestLockLayer, RequestScopeLayer,
    distributed_lock, observe::WorkInfo,
};
use tokio::{task::JoinHandle, time::sleep};

use crate::common::{Answer, request, send, spans::Spans};

const SECOND: Duration = Duration::from_secs(1);
const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";

#[distributed_lock(key = "cart:{id}", name = "carts", client = locks)]
async fn fill(locks: &LockClient, id: u64) -> Result<u64, LockError> {
    sleep(SECOND * 60).await;
    Ok(id)
}

#[distributed_lock(key = "stock:{id}", name = "stocks")]
async fn restock(axum::extract::Path(id): axum::extract::Path<u64>, _: Locked) -> &'static str {
    sleep(SECOND * 60).await;
    if id == 7 { "done" } else { "other" }
}

fn client(store: &MemoryStore) -> LockClient {
    LockClient::builder().lease(SECOND * 3).in_memory_on(store)
}

/// A service, and a client that looks at its locks.
fn service() -> (Router, LockClient) {
    let store = MemoryStore::new();
    (replica(&store), client(&store))
}

/// One replica of a service, each of whose routes has its lock.
fn replica(store: &MemoryStore) -> Router {
    let locks = client(store);
    let layer = RequestLockLayer::new(locks.clone(), "order:{id}").unwrap().name("orders");
    let slow = || async {
        sleep(SECOND * 60).await;
        "done"
    };
    Router::new()
        .route("/orders/{id}", put(slow).get(slow))
        .route_layer(layer)
        .route("/stocks/{id}", put(restock))
        .route_layer(RequestScopeLayer::new(locks.clone()))
        .layer(RequestScopeLayer::new(locks))
}

fn begin(app: &Router, method: &str, path: &str, id: &str) -> JoinHandle<Answer> {
    let mut request = request(method, path);
    request.headers_mut().insert("x-request-id", id.parse().unwrap());
    let parent = format!("00-{TRACE}-00f067aa0ba902b7-01");
    request.headers_mut().insert("traceparent", parent.parse().unwrap());
    let app = app.clone();
    tokio::spawn(async move { send(&app, request).await })
}

async fn work(operator: &LockClient, key: &str) -> WorkInfo {
    operator.inspect(key).await.unwrap().holders.remove(0).work.expect("it is long")
}

#[tokio::test(start_paused = true)]
async fn a_layers_hold_shows_its_request() {
    let (app, operator) = service();
    let running = begin(&app, "PUT", "/orders/7?secret=1", "r-1");
    sleep(SECOND * 2).await;
    let work = work(&operator, "order:7").await;
    assert_eq!(work.name.as_deref(), Some("orders"));
    assert_eq!(work.route.as_deref(), Some("PUT /orders/{id}"));
    assert_eq!(work.request_id.as_deref(), Some("r-1"));
    assert_eq!(work.trace_id.as_deref(), Some(TRACE));
    assert_eq!(work.span_id.as_deref(), Some("00f067aa0ba902b7"));
    assert!(!format!("{work:?}").contains("secret"), "{work:?}");
    running.abort();
}

#[tokio::test(start_paused = true)]
async fn an_attributes_hold_shows_its_request() {
    let (app, operator) = service();
    let running = begin(&app, "PUT", "/stocks/7", "r-2");
    sleep(SECOND * 2).await;
    let work = work(&operator, "stock:7").await;
    assert_eq!(work.name.as_deref(), Some("stocks"));
    assert_eq!(work.route.as_deref(), Some("PUT /stocks/{id}"));
    assert_eq!(work.request_id.as_deref(), Some("r-2"));
    running.abort();
}

#[tokio::test(start_paused = true)]
async fn a_function_outside_of_requests_shows_its_name() {
    let locks = LockClient::builder().lease(SECOND * 3).in_memory();
    let running = tokio::spawn({
        let locks = locks.clone();
        async move { fill(&locks, 7).await }
    });
    sleep(SECOND * 2).await;
    let work = work(&locks, "cart:7").await;
    assert_eq!((work.name.as_deref(), work.route), (Some("carts"), None));
    running.abort();
}

#[tokio::test(start_paused = true)]
async fn odd_headers_are_left_out() {
    let (app, operator) = service();
    let mut request = request("PUT", "/orders/7");
    let headers = request.headers_mut();
    headers.insert("x-request-id", http::HeaderValue::from_bytes(b"\xff").unwrap());
    headers.insert("traceparent", "00-x".parse().unwrap());
    let running = tokio::spawn(async move { send(&app, request).await });
    sleep(SECOND * 2).await;
    let work = work(&operator, "order:7").await;
    assert_eq!((work.request_id, work.trace_id, work.span_id), (None, None, None));
    running.abort();
}

#[tokio::test(start_paused = true)]
async fn the_span_of_a_long_wait_names_the_holder() {
    let spans = Spans::collect();
    let store = MemoryStore::new();
    let running = begin(&replica(&store), "PUT", "/orders/7", "r-1");
    sleep(SECOND * 2).await;
    let refused = begin(&replica(&store), "GET", "/orders/7", "r-2").await.unwrap();
    refused.assert_problem(423, "lock-busy");
    assert!(!refused.text.contains("r-1"), "{}", refused.text);
    let waits = spans.ended("lock.wait");
    let wait = waits.last().unwrap();
    assert_eq!(wait["holder_route"], "PUT /orders/{id}");
    assert_eq!(wait["holder_name"], "orders");
    assert_eq!(wait["holder_request_id"], "r-1");
    assert_eq!(wait["holder_trace_id"], TRACE);
    assert_eq!(wait["holder_span_id"], "00f067aa0ba902b7");
    running.abort();
}

#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl io::Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[tokio::test(start_paused = true)]
async fn at_the_level_debug_the_log_line_of_a_refusal_names_the_holder() {
    let lines = Lines::default();
    let writer = lines.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::DEBUG)
        .with_ansi(false)
        .with_writer(move || writer.clone())
        .finish();
    let _default = tracing::subscriber::set_default(subscriber);
    let store = MemoryStore::new();
    let operator = client(&store);
    let running = begin(&replica(&store), "PUT", "/orders/7", "r-1");
    sleep(SECOND * 2).await;
    begin(&replica(&store), "GET", "/orders/7", "r-2")
        .await
        .unwrap()
        .assert_problem(423, "lock-busy");
    let text = String::from_utf8(lines.0.lock().unwrap().clone()).unwrap();
    let line = text.lines().find(|line| line.contains("lock not acquired")).expect(&text);
    assert!(line.contains("PUT /orders/{id}") && line.contains("r-1"), "{line}");
    // An owner is for operators alone.
    let owner = operator.inspect("order:7").await.unwrap().holders.remove(0).owner;
    assert!(!text.contains(owner.split(':').next().unwrap()), "{text}");
    running.abort();
}
