//! The body of a request is read before its lock is acquired.

use std::{convert::Infallible, sync::Arc, time::Duration};

use axum::{
    Router,
    body::{Body, Bytes},
    extract::DefaultBodyLimit,
    routing::{any, put},
};
use futures_util::{StreamExt, stream};
use http::{Request, Response};
use http_body_util::{BodyExt, Full, Limited};
use lock_tower::{
    Enforce, LockClient, RequestDeadline, RequestLockLayer,
    settings::{HoldUntil, LockMode, RequestBody},
};
use tokio::{task::JoinSet, time::Instant};
use tower::{Layer, ServiceExt, service_fn};

use crate::common::{
    Answer,
    logs::Logs,
    send,
    socket::{Client, serve},
};

const SECOND: Duration = Duration::from_secs(1);

fn lock(locks: &LockClient) -> RequestLockLayer {
    RequestLockLayer::new(locks.clone(), "order:{id}").unwrap().name("order").wait(SECOND / 10)
}

fn app(lock: RequestLockLayer) -> Router {
    let length = async |body: Result<Bytes, axum::extract::rejection::BytesRejection>| match body {
        Ok(body) => body.len().to_string(),
        Err(why) => format!("{}: {why}", why.status()),
    };
    Router::new().route("/orders/{id}", put(length)).route_layer(lock)
}

/// A client that sends this and then nothing.
fn stalled(begin: &'static str) -> Body {
    let begin = stream::iter([Ok::<_, Infallible>(begin)]);
    Body::from_stream(begin.chain(stream::pending()))
}

fn chunks(sizes: &[usize]) -> Body {
    let chunks: Vec<_> = sizes.iter().map(|size| Ok::<_, Infallible>("x".repeat(*size))).collect();
    Body::from_stream(stream::iter(chunks))
}

async fn ask(app: &Router, body: Body) -> Answer {
    send(app, Request::put("/orders/7").body(body).unwrap()).await
}

#[tokio::test(start_paused = true)]
async fn a_client_that_sends_slowly_holds_no_lock() {
    let locks = LockClient::in_memory();
    let app = app(lock(&locks));
    let slow = tokio::spawn({
        let app = app.clone();
        async move { ask(&app, stalled("x")).await }
    });
    tokio::time::sleep(SECOND).await;
    assert_eq!(ask(&app, chunks(&[3])).await.text, "3");
    assert!(!slow.is_finished());
    let began = Instant::now();
    let answer = slow.await.unwrap();
    answer.assert_problem(408, "lock-body-timeout");
    assert_eq!(answer.headers["connection"], "close");
    assert_eq!(began.elapsed(), 9 * SECOND);
}

#[tokio::test(start_paused = true)]
async fn the_handler_gets_the_body_as_it_was_sent() {
    let app = app(lock(&LockClient::in_memory()));
    for (sizes, text) in [
        (&[][..], "0"),
        (&[5], "5"),
        (&[1, 2, 3], "6"),
        (&[1_000_000, 1], "1000001"),
        (&[0, 1, 0, 2], "3"),
    ] {
        assert_eq!(ask(&app, chunks(sizes)).await.text, text);
    }
    assert_eq!(ask(&app, Body::empty()).await.text, "0");
    let broken = stream::iter([Ok("x"), Err(std::io::Error::other("cut off"))]);
    let answer = ask(&app, Body::from_stream(broken)).await;
    assert!(answer.text.starts_with("400"), "{answer:?}");
}

#[tokio::test]
async fn trailers_are_kept() {
    let trailers = async |body: Body| {
        let whole = body.collect().await.unwrap();
        let sum = whole.trailers().map(|trailers| trailers["sum"].clone());
        format!("{sum:?} {}", whole.to_bytes().len())
    };
    let app = Router::new().route("/orders/{id}", put(trailers));
    let app = app.route_layer(lock(&LockClient::in_memory()));
    let sent =
        http::HeaderMap::from_iter([(http::HeaderName::from_static("sum"), "6".parse().unwrap())]);
    let body = chunks(&[1, 2]).with_trailers(std::future::ready(Some(Ok(sent))));
    assert_eq!(ask(&app, Body::new(body)).await.text, "Some(\"6\") 3");
}

#[tokio::test(start_paused = true)]
async fn a_body_is_as_long_as_its_route_allows() {
    let locks = LockClient::in_memory();
    let plain = app(lock(&locks));
    assert_eq!(ask(&plain, chunks(&[2_097_152])).await.text, "2097152");
    ask(&plain, chunks(&[2_097_152, 1])).await.assert_problem(413, "lock-body-too-large");
    let least = app(lock(&locks)).layer(DefaultBodyLimit::max(10));
    ask(&least, chunks(&[11])).await.assert_problem(413, "lock-body-too-large");
    let most = app(lock(&locks)).layer(DefaultBodyLimit::disable());
    assert_eq!(ask(&most, chunks(&[3_000_000])).await.text, "3000000");
    // A stream without end fills no memory.
    let endless = stream::repeat(Ok::<_, Infallible>(Bytes::from(vec![0; 1_000_000])));
    ask(&most, Body::from_stream(endless)).await.assert_problem(503, "lock-overloaded");
}

