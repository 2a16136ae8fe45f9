//! Preflights of CORS: not under the lock where a CORS layer inside of it answers them.

use std::time::Duration;

use axum::{Router, body::Body, routing::any};
use http::{Method, Request, StatusCode};
use lock_tower::{LockClient, RequestLockLayer, policies::Policies};
use tower::ServiceBuilder;
use tower_http::cors::CorsLayer;

use crate::common::{Answer, request, send};

fn lock(locks: &LockClient) -> RequestLockLayer {
    RequestLockLayer::new(locks.clone(), "order:{id:u64}").unwrap().wait(Duration::ZERO)
}

fn policies(locks: &LockClient) -> Policies {
    let file = "version = 1\n[[policy]]\nname = \"order\"\nmatch = { path = \"/orders/{id}\" }\n\
                key = \"order:{id:u64}\"\nwait = \"0s\"";
    Policies::builder(locks.clone()).parse("locks.toml", file).unwrap()
}

fn routes() -> Router {
    Router::new().route("/orders/{id}", any(async |method: Method| format!("{method} ran")))
}

fn preflight() -> Request<Body> {
    let mut request = request("OPTIONS", "/orders/7");
    let headers = request.headers_mut();
    headers.insert("origin", "https://shop.example".parse().unwrap());
    headers.insert("access-control-request-method", "PUT".parse().unwrap());
    request
}

async fn sent(app: &Router, locks: &LockClient, request: Request<Body>) -> Answer {
    let _writer = locks.write("order:7").acquire().await.unwrap();
    send(app, request).await
}

#[tokio::test]
async fn a_preflight_behind_a_writer_has_the_headers_of_cors() {
    let locks = LockClient::in_memory();
    let cors = || CorsLayer::permissive().allow_methods([Method::PUT]);
    let outside = [
        routes().route_layer(ServiceBuilder::new().layer(cors()).layer(lock(&locks))),
        routes().route_layer(policies(&locks).layer()).layer(cors()),
    ];
    let inside = [
        routes().route_layer(ServiceBuilder::new().layer(lock(&locks)).layer(cors())),
        routes().layer(cors()).route_layer(policies(&locks).layer()),
    ];
    for app in inside.iter().chain(&outside) {
        // The first one shows which layer answers.
        assert_eq!(send(app, preflight()).await.status, StatusCode::OK);
        let answer = sent(app, &locks, preflight()).await;
        assert_eq!(answer.status, StatusCode::OK);
        assert_eq!(answer.headers["access-control-allow-methods"], "PUT");
        // The request itself is locked.
        let mut put = preflight();
        *put.method_mut() = Method::PUT;
        sent(app, &locks, put).await.assert_problem(423, "lock-busy");
    }
}

/// A handler for every method would run for it without its lock.
#[tokio::test]
async fn a_forged_preflight_reaches_no_handler_without_its_lock() {
    let locks = LockClient::in_memory();
    for app in [routes().route_layer(lock(&locks)), routes().route_layer(policies(&locks).layer())]
    {
        for _ in 0..2 {
            assert_eq!(send(&app, preflight()).await.text, "OPTIONS ran");
            sent(&app, &locks, preflight()).await.assert_problem(423, "lock-busy");
        }
    }
}

/// A CORS layer inside of one route says nothing of the others under the same lock.
#[tokio::test]
async fn each_route_is_known_by_its_own_answer() {
    let locks = LockClient::in_memory();
    let cors = CorsLayer::permissive().allow_methods([Method::PUT]);
    let app =
        routes().layer(cors).route("/plain/{id}", any(async || "ran")).route_layer(lock(&locks));
    assert_eq!(send(&app, preflight()).await.status, StatusCode::OK);
    assert_eq!(sent(&app, &locks, preflight()).await.status, StatusCode::OK);
    let mut plain = preflight();
    *plain.uri_mut() = "/plain/7".parse().unwrap();
    sent(&app, &locks, plain).await.assert_problem(423, "lock-busy");
}

#[tokio::test]
async fn other_requests_of_the_method_are_locked() {
    let locks = LockClient::in_memory();
    let without = |name: &str| {
        let mut request = preflight();
        request.headers_mut().remove(name);
        request
    };
    let cors = CorsLayer::permissive().allow_methods([Method::PUT]);
    let app = routes().layer(cors).route_layer(lock(&locks));
    assert_eq!(send(&app, preflight()).await.status, StatusCode::OK);
    for request in [
        without("origin"),
        without("access-control-request-method"),
        request("OPTIONS", "/orders/7"),
    ] {
        sent(&app, &locks, request).await.assert_problem(423, "lock-busy");
    }
}
