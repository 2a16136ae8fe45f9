//! The extractor.

use std::{sync::Arc, time::Duration};

use crate::common::{call, logs::Logs, request, send};
use axum::{Json, Router, extract::Path, routing::any};
use lock_tower::{LockClient, Locked, Mode, RequestLockLayer, RequestScopeLayer, distributed_lock};

fn layer(locks: &LockClient) -> RequestLockLayer {
    RequestLockLayer::new(locks.clone(), "order:{id}").unwrap()
}

#[tokio::test]
async fn it_has_the_layers_lock() {
    let locks = LockClient::in_memory();
    let layer = layer(&locks).name("order").lease(Duration::from_secs(20));
    let tell = |lock: Locked| async move {
        assert!(lock.is_held());
        assert_eq!(lock.name(), "order");
        assert_eq!(lock.mode(), Mode::Write);
        let remaining = lock.remaining();
        assert!(remaining > Duration::from_secs(10) && remaining <= Duration::from_secs(20));
        lock.fencing_token().get().to_string()
    };
    let app = Router::new().route("/orders/{id}", any(tell)).route_layer(layer);

    let first: u64 = call(&app, "PUT", "/orders/7").await.text.parse().unwrap();
    let second: u64 = call(&app, "PUT", "/orders/7").await.text.parse().unwrap();
    assert!(first < second, "a later writer has a greater token");
}

#[tokio::test]
async fn it_keeps_nothing_held_after_the_request() {
    let locks = LockClient::in_memory();
    let kept = Arc::new(std::sync::Mutex::new(None));
    let keep = Arc::clone(&kept);
    let handler = async move |lock: Locked| {
        *keep.lock().unwrap() = Some(lock);
    };
    let app = Router::new().route("/orders/{id}", any(handler)).route_layer(layer(&locks));

    assert_eq!(call(&app, "PUT", "/orders/7").await.status, 200);

    let lock = kept.lock().unwrap().take().unwrap();
    assert!(!lock.is_held());
    assert_eq!(lock.remaining(), Duration::ZERO);
    assert!(locks.write("order:7").try_acquire().await.is_ok());
}

#[distributed_lock(key = "line:{id}", name = "line")]
async fn line(lock: Locked, Path(id): Path<u64>) -> String {
    format!("{} {} {id}", lock.name(), lock.view().unwrap().key())
}

#[distributed_lock(key = "body:{body}", name = "body")]
async fn body(Path(_): Path<u64>, lock: Locked, Json(body): Json<String>) -> String {
    format!("{} {}", lock.name(), lock.view().unwrap().key())
}

#[distributed_lock(key = "body:{body}", name = "body-alone")]
async fn body_alone(Json(body): Json<String>) -> String {
    body
}

#[tokio::test]
async fn it_has_the_innermost_lock() {
    let locks = LockClient::in_memory();
    let app = Router::new()
        .route("/lines/{id}", any(line))
        .route("/layers/{id}", any(|lock: Locked| async move { lock.name().to_owned() }))
        .route_layer(layer(&locks).name("inner"))
        .route_layer(layer(&locks).name("outer"));

    assert_eq!(call(&app, "PUT", "/lines/7").await.text, "line line:7 7");
    assert_eq!(call(&app, "PUT", "/layers/7").await.text, "inner");
}

#[tokio::test]
async fn a_lock_with_a_key_from_the_body_is_reported() {
    let app = Router::new()
        .route("/orders/{id}", any(body))
        .route("/alone", any(body_alone))
        .layer(RequestScopeLayer::new(LockClient::in_memory()));
    let with_body = |uri| {
        let mut request = request("PUT", uri);
        request.headers_mut().insert("content-type", "application/json".parse().unwrap());
        *request.body_mut() = "\"a b\"".into();
        request
    };

    assert_eq!(send(&app, with_body("/orders/7")).await.text, "body body:a%20b");
    assert_eq!(send(&app, with_body("/alone")).await.text, "a b");
}

#[tokio::test]
async fn a_handler_without_a_lock_is_refused() {
    let logs = Logs::collect();
    let app: Router = Router::new().route("/orders/{id}", any(|_: Locked| async {}));

    call(&app, "PUT", "/orders/7").await.assert_problem(500, "lock-misconfigured");

    let lines = logs.lines();
    assert!(lines[0].contains("ERROR") && lines[0].contains("RequestLockLayer"), "{lines:?}");
    let scoped = app.layer(RequestScopeLayer::new(LockClient::in_memory()));
    call(&scoped, "PUT", "/orders/7").await.assert_problem(500, "lock-misconfigured");
}
