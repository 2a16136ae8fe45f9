//! A lock that is held until the response's body has ended: over real sockets.
//!
//! The lease is an hour, so a later acquisition succeeds only because of a release.

use std::{
    future::poll_fn,
    pin::{Pin, pin},
    task::{Context, Poll},
    time::Duration,
};

use crate::common::{NEVER, call, logs::Logs, request, socket::Client, socket::serve};
use axum::{
    Router,
    body::Body,
    extract::Request,
    response::{Response, Sse, sse::Event},
    routing::get,
};
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, StatusCode};
use http_body::Frame;
use lock_tower::{
    AcquireError, LockClient, LockGuard, Locked, RequestLockLayer, assert_held,
    settings::{HoldUntil, LockMode, OnLost},
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    sync::mpsc,
};
use tower::ServiceExt;

type Feed = mpsc::UnboundedSender<Result<Frame<Bytes>, &'static str>>;

/// A body that the test feeds, frame by frame; it ends when the feed is dropped.
struct Fed(mpsc::UnboundedReceiver<Result<Frame<Bytes>, &'static str>>);

impl http_body::Body for Fed {
    type Data = Bytes;
    type Error = &'static str;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, &'static str>>> {
        self.0.poll_recv(context)
    }
}

struct World {
    locks: LockClient,
    app: Router,
    /// Has the feed of each `GET /fed`, when its handler has returned.
    fed: mpsc::UnboundedReceiver<Feed>,
}

fn world(layer: impl FnOnce(RequestLockLayer) -> RequestLockLayer) -> World {
    let locks = LockClient::builder().lease(NEVER).in_memory();
    let lock = RequestLockLayer::new(locks.clone(), "order:{id}").unwrap();
    let lock = lock.mode(LockMode::Write).hold_until(HoldUntil::Body);
    let (offer, fed) = mpsc::unbounded_channel();
    let feeds = async move || {
        let (feed, frames) = mpsc::unbounded_channel();
        offer.send(feed).unwrap();
        let mut response = Response::new(Body::new(Fed(frames)));
        response.headers_mut().insert("trailer", HeaderValue::from_static("x-sum"));
        response
    };
    let app = Router::new()
        .route("/fed/{id}", get(feeds))
        .route("/whole/{id}", get(|| async { "whole" }))
        .route("/empty/{id}", get(|| async { StatusCode::NO_CONTENT }))
        .route("/events/{id}", get(events))
        .route("/upgrade/{id}", get(echo_after_upgrade))
        .route("/endless/{id}", get(endless))
        .route_layer(layer(lock));
    World { locks, app, fed }
}

async fn events() -> Sse<impl futures_util::Stream<Item = Result<Event, &'static str>>> {
    let events = futures_util::stream::unfold(0, async |nth| {
        if nth > 0 {
            std::future::pending::<()>().await;
        }
        Some((Ok(Event::default().data("first")), nth + 1))
    });
    Sse::new(events)
}

async fn echo_after_upgrade(request: Request) -> Response {
    tokio::spawn(async {
        let upgraded = hyper::upgrade::on(request).await.unwrap();
        let mut socket = hyper_util::rt::TokioIo::new(upgraded);
        let byte = socket.read_u8().await.unwrap();
        socket.write_all(&[byte, byte]).await.unwrap();
    });
    let response = Response::builder().status(StatusCode::SWITCHING_PROTOCOLS);
    let response = response.header("connection", "upgrade").header("upgrade", "echo");
    response.body(Body::empty()).unwrap()
}

/// More than any socket takes without a reader.
async fn endless() -> Body {
    let chunk = Bytes::from_static(&[b'x'; 64 * 1024]);
    Body::from_stream(futures_util::stream::repeat_with(move || Ok::<_, &str>(chunk.clone())))
}

impl World {
    async fn assert_held(&self) {
        let refused = self.locks.write("order:7").try_acquire().await;
        assert!(matches!(refused, Err(AcquireError::Busy(_))), "{refused:?}");
    }

    async fn released(&self) -> LockGuard {
        let guard = self.locks.write("order:7").wait(Duration::from_secs(60)).acquire().await;
        guard.unwrap()
    }

    /// Starts a client that requests a stream and has received its first part.
    async fn streaming(&mut self) -> (Client, Feed) {
        let address = serve(self.app.clone()).await;
        let mut client = Client::ask_with(address, "GET", "/fed/7", "te: trailers\r\n").await;
        let feed = self.fed.recv().await.unwrap();
        feed.send(Ok(Frame::data("first".into()))).unwrap();
        client.read_until("first\r\n").await;
        (client, feed)
    }
}