#[tokio::test(start_paused = true)]
async fn bodies_of_requests_that_wait_have_a_bound_together() {
    let locks = LockClient::in_memory();
    let app = app(lock(&locks).wait(60 * SECOND)).layer(DefaultBodyLimit::max(10_000_000));
    let held = locks.write("order:7").acquire().await.unwrap();
    let mut requested = JoinSet::new();
    for _ in 0..8 {
        let app = app.clone();
        requested.spawn(async move { ask(&app, chunks(&[9_000_000])).await });
    }
    let refused = requested.join_next().await.unwrap().unwrap();
    refused.assert_problem(503, "lock-overloaded");
    drop(held);
    for answer in requested.join_all().await {
        assert_eq!(answer.text, "9000000");
    }
    assert_eq!(ask(&app, chunks(&[9_000_000])).await.text, "9000000", "there is room again");
}

#[tokio::test(start_paused = true)]
async fn the_time_of_the_body_is_the_requests() {
    let app = app(lock(&LockClient::in_memory()).body_timeout(5 * SECOND));
    let near = |body| {
        let deadline = RequestDeadline::at(Instant::now() + SECOND);
        Request::put("/orders/7").extension(deadline).body(body).unwrap()
    };
    let began = Instant::now();
    send(&app, near(stalled("x"))).await.assert_problem(503, "lock-overloaded");
    assert_eq!(began.elapsed(), SECOND);
    ask(&app, stalled("")).await.assert_problem(408, "lock-body-timeout");
    assert_eq!(began.elapsed(), 6 * SECOND);
}

/// A piece of a body whose buffer can be seen to be freed.
struct Piece {
    text: &'static str,
    _buffers: Arc<()>,
}

impl AsRef<[u8]> for Piece {
    fn as_ref(&self) -> &[u8] {
        self.text.as_bytes()
    }
}

/// As a list of them, the bytes of a client that sends one at a time would take far more memory than the bound
/// of all bodies that wait.
#[tokio::test(start_paused = true)]
async fn of_a_body_in_many_pieces_none_is_kept() {
    let app = app(lock(&LockClient::in_memory()));
    let buffers = Arc::new(());
    let sending = tokio::spawn({
        let _buffers = Arc::clone(&buffers);
        let pieces = (0..2_000).map(move |number| {
            let text = ["x", ""][number % 2];
            let _buffers = Arc::clone(&_buffers);
            Ok::<_, Infallible>(Bytes::from_owner(Piece { text, _buffers }))
        });
        let body = Body::from_stream(stream::iter(pieces).chain(stream::pending()));
        async move { ask(&app, body).await }
    });
    tokio::time::sleep(SECOND).await;
    assert!(!sending.is_finished());
    assert_eq!(Arc::strong_count(&buffers), 1);
    sending.await.unwrap().assert_problem(408, "lock-body-timeout");
}

#[tokio::test(start_paused = true)]
async fn the_longest_times_are_no_error() {
    let forever = Duration::MAX;
    let locks = LockClient::in_memory();
    let lock = lock(&locks).body_timeout(forever).wait(forever).reserve(forever);
    let app = app(lock.replace_after(forever));
    assert_eq!(ask(&app, chunks(&[3])).await.text, "3");
}

/// One line opts out.
#[tokio::test(start_paused = true)]
async fn a_streamed_upload_is_read_under_its_lock() {
    let locks = LockClient::in_memory();
    let app = app(lock(&locks).body(RequestBody::Stream).max_hold(2 * SECOND));
    let slow = tokio::spawn({
        let app = app.clone();
        async move { ask(&app, stalled("x")).await }
    });
    tokio::time::sleep(SECOND).await;
    ask(&app, chunks(&[3])).await.assert_problem(423, "lock-busy");
    slow.await.unwrap().assert_problem(503, "lock-lost");
}

/// Without its lock a request is as if there were no layer.
#[tokio::test(start_paused = true)]
async fn a_lock_that_is_off_reads_no_body() {
    let locks = LockClient::in_memory();
    for enforce in [Enforce::Off, Enforce::Shadow, Enforce::Percent(0)] {
        let answers = async |_: Request<Body>| Response::new(Body::from("at once"));
        let app = Router::new().route("/orders/{id}", put(answers));
        let app = app.route_layer(lock(&locks).enforce(enforce));
        assert_eq!(ask(&app, stalled("x")).await.text, "at once");
    }
}

