//! How a request comes to meet with each outcome: over real sockets, on a Redis of its own.

use std::{
    any::Any,
    convert::Infallible,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use ::http::{HeaderValue, Request, Response};
use axum::{
    Router,
    body::Body,
    middleware::{map_request, map_response},
    routing::put,
};
use futures_util::{StreamExt, stream};
use lock_tests::{Cli, LIMIT, RedisServer, bounded, http, http::Reply};
use lock_tower::{
    LockClient, Outcome, PrincipalLimit, RequestDeadline, RequestLockLayer, Scope,
    key::KeyRejection, settings::OnBusy,
};
use tokio::time::Instant;

use crate::end_to_end::local_service::LocalService;

/// A service in which a request for `path` meets with an outcome.
pub(crate) struct Scene {
    redis: RedisServer,
    locks: LockClient,
    lock: RequestLockLayer,
    pub(crate) path: &'static str,
    /// Makes the handler lose its lock.
    loses: bool,
    /// This scope waits for the lock of a layer further out, once a request has it.
    waits_for_outer: Option<Scope>,
    /// So near is each request's deadline.
    limit: Option<Duration>,
    /// The body of each request; `None`: it never ends.
    body: Option<String>,
    #[allow(dead_code, reason = "held until the scene is over")]
    held: Vec<Box<dyn Any + Send>>,
}

impl Scene {
    async fn new() -> Self {
        let redis = RedisServer::start().await;
        let locks = LockClient::builder().wait(Duration::ZERO).connect(&redis.url()).await.unwrap();
        let lock = RequestLockLayer::new(locks.clone(), "order:{id:u64}").unwrap().name("order");
        Self {
            redis,
            locks,
            lock,
            path: "/orders/7",
            loses: false,
            waits_for_outer: None,
            limit: None,
            body: Some(String::new()),
            held: Vec::new(),
        }
    }

    /// How a request comes to meet with this outcome: a row may have several ways.
    pub(crate) async fn of(name: &str) -> Vec<Self> {
        let scene = Self::new().await;
        let scene = match name {
            "Busy" => {
                let other = LockClient::connect(&scene.redis.url()).await.unwrap();
                let guard = other.write("order:7").acquire().await.unwrap();
                Self { held: vec![Box::new(guard)], ..scene }
            }
            "Skipped" => {
                let other = LockClient::connect(&scene.redis.url()).await.unwrap();
                let guard = other.write("order:7").acquire().await.unwrap();
                let lock = scene.lock.on_busy(OnBusy::Skip);
                Self { lock, held: vec![Box::new(guard)], ..scene }
            }
            "Deadlock" => {
                let other = LockClient::connect(&scene.redis.url()).await.unwrap().scope();
                let guard = other.write("order:7").acquire().await.unwrap();
                let lock = scene.lock.wait(LIMIT).refuse_deadlock(true);
                Self { lock, waits_for_outer: Some(other), held: vec![Box::new(guard)], ..scene }
            }
            "Replaced" => {
                let other = LockClient::connect(&scene.redis.url()).await.unwrap();
                let guard = other.write("order:7").acquire().await.unwrap();
                let lock = scene.lock.on_busy(OnBusy::Replace).replace_by("id").wait(LIMIT);
                let newer = tokio::spawn(replaces_the_waiter(other));
                Self { lock, held: vec![Box::new(guard), Box::new(newer)], ..scene }
            }
            "Overloaded" => {
                let guard = scene.locks.write("order:7").acquire().await.unwrap();
                let lock = scene.lock.wait(LIMIT).max_waiters(0);
                let too_near = Self { limit: Some(Duration::ZERO), ..Self::new().await };
                return vec![Self { lock, held: vec![Box::new(guard)], ..scene }, too_near];
            }
            "OverLimit" => {
                let limit = PrincipalLimit::new(0, |_| Some("jane".to_owned()));
                let lock = scene.lock.limit_principals(limit);
                Self { lock, ..scene }
            }
            "DeadlineInvalid" => {
                // Every request has it, and it is not a number.
                let lock = scene.lock.deadline_header(::http::header::HOST);
                Self { lock, ..scene }
            }
            "Unavailable" => {
                scene.redis.kill();
                scene
            }
            "Draining" => {
                scene.locks.shutdown(LIMIT).await.unwrap();
                scene
            }
            "Lost" => {
                let lock = scene.lock.lease(Duration::from_millis(300));
                Self { lock, loses: true, ..scene }
            }
            "KeyMissing" => {
                let missing =
                    |_: &_| Err::<&str, _>(KeyRejection::missing("the header is missing"));
                let lock = RequestLockLayer::with_key(scene.locks.clone(), missing).name("order");
                Self { lock, ..scene }
            }
            "BodyTooLarge" => Self { body: Some("x".repeat(3_000_000)), ..scene },
            "BodyTimeout" => {
                let lock = scene.lock.body_timeout(Duration::from_millis(100));
                Self { lock, body: None, ..scene }
            }
            "KeyInvalid" => Self { path: "/orders/seven", ..scene },
            "Misconfigured" => {
                let lock = scene.lock.lease(Duration::from_millis(1));
                Self { lock, ..scene }
            }
            other => panic!("{other} has no scene: show here how a request meets with it"),
        };
        vec![scene]
    }

    /// The answer, and how often the handler was called for it.
    pub(crate) async fn play(
        self,
        change: impl FnOnce(RequestLockLayer) -> RequestLockLayer,
    ) -> (Reply, usize) {
        let calls = Arc::new(AtomicUsize::new(0));
        let (called, cli) = (Arc::clone(&calls), self.redis.url());
        let (loses, limit) = (self.loses, self.limit);
        let handler = async move || {
            called.fetch_add(1, Ordering::SeqCst);
            if loses {
                let cli = Cli::connect(&cli).await;
                assert!(cli.del("lock:order:7").await);
                std::future::pending::<()>().await;
            }
            "done"
        };
        let deadline = map_request(move |mut request: Request<Body>| {
            let deadline = limit.map(|limit| Instant::now() + limit);
            if let Some(deadline) = deadline {
                request.extensions_mut().insert(RequestDeadline::at(deadline));
            }
            std::future::ready(request)
        });
        let router = Router::new().route("/orders/{id}", put(handler));
        let mut router = router.route_layer(change(self.lock));
        if let Some(other) = self.waits_for_outer {
            let outer = RequestLockLayer::new(self.locks, "stock:{id}").unwrap();
            let waits =
                map_request(move |request: Request<Body>| waits_for_stock(other.clone(), request));
            router = router.route_layer(waits).route_layer(outer);
        }
        let router = router.layer(deadline);
        let service = LocalService::start(router.layer(map_response(tell_outcome))).await;
        let request = Request::put(service.url(self.path)).header("x-request-id", "r-1");
        let request = request.body(self.body.map_or_else(endless, Body::from)).unwrap();
        let reply = bounded(LIMIT, http::send_body(request)).await.unwrap();
        (reply, calls.load(Ordering::SeqCst))
    }
}

/// Comes once a request waits to replace the holder, and replaces that request.
async fn replaces_the_waiter(newer: LockClient) {
    while newer.inspect("lock-replace:order:7").await.unwrap().holders.is_empty() {
        tokio::task::yield_now().await;
    }
    drop(newer.write("order:7").replace_after(LIMIT).wait(LIMIT).acquire().await);
}

/// Lets the request on once `other` waits for its outer lock.
async fn waits_for_stock(other: Scope, request: Request<Body>) -> Request<Body> {
    let seen = other.client().clone();
    tokio::spawn(other.write("stock:7").wait(LIMIT).acquire());
    while seen.inspect("stock:7").await.unwrap().waiters.is_empty() {
        tokio::task::yield_now().await;
    }
    request
}

/// One byte, and then nothing.
fn endless() -> Body {
    let first = stream::iter([Ok::<_, Infallible>("x")]);
    Body::from_stream(first.chain(stream::pending()))
}

/// As middleware that counts outcomes sees it.
async fn tell_outcome(mut response: Response<Body>) -> Response<Body> {
    if let Some(outcome) = response.extensions().get::<Outcome>() {
        let outcome = HeaderValue::from_static(outcome.as_str());
        response.headers_mut().insert("x-outcome", outcome);
    }
    response
}
