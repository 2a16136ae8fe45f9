//! Requests over connections that stay open, each connection one after the other.

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use http::{
    Method, Request, StatusCode,
    header::{COOKIE, HOST},
};
use http_body_util::{BodyExt, Empty};
use hyper::{body::Bytes, client::conn::http1::SendRequest};
use hyper_util::rt::TokioIo;
use lock_tests::figures::percentile;
use tokio::net::TcpStream;

use crate::clock::{Nanos, nanos, now};

/// What came of it.
pub(super) struct Load {
    pub(super) requests: f64,
    pub(super) per_second: f64,
    pub(super) p50_ms: f64,
    pub(super) p99_ms: f64,
}

/// No two requests to one service have the same number.
static NEXT: AtomicU64 = AtomicU64::new(0);

type Connection = SendRequest<Empty<Bytes>>;

pub(super) async fn load(addr: SocketAddr, connections: usize, time: Duration) -> Load {
    let host: Arc<str> = addr.to_string().into();
    let mut opened = Vec::new();
    for _ in 0..connections {
        opened.push(connect(addr).await);
    }
    let start = now();
    let end = start + nanos(time);
    let asking = opened
        .into_iter()
        .map(|connection| tokio::spawn(ask_until(connection, Arc::clone(&host), end)));
    let mut took: Vec<Nanos> = Vec::new();
    for asking in asking.collect::<Vec<_>>() {
        took.append(&mut asking.await.expect("a connection that requests"));
    }
    let elapsed = (now() - start) as f64;
    let requests = took.len() as f64;
    let ms = |percent| percentile(&took, percent) as f64 / 1e6;
    Load { requests, per_second: requests * 1e9 / elapsed, p50_ms: ms(50), p99_ms: ms(99) }
}

async fn connect(addr: SocketAddr) -> Connection {
    let stream = TcpStream::connect(addr).await.expect("a service that listens");
    stream.set_nodelay(true).expect("a socket without delay");
    let handshake = hyper::client::conn::http1::handshake(TokioIo::new(stream));
    let (connection, driver) = handshake.await.expect("HTTP/1.1");
    tokio::spawn(driver);
    connection
}

async fn ask_until(mut connection: Connection, host: Arc<str>, end: Nanos) -> Vec<Nanos> {
    let mut took = Vec::new();
    loop {
        let requested = now();
        if requested >= end {
            return took;
        }
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let request = Request::builder()
            .method(Method::PUT)
            .uri(format!("/items/{number}"))
            .header(HOST, &*host)
            // The session of its own that `RequestLockLayer::session` locks: 16 bytes in Base64.
            .header(COOKIE, format!("id={number:0>21}A"))
            .body(Empty::new())
            .expect("a request");
        connection.ready().await.expect("a connection that stays open");
        let response = connection.send_request(request).await.expect("a response");
        assert_eq!(response.status(), StatusCode::OK);
        response.into_body().collect().await.expect("a whole body");
        took.push(now() - requested);
    }
}
