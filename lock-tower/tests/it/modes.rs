//! Which lock a layer takes.

use std::time::Duration;

use crate::common::call;
use axum::{
    Router,
    routing::{any, get},
};
use http::StatusCode;
use lock_tower::{LockClient, Locked, RequestLockLayer, settings::LockMode};

fn app(locks: &LockClient, mode: Option<LockMode>) -> Router {
    let layer = RequestLockLayer::new(locks.clone(), "order:{id}").unwrap().wait(Duration::ZERO);
    let layer = match mode {
        Some(mode) => layer.mode(mode),
        None => layer,
    };
    let tell = |lock: Locked| async move { lock.mode().to_string() };
    Router::new().route("/orders/{id}", any(tell)).route_layer(layer)
}

#[tokio::test]
async fn safe_methods_read_and_the_others_write() {
    let locks = LockClient::in_memory();
    let app = app(&locks, None);

    // A reader from elsewhere lets readers in and keeps writers out.
    let _reader = locks.read("order:7").acquire().await.unwrap();

    for (method, reads) in [
        ("GET", true),
        ("HEAD", true),
        ("OPTIONS", true),
        ("POST", false),
        ("PUT", false),
        ("PATCH", false),
        ("DELETE", false),
        ("TRACE", false),
        ("PURGE", false),
    ] {
        let status = call(&app, method, "/orders/7").await.status;
        let expected = if reads { StatusCode::OK } else { StatusCode::LOCKED };
        assert_eq!(status, expected, "{method}");
    }
    assert_eq!(call(&app, "GET", "/orders/7").await.text, "read");
    assert_eq!(call(&app, "POST", "/orders/8").await.text, "write");
}

#[tokio::test]
async fn a_mode_can_be_fixed() {
    let locks = LockClient::in_memory();
    assert_eq!(call(&app(&locks, Some(LockMode::Read)), "DELETE", "/orders/7").await.text, "read");
    assert_eq!(call(&app(&locks, Some(LockMode::Write)), "GET", "/orders/7").await.text, "write");
}

#[tokio::test]
async fn a_problem_has_the_requested_mode() {
    let locks = LockClient::in_memory();
    let app = app(&locks, None);
    let _writer = locks.write("order:7").acquire().await.unwrap();

    assert_eq!(call(&app, "GET", "/orders/7").await.problem()["mode"], "read");
    assert_eq!(call(&app, "PUT", "/orders/7").await.problem()["mode"], "write");
}

#[tokio::test]
async fn no_lock_for_no_route_nor_on_the_methods_for_no_method() {
    let locks = LockClient::in_memory();
    let layer = RequestLockLayer::new(locks.clone(), "order:{id}").unwrap().wait(Duration::ZERO);
    let app = Router::new()
        .route("/on-router/{id}", get(|| async {}))
        .route_layer(layer.clone())
        .route("/on-methods/{id}", get(|| async {}).route_layer(layer));
    let _reader = locks.read("order:7").acquire().await.unwrap();

    assert_eq!(call(&app, "PUT", "/nothing/7").await.status, StatusCode::NOT_FOUND);
    assert_eq!(call(&app, "PUT", "/on-methods/7").await.status, StatusCode::METHOD_NOT_ALLOWED);
    assert_eq!(call(&app, "PUT", "/on-router/7").await.status, StatusCode::LOCKED);
}
