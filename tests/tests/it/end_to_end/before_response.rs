//! Responses that wait until the store has confirmed the release.

use std::{sync::Arc, time::Duration};

use ::http::{Request, StatusCode};
use axum::{Router, body::Body, middleware::map_request, routing::post};
use futures_util::FutureExt;
use lock_tests::{Direction, LIMIT, RedisServer, eventually, http};
use lock_tower::{
    LockClient, RequestDeadline, RequestLockLayer,
    settings::{OnDisconnect, Release},
};
use tokio::{sync::Semaphore, time::Instant};
use tower::ServiceExt;

use crate::end_to_end::{local_service::LocalService, problem::assert_repeatable, shop::lock_keys};

/// Many times the duration of a direct query to Redis.
const SLOW: Duration = Duration::from_millis(300);

/// A client whose commands are slow on their way, from when it has connected.
async fn slow_client(redis: &RedisServer) -> (lock_tests::Proxy, LockClient) {
    let proxy = redis.proxy().await;
    let client = LockClient::builder().lease(4 * LIMIT).command_timeout(LIMIT);
    let client = client.connect(&redis.url_through(&proxy)).await.unwrap();
    (proxy, client)
}

#[tokio::test]
async fn after_the_response_the_lock_is_free_everywhere() {
    for on_disconnect in [OnDisconnect::Cancel, OnDisconnect::Finish] {
        let redis = RedisServer::start().await;
        let (proxy, locks) = slow_client(&redis).await;
        let lock = RequestLockLayer::new(locks, "job").unwrap();
        let lock = lock.release(Release::BeforeResponse).on_disconnect(on_disconnect);
        let router = Router::new().route("/", post(|| async { "done" })).route_layer(lock);
        let service = LocalService::start(router).await;
        let replica = LockClient::connect(&redis.url()).await.unwrap();
        drop(replica.write("job").try_acquire().await.unwrap());
        proxy.delay(Direction::ToServer, SLOW);
        for round in 0..3 {
            assert_eq!(http::post(&service.url("/"), "").await.status, 200);
            let guard = replica.write("job").try_acquire().await;
            let guard = guard.unwrap_or_else(|error| panic!("round {round}: {error}"));
            guard.release().await.unwrap();
        }
    }
}

/// Its client, or a timeout further out, has given the request up by then.
#[tokio::test]
async fn what_is_granted_after_the_deadline_is_given_back() {
    let redis = RedisServer::start().await;
    let (proxy, locks) = slow_client(&redis).await;
    let called = Arc::new(Semaphore::new(0));
    let calls = Arc::clone(&called);
    let lock = RequestLockLayer::new(locks, "job").unwrap();
    let router = Router::new().route("/", post(async move || calls.add_permits(1)));
    let router = router.route_layer(lock).layer(map_request(|mut request: Request<Body>| {
        let soon = RequestDeadline::at(Instant::now() + SLOW / 3);
        request.extensions_mut().insert(soon);
        std::future::ready(request)
    }));
    let service = LocalService::start(router).await;
    proxy.delay(Direction::ToClient, SLOW);

    let reply = http::post(&service.url("/"), "").await;

    assert_repeatable(&reply, 503, "lock-overloaded");
    assert_eq!(called.available_permits(), 0);
    let cli = redis.cli().await;
    eventually("the release", LIMIT, async || lock_keys(&cli).await.is_empty()).await;
}

#[tokio::test]
async fn of_a_dead_redis_only_the_first_request_waits_for_an_answer() {
    let redis = RedisServer::start().await;
    let locks = LockClient::connect(&redis.url()).await.unwrap();
    let lock = RequestLockLayer::new(locks, "job").unwrap().wait(LIMIT);
    let router = Router::new().route("/", post(|| async { "done" })).route_layer(lock);
    let ask = || router.clone().oneshot(Request::post("/").body(Body::empty()).unwrap());
    assert_eq!(ask().await.unwrap().status(), StatusCode::OK);
    redis.pause();

    assert_eq!(ask().await.unwrap().status(), StatusCode::SERVICE_UNAVAILABLE);

    for _ in 0..100 {
        let answer = ask().now_or_never().expect("at the first poll");
        assert_eq!(answer.unwrap().status(), StatusCode::SERVICE_UNAVAILABLE);
    }
    redis.resume();
    let served = async || ask().await.unwrap().status() == StatusCode::OK;
    eventually("a request that is served", LIMIT, served).await;
}
