//! The effect of a request's deadline on its wait, on a paused clock.

use std::{sync::Arc, time::Duration};

use crate::common::{Answer, NEVER, call, request, send};
use axum::{
    Router,
    extract::{Path, Request},
    middleware::map_request,
    routing::put,
};
use http::HeaderName;
use lock_tower::{
    LockClient, LockError, RequestDeadline, RequestLockLayer, RequestScopeLayer, distributed_lock,
};
use tokio::{sync::Semaphore, time::Instant};

const fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn layer(locks: &LockClient) -> RequestLockLayer {
    RequestLockLayer::new(locks.clone(), "order:{id}").unwrap().wait(NEVER)
}

fn router(layer: RequestLockLayer) -> Router {
    Router::new().route("/orders/{id}", put(|| async { "done" })).route_layer(layer)
}

/// Gives every request `limit` from its arrival here.
fn within(limit: Duration, app: Router) -> Router {
    app.layer(map_request(move |mut request: Request| {
        request.extensions_mut().insert(RequestDeadline::at(Instant::now() + limit));
        std::future::ready(request)
    }))
}

/// A request, and how long its answer took.
async fn timed(app: &Router) -> (Answer, Duration) {
    let asked_at = Instant::now();
    let answer = call(app, "PUT", "/orders/7").await;
    (answer, asked_at.elapsed())
}

async fn assert_busy_after(app: &Router, wait: Duration) {
    let (answer, took) = timed(app).await;
    answer.assert_problem(423, "lock-busy");
    assert_eq!(took.as_secs(), wait.as_secs());
}

/// Refused at once, for this reason.
async fn assert_overloaded(app: &Router, why: &str) {
    let (answer, took) = timed(app).await;
    let problem = answer.assert_problem(503, "lock-overloaded");
    assert_eq!(problem["executed"], false);
    let detail = problem["detail"].as_str().unwrap();
    assert!(detail.contains(why), "{detail}");
    assert_eq!(took, Duration::ZERO);
}

async fn assert_too_late(app: &Router) {
    assert_overloaded(app, "The time that this request has is over").await;
}

#[tokio::test(start_paused = true)]
async fn it_bounds_the_wait() {
    let locks = LockClient::in_memory();
    let _guard = locks.write("order:7").acquire().await.unwrap();
    assert_busy_after(&within(seconds(5), router(layer(&locks))), seconds(5)).await;
    let impatient = router(layer(&locks).wait(seconds(3)));
    assert_busy_after(&within(seconds(5), impatient), seconds(3)).await;
}

#[tokio::test(start_paused = true)]
async fn the_reserve_is_the_handlers() {
    let locks = LockClient::in_memory();
    let app = router(layer(&locks).reserve(seconds(2)));
    let guard = locks.write("order:7").acquire().await.unwrap();
    assert_busy_after(&within(seconds(5), app.clone()), seconds(3)).await;

    // Without a deadline there is nothing to reserve of.
    let requested = tokio::spawn(async move { call(&app, "PUT", "/orders/7").await });
    tokio::time::sleep(seconds(100)).await;
    drop(guard);
    assert_eq!(requested.await.unwrap().text, "done");
}

#[tokio::test(start_paused = true)]
async fn what_is_free_is_not_granted_too_late() {
    let locks = LockClient::in_memory();
    let called = Arc::new(Semaphore::new(0));
    let calls = Arc::clone(&called);
    let handler = put(async move || calls.add_permits(1));
    let app = |reserve| {
        let lock = layer(&locks).reserve(reserve);
        Router::new().route("/orders/{id}", handler.clone()).route_layer(lock)
    };
    assert_too_late(&within(seconds(1), app(seconds(2)))).await;
    assert_too_late(&within(seconds(2), app(seconds(2)))).await;
    assert_too_late(&within(Duration::ZERO, app(Duration::ZERO))).await;
    assert_eq!(called.available_permits(), 0);

    assert_eq!(timed(&within(seconds(3), app(seconds(2)))).await.0.status, 200);
    assert_eq!(called.available_permits(), 1);
}

#[tokio::test(start_paused = true)]
async fn of_several_the_earliest_counts() {
    let locks = LockClient::in_memory();
    let _guard = locks.write("order:7").acquire().await.unwrap();
    let scoped = |inner, outer| {
        let app = within(seconds(inner), router(layer(&locks)));
        within(seconds(outer), app.layer(RequestScopeLayer::new(locks.clone())))
    };
    assert_busy_after(&scoped(9, 4), seconds(4)).await;
    assert_busy_after(&scoped(4, 9), seconds(4)).await;
}

#[distributed_lock(key = "order:{id}", wait = "1h")]
async fn with_arguments(Path(id): Path<u64>) {
    let _ = id;
}

#[distributed_lock(key = "order:7", wait = "1h")]
async fn without_arguments() {}

#[tokio::test(start_paused = true)]
async fn an_attributes_wait_is_bounded_too() {
    let locks = LockClient::in_memory();
    let _guard = locks.write("order:7").acquire().await.unwrap();
    let scope = RequestScopeLayer::new(locks.clone());
    for handler in [put(with_arguments), put(without_arguments)] {
        let app = Router::new().route("/orders/{id}", handler);
        assert_busy_after(&within(seconds(4), app.layer(scope.clone())), seconds(4)).await;
    }
    // One that is set between the layer and the handler.
    let app = Router::new().route("/orders/{id}", put(with_arguments));
    let app = within(seconds(3), app).layer(scope);
    assert_busy_after(&within(seconds(4), app), seconds(3)).await;
}