/// A read lock excludes writers, so a reader's body comes first too.
#[tokio::test(start_paused = true)]
async fn a_reader_that_sends_slowly_keeps_no_writer_out() {
    let locks = LockClient::in_memory();
    let length = async |body: Bytes| body.len().to_string();
    let app = Router::new().route("/orders/{id}", any(length)).route_layer(lock(&locks));
    for method in ["GET", "HEAD", "OPTIONS"] {
        let begin = |body| Request::builder().method(method).uri("/orders/7").body(body).unwrap();
        let slow = tokio::spawn({
            let (app, request) = (app.clone(), begin(stalled("x")));
            async move { send(&app, request).await }
        });
        tokio::time::sleep(SECOND).await;
        assert_eq!(ask(&app, chunks(&[3])).await.text, "3", "{method}");
        assert_eq!(slow.await.unwrap().status, 408, "{method}");
    }
    let read = |body| Request::get("/orders/7").body(body).unwrap();
    assert_eq!(send(&app, read(chunks(&[1, 2]))).await.text, "3");
    assert_eq!(send(&app, read(Body::empty())).await.text, "0");
    let long = send(&app, read(chunks(&[2_097_152, 1]))).await;
    long.assert_problem(413, "lock-body-too-large");
}

/// As it comes from a socket: only an announced body is waited for.
#[tokio::test]
async fn a_request_over_a_connection_has_a_body_if_it_announces_one() {
    let locks = LockClient::in_memory();
    let length = async |body: Bytes| body.len().to_string();
    let lock = lock(&locks).body_timeout(SECOND);
    let addr = serve(Router::new().route("/orders/{id}", any(length)).route_layer(lock)).await;
    for (headers, sent, status) in [
        ("", "", "200"),
        ("Content-Length: 0\r\n", "", "200"),
        ("Content-Length: 1\r\n", "x", "200"),
        ("Content-Length: 100\r\n", "x", "408"),
        ("Transfer-Encoding: chunked\r\n", "1\r\nx\r\n", "408"),
        ("Transfer-Encoding: chunked\r\n", "0\r\n\r\n", "200"),
    ] {
        let mut client = Client::ask_with(addr, "GET", "/orders/7", headers).await;
        client.send(sent).await;
        let answer = client.read_until("\r\n").await;
        assert!(answer.starts_with(&format!("HTTP/1.1 {status}")), "{headers}: {answer}");
    }
}

/// Nothing else shows that a layer outside of the lock's takes its protection away.
#[tokio::test(start_paused = true)]
async fn a_body_of_another_type_is_left_to_the_handler_with_a_warning() {
    let reported = "a request's body is not of Axum's type";
    let send = async |lock: RequestLockLayer, times: usize| {
        let logs = Logs::collect();
        let service = lock.layer(service_fn(async |request: Request<Limited<Body>>| {
            let whole = request.into_body().collect().await.unwrap().to_bytes();
            Ok::<_, Infallible>(Response::new(Full::new(whole)))
        }));
        for _ in 0..times {
            let body = Limited::new(chunks(&[3]), 10);
            let answer = service.clone().oneshot(Request::put("/").body(body).unwrap()).await;
            assert_eq!(answer.unwrap().status(), 200);
        }
        logs.text().matches(reported).count()
    };
    let lock = || RequestLockLayer::with_key(LockClient::in_memory(), |_| Ok("k"));
    assert_eq!(send(lock(), 3).await, 1);
    // A setting of the service, or a limited hold, is not a mistake.
    assert_eq!(send(lock().body(RequestBody::Stream).max_hold(SECOND), 1).await, 0);
    assert_eq!(send(lock().max_hold(SECOND), 1).await, 0);
    assert_eq!(send(lock().enforce(Enforce::Off), 1).await, 0);
}

#[test]
fn what_a_slow_client_can_hold_without_end_is_warned_of() {
    let locks = LockClient::in_memory();
    let warned = |lock: RequestLockLayer| {
        let logs = Logs::collect();
        // Twice: a layer is added to each route.
        let _ = (app(lock.clone()), app(lock));
        let lines = logs.lines().into_iter().filter(|line| line.contains("no `max_hold`"));
        lines.inspect(|line| assert!(line.contains("WARN"), "{line}")).collect::<Vec<_>>()
    };
    let streams = lock(&locks).body(RequestBody::Stream);
    let sends = lock(&locks).hold_until(HoldUntil::Body);
    let reads = sends.clone().mode(LockMode::Read);
    for (lock, reported) in [
        (streams.clone(), "bodies are streamed under this lock"),
        (sends.clone(), "held until the response's body is sent"),
        (reads, "held until the response's body is sent"),
    ] {
        let lines = warned(lock.clone());
        assert!(lines.len() == 1 && lines[0].contains(reported), "{lines:?}");
        assert_eq!(warned(lock.max_hold(SECOND)), [""; 0]);
    }
    assert_eq!(warned(streams.hold_until(HoldUntil::Body)).len(), 2);
    assert_eq!(warned(lock(&locks)), [""; 0]);
}