#[tokio::test]
async fn a_stream_is_held_until_its_end() {
    let mut world = world(|lock| lock);
    let (mut client, feed) = world.streaming().await;
    world.assert_held().await;
    feed.send(Ok(Frame::data("second".into()))).unwrap();
    client.read_until("second\r\n").await;
    world.assert_held().await;

    drop(feed);

    client.read_until("0\r\n\r\n").await;
    drop(world.released().await);
}

#[tokio::test]
async fn without_it_a_stream_is_not_under_the_lock() {
    let mut world = world(|lock| lock.hold_until(HoldUntil::Handler));
    let (_client, _feed) = world.streaming().await;
    drop(world.locks.write("order:7").try_acquire().await.unwrap());
}

#[tokio::test]
async fn trailers_are_sent_under_the_lock() {
    let mut world = world(|lock| lock);
    let (mut client, feed) = world.streaming().await;
    let mut trailers = HeaderMap::new();
    trailers.insert("x-sum", HeaderValue::from_static("5"));

    feed.send(Ok(Frame::trailers(trailers))).unwrap();

    client.read_until("0\r\nx-sum: 5\r\n\r\n").await;
    drop(feed);
    drop(world.released().await);
}

#[tokio::test]
async fn the_answer_to_a_head_releases() {
    let mut world = world(|lock| lock);
    let address = serve(world.app.clone()).await;

    let mut client = Client::ask_with(address, "HEAD", "/fed/7", "").await;

    client.read_until("\r\n\r\n").await;
    let feed = world.fed.recv().await.unwrap();
    drop(world.released().await);
    assert!(feed.is_closed(), "and the stream was not begun");
}

#[tokio::test]
async fn an_answer_without_a_body_releases_before_it_is_read() {
    let world = world(|lock| lock);
    for path in ["/empty/7", "/upgrade/7"] {
        let response = world.app.clone().oneshot(request("GET", path)).await.unwrap();
        assert!(response.status().as_u16() < 300);
        drop(world.locks.write("order:7").try_acquire().await.unwrap());
    }
    let response = world.app.clone().oneshot(request("GET", "/whole/7")).await.unwrap();
    world.assert_held().await;
    drop(response);
    drop(world.released().await);
}

/// A client that has received the last frame may keep the body: the lock is released.
#[tokio::test]
async fn the_last_frame_releases() {
    let world = world(|lock| lock);
    let response = world.app.clone().oneshot(request("GET", "/whole/7")).await.unwrap();
    let mut body = response.into_body();
    let frame = poll_fn(|context| http_body::Body::poll_frame(Pin::new(&mut body), context)).await;
    assert_eq!(frame.unwrap().unwrap().into_data().unwrap(), "whole");
    drop(world.locks.write("order:7").try_acquire().await.unwrap());
    drop(body);
}

#[tokio::test]
async fn an_upgrade_releases_and_goes_on() {
    let world = world(|lock| lock);
    let address = serve(world.app.clone()).await;
    let headers = "connection: upgrade\r\nupgrade: echo\r\n";
    let mut client = Client::ask_with(address, "GET", "/upgrade/7", headers).await;

    assert!(client.read_until("\r\n\r\n").await.starts_with("HTTP/1.1 101"));

    let _other = world.released().await;
    client.send("x").await;
    assert_eq!(client.rest().await, "xx");
}

#[tokio::test]
async fn the_size_of_a_body_is_kept() {
    let world = world(|lock| lock);
    let address = serve(world.app.clone()).await;

    let answer = Client::ask(address, "GET", "/whole/7").await.rest().await;

    assert!(answer.contains("content-length: 5\r\n") && answer.ends_with("whole"), "{answer}");
    drop(world.released().await);
}

#[tokio::test]
async fn a_body_that_fails_releases() {
    let mut world = world(|lock| lock);
    let (client, feed) = world.streaming().await;

    feed.send(Err("as the test wants it")).unwrap();

    assert!(!client.rest().await.contains("0\r\n\r\n"));
    drop(world.released().await);
}

#[tokio::test]
async fn a_client_that_hangs_up_releases() {
    let mut world = world(|lock| lock);
    let (client, feed) = world.streaming().await;

    drop(client);

    feed.closed().await;
    drop(world.released().await);
}

#[tokio::test]
async fn events_hold_it_until_the_client_leaves() {
    let world = world(|lock| lock);
    let address = serve(world.app.clone()).await;
    let mut client = Client::ask(address, "GET", "/events/7").await;
    client.read_until("data: first").await;
    world.assert_held().await;

    drop(client);

    drop(world.released().await);
}