#[tokio::test(start_paused = true)]
async fn one_waiter_too_many_is_refused_at_once() {
    let locks = LockClient::in_memory();
    let app = router(layer(&locks).max_waiters(1));
    let guard = locks.write("order:7").acquire().await.unwrap();
    let waits = app.clone();
    let waits = tokio::spawn(async move { call(&waits, "PUT", "/orders/7").await });
    while locks.health().await.waiting == 0 {
        tokio::task::yield_now().await;
    }

    assert_overloaded(&app, "behind others for this resource").await;

    drop(guard);
    assert_eq!(waits.await.unwrap().text, "done");
}

#[distributed_lock(key = "order:{id}", client = locks, wait = "1h")]
async fn function(locks: &LockClient, id: u64) -> Result<u64, LockError> {
    Ok(id)
}

#[tokio::test(start_paused = true)]
async fn a_functions_wait_is_bounded_too() {
    let locks = LockClient::in_memory();
    let _guard = locks.write("order:7").acquire().await.unwrap();
    let scope = RequestScopeLayer::new(locks.clone());
    let calls = async move |Path(id): Path<u64>| match function(&locks, id).await {
        Ok(_) => "granted",
        Err(_) => "refused",
    };
    let app = Router::new().route("/orders/{id}", put(calls)).layer(scope);
    let (answer, took) = timed(&within(seconds(4), app.clone())).await;
    assert_eq!((&*answer.text, took.as_secs()), ("refused", 4));
    let (answer, took) = timed(&within(seconds(0), app)).await;
    assert_eq!((&*answer.text, took.as_secs()), ("refused", 0));
}

#[tokio::test(start_paused = true)]
async fn grpc_timeout_is_read_where_it_is_named() {
    let locks = LockClient::in_memory();
    let _guard = locks.write("order:7").acquire().await.unwrap();
    let took = async |app: &Router, content_type: &str, timeout: &str| {
        let mut request = request("PUT", "/orders/7");
        request.headers_mut().insert("content-type", content_type.parse().unwrap());
        request.headers_mut().insert("grpc-timeout", timeout.parse().unwrap());
        let began = Instant::now();
        send(app, request).await;
        began.elapsed()
    };
    let of_300 = Duration::from_millis(285);
    let named = router(layer(&locks).deadline_header(HeaderName::from_static("grpc-timeout")));
    for grpc in ["application/grpc", "application/grpc+proto", "application/grpc-web"] {
        assert_eq!(took(&named, grpc, "300m").await, of_300);
    }
    assert_eq!(took(&named, "application/grpc", "300000u").await, of_300);
    assert_eq!(took(&named, "application/grpc", "8S").await, Duration::from_millis(7_900));
    assert_eq!(took(&named, "application/grpc", "0S").await, Duration::ZERO);
    assert_eq!(took(&named, "application/grpc", "soon").await, Duration::ZERO);
    // Any client can send it.
    let unnamed = router(layer(&locks));
    let in_scope = router(layer(&locks)).layer(RequestScopeLayer::new(locks.clone()));
    for app in [&unnamed, &in_scope] {
        for timeout in ["300m", "soon"] {
            assert_eq!(took(app, "application/grpc", timeout).await, NEVER);
        }
    }
}

/// The lock is free, and no other request waits for it.
#[tokio::test]
async fn a_deadline_that_is_over_is_the_requests_own() {
    for (name, value) in [("grpc-timeout", "0S"), ("x-ms", "0")] {
        let header = HeaderName::from_static(name);
        let app = router(layer(&LockClient::in_memory()).deadline_header(header));
        let mut request = request("PUT", "/orders/7");
        request.headers_mut().insert(name, value.parse().unwrap());
        let problem = send(&app, request).await.assert_problem(503, "lock-overloaded");
        let detail = problem["detail"].as_str().unwrap();
        assert!(detail.starts_with("The time that this request has is over"), "{name}: {detail}");
        assert!(!problem.to_string().contains("behind others"), "{problem}");
    }
}

#[cfg(feature = "timeout")]
#[tokio::test(start_paused = true)]
async fn a_timeout_layer_sets_it() {
    use http::StatusCode;
    use lock_tower::RequestTimeoutLayer;

    let locks = LockClient::in_memory();
    let timeout = |limit| RequestTimeoutLayer::with_status_code(StatusCode::GATEWAY_TIMEOUT, limit);
    let app = router(layer(&locks).reserve(seconds(1))).layer(timeout(seconds(5)));
    let guard = locks.write("order:7").acquire().await.unwrap();
    // 100 ms are the answer's, without which the timeout would come first.
    let (answer, took) = timed(&app).await;
    answer.assert_problem(423, "lock-busy");
    assert_eq!(took, Duration::from_millis(3_900));
    let (answer, took) = timed(&router(layer(&locks)).layer(timeout(seconds(1)))).await;
    answer.assert_problem(423, "lock-busy");
    assert_eq!(took, Duration::from_millis(950));
    drop(guard);

    // It is a timeout all the same.
    let hangs = put(std::future::pending::<()>);
    let app = Router::new().route("/orders/{id}", hangs).route_layer(layer(&locks));
    let (answer, took) = timed(&app.layer(timeout(seconds(5)))).await;
    assert_eq!((answer.status, took), (StatusCode::GATEWAY_TIMEOUT, seconds(5)));
}
