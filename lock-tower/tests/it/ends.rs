//! However a request ends, its lock is released at once: over real sockets.
//!
//! The lease is an hour, so a later acquisition succeeds only because of a release.

use std::{net::SocketAddr, time::Duration};

use crate::common::{NEVER, call};
use axum::{
    Router,
    routing::{get, put},
};
use http::StatusCode;
use lock_tower::{LockClient, RequestLockLayer, settings::LockMode};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::mpsc,
};
use tower_http::{catch_panic::CatchPanicLayer, timeout::TimeoutLayer};

struct Server {
    address: SocketAddr,
    locks: LockClient,
    /// Receives a message from each handler when it has begun.
    begun: mpsc::UnboundedReceiver<()>,
}

/// Serves handlers that hang, panic and answer, all under the lock `order:7`.
async fn serve(outside: impl FnOnce(Router) -> Router) -> Server {
    let locks = LockClient::builder().lease(NEVER).in_memory();
    let lock = RequestLockLayer::new(locks.clone(), "order:{id}").unwrap();
    let (begin, begun) = mpsc::unbounded_channel();
    let began = begin.clone();
    let hang = async move || {
        began.send(()).unwrap();
        std::future::pending::<()>().await;
    };
    let panics = async move || {
        begin.send(()).unwrap();
        assert!(begin.is_closed(), "as the test wants it");
    };
    let routes = Router::new()
        .route("/hang/{id}", get(hang))
        .route("/panic/{id}", get(panics))
        .route("/answer/{id}", get(|| async { "done" }))
        .route_layer(lock.mode(LockMode::Write));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let app = outside(routes);
    tokio::spawn(async move { axum::serve(listener, app).await });
    Server { address, locks, begun }
}

impl Server {
    async fn ask(&self, path: &str) -> TcpStream {
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        let request = format!("GET {path} HTTP/1.1\r\nhost: test\r\nconnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        stream
    }

    async fn assert_released(&self) {
        let guard = self.locks.write("order:7").wait(Duration::from_secs(60)).acquire().await;
        guard.unwrap().release().await.unwrap();
    }
}

async fn answer(mut stream: TcpStream) -> String {
    let mut text = String::new();
    stream.read_to_string(&mut text).await.unwrap();
    text
}

#[tokio::test]
async fn a_client_that_hangs_up_releases() {
    let mut server = serve(|routes| routes).await;
    let stream = server.ask("/hang/7").await;
    server.begun.recv().await.unwrap();
    assert!(server.locks.write("order:7").try_acquire().await.is_err(), "held while it runs");

    drop(stream);

    server.assert_released().await;
}

#[tokio::test]
async fn a_client_that_hangs_up_while_it_waits_gives_up_its_place() {
    let server = serve(|routes| routes).await;
    let guard = server.locks.write("order:7").acquire().await.unwrap();
    let stream = server.ask("/answer/7").await;
    while server.locks.health().await.waiting == 0 {
        tokio::task::yield_now().await;
    }

    drop(stream);

    while server.locks.health().await.waiting > 0 {
        tokio::task::yield_now().await;
    }
    drop(guard);
    server.assert_released().await;
}

#[tokio::test]
async fn a_panic_releases() {
    let mut server = serve(|routes| routes).await;

    let text = answer(server.ask("/panic/7").await).await;

    assert_eq!(text, "", "the connection is closed without an answer");
    server.begun.recv().await.unwrap();
    server.assert_released().await;
}

#[tokio::test]
async fn a_panic_that_is_caught_releases() {
    let mut server = serve(|routes| routes.layer(CatchPanicLayer::new())).await;

    let text = answer(server.ask("/panic/7").await).await;

    assert!(text.starts_with("HTTP/1.1 500"), "{text}");
    server.begun.recv().await.unwrap();
    server.assert_released().await;
}

/// Without a socket: the paused clock advances only when all tasks wait.
#[tokio::test(start_paused = true)]
async fn a_timeout_releases() {
    let locks = LockClient::builder().lease(NEVER).in_memory();
    let (begin, mut begun) = mpsc::unbounded_channel();
    let hang = async move || {
        begin.send(()).unwrap();
        std::future::pending::<()>().await;
    };
    let limit = Duration::from_secs(5);
    let app = Router::new()
        .route("/hang/{id}", put(hang))
        .route_layer(RequestLockLayer::new(locks.clone(), "order:{id}").unwrap())
        .layer(TimeoutLayer::with_status_code(StatusCode::GATEWAY_TIMEOUT, limit));

    let answer = call(&app, "PUT", "/hang/7").await;

    assert_eq!(answer.status, StatusCode::GATEWAY_TIMEOUT);
    begun.try_recv().unwrap();
    assert!(locks.write("order:7").try_acquire().await.is_ok());
}

#[tokio::test]
async fn a_refusal_is_a_whole_answer() {
    let server = serve(|routes| routes).await;
    server.locks.shutdown(NEVER).await.unwrap();

    let text = answer(server.ask("/answer/7").await).await;

    assert!(text.starts_with("HTTP/1.1 503"), "{text}");
    assert!(text.contains("content-length: "), "{text}");
    assert!(text.contains("\"urn:lock-tower:problem:lock-draining\""), "{text}");
}

/// A client that has received a 200 and repeats the request at once, without waiting, never
/// receives busy. At once means that no other task has run in between, so the release cannot have
/// been sent.
#[tokio::test]
async fn the_next_request_is_ordered_behind_the_last_ones_release() {
    let locks = LockClient::in_memory();
    let lock = RequestLockLayer::new(locks, "order:{id}").unwrap();
    let lock = lock.mode(LockMode::Write).wait(Duration::ZERO);
    let app = Router::new().route("/orders/{id}", get(|| async { "done" })).route_layer(lock);

    for nth in 0..500 {
        assert_eq!(call(&app, "GET", "/orders/7").await.text, "done", "request {nth}");
    }
}

/// The same over one connection.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_next_request_never_meets_the_last_ones_lock() {
    let locks = LockClient::in_memory();
    let lock = RequestLockLayer::new(locks, "order:{id}").unwrap();
    let lock = lock.mode(LockMode::Write).wait(Duration::ZERO);
    let app = Router::new().route("/orders/{id}", get(|| async { "done" })).route_layer(lock);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, app).await });

    let mut stream = TcpStream::connect(address).await.unwrap();
    for nth in 0..500 {
        let request = b"GET /orders/7 HTTP/1.1\r\nhost: test\r\n\r\n";
        stream.write_all(request).await.unwrap();
        let mut head = Vec::new();
        while !head.ends_with(b"done") {
            let byte = stream.read_u8().await.unwrap();
            head.push(byte);
            assert!(head.len() < 10 || head.starts_with(b"HTTP/1.1 2"), "request {nth}");
        }
    }
}