/// A client must not mistake the first half of a body for the whole.
#[tokio::test]
async fn a_lock_that_is_lost_cuts_the_stream_short() {
    let logs = Logs::collect();
    let mut world = world(|lock| lock.max_hold(Duration::from_secs(2)));
    let (client, feed) = world.streaming().await;

    assert_eq!(client.rest().await, "", "the connection ends without the last chunk");

    assert!(feed.is_closed(), "the stream was dropped in the middle");
    drop(world.released().await);
    let text = logs.text();
    assert!(text.contains("cut short") && !text.contains("order:7"), "{text}");
}

#[tokio::test(start_paused = true)]
async fn after_the_loss_a_stream_gives_an_error_and_its_end() {
    let mut world = world(|lock| lock.max_hold(Duration::from_secs(60)));
    let response = world.app.clone().oneshot(request("GET", "/fed/7")).await.unwrap();
    let feed = world.fed.recv().await.unwrap();
    let mut body = pin!(response.into_body());
    feed.send(Ok(Frame::data("first".into()))).unwrap();
    let mut frame =
        async || poll_fn(|context| http_body::Body::poll_frame(body.as_mut(), context)).await;
    assert!(frame().await.unwrap().is_ok());
    tokio::time::advance(Duration::from_secs(61)).await;
    // The rest of the body is not sent any more.
    feed.send(Ok(Frame::data("second".into()))).unwrap();

    let error = frame().await.unwrap().unwrap_err().to_string();

    assert!(error.contains("max_hold") && !error.contains("order:7"), "{error}");
    assert!(feed.is_closed());
    assert!(frame().await.is_none());
}

#[tokio::test(start_paused = true)]
async fn a_loss_that_is_only_signalled_cuts_nothing() {
    let mut world = world(|lock| lock.max_hold(Duration::from_secs(60)).on_lost(OnLost::Signal));
    let response = world.app.clone().oneshot(request("GET", "/fed/7")).await.unwrap();
    let feed = world.fed.recv().await.unwrap();
    tokio::time::advance(Duration::from_secs(61)).await;
    feed.send(Ok(Frame::data("all".into()))).unwrap();
    drop(feed);

    let all = axum::body::to_bytes(response.into_body(), 10).await.unwrap();

    assert_eq!(all, "all");
}

/// A client that does not read holds the lock; `max_hold` bounds it.
#[tokio::test]
async fn a_client_that_does_not_read_holds_it_until_max_hold() {
    let world = world(|lock| lock.max_hold(Duration::from_secs(2)));
    let address = serve(world.app.clone()).await;
    let mut client = Client::ask(address, "GET", "/endless/7").await;
    client.read_until("\r\n\r\n").await;
    world.assert_held().await;

    let _other = world.released().await;

    assert!(!client.rest().await.ends_with("0\r\n\r\n"));
}

/// The body's stream may acquire the request's lock again, as the handler may.
#[tokio::test]
async fn a_stream_is_in_the_requests_scope() {
    let locks = LockClient::in_memory();
    let inside = locks.clone();
    let streams = async move || {
        let again = async move {
            assert_held!("order:7");
            inside.write("order:7").wait(Duration::ZERO).acquire().await.map(|_| "entered")
        };
        Body::from_stream(futures_util::stream::once(again))
    };
    let lock = RequestLockLayer::new(locks, "order:{id}").unwrap();
    let lock = lock.mode(LockMode::Write).hold_until(HoldUntil::Body);
    let app = Router::new().route("/{id}", get(streams)).route_layer(lock);

    assert_eq!(call(&app, "GET", "/7").await.text, "entered");
}

/// Fails, and reports when it is dropped whether its lock is still held.
struct Fails(Locked, mpsc::UnboundedSender<bool>);

impl http_body::Body for Fails {
    type Data = Bytes;
    type Error = &'static str;

    fn poll_frame(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, &'static str>>> {
        Poll::Ready(Some(Err("as the test wants it")))
    }
}

impl Drop for Fails {
    fn drop(&mut self) {
        self.1.send(self.0.is_held()).unwrap();
    }
}

#[tokio::test]
async fn a_body_that_fails_is_gone_before_its_lock() {
    let lock = RequestLockLayer::new(LockClient::in_memory(), "order:{id}").unwrap();
    let (tell, mut reported) = mpsc::unbounded_channel();
    let fails = async move |lock: Locked| Response::new(Body::new(Fails(lock, tell)));
    let app = Router::new().route("/{id}", get(fails));
    let app = app.route_layer(lock.hold_until(HoldUntil::Body));
    let answer = app.oneshot(request("GET", "/7")).await.unwrap();
    axum::body::to_bytes(answer.into_body(), 10).await.unwrap_err();
    assert_eq!(reported.recv().await, Some(true));
}
