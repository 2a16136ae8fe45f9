//! Preflights of CORS: answered at once, and not under the lock.

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

fn policies(locks: &LockClient, matches: &str) -> Policies {
    let file = format!(
        "version = 1\n[[policy]]\nname = \"order\"\nmatch = {{ path = \"/orders/{{id}}\"{matches} }}\n\
         key = \"order:{{id:u64}}\"\nwait = \"0s\""
    );
    Policies::builder(locks.clone()).parse("locks.toml", &file).unwrap()
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
    let [outside, inside, policy, policy_inside] = [
        routes().route_layer(ServiceBuilder::new().layer(cors()).layer(lock(&locks))),
        routes().route_layer(ServiceBuilder::new().layer(lock(&locks)).layer(cors())),
        routes().route_layer(policies(&locks, "").layer()).layer(cors()),
        routes().layer(cors()).route_layer(policies(&locks, "").layer()),
    ];
    for app in [outside, inside, policy, policy_inside] {
        let answer = sent(&app, &locks, preflight()).await;
        assert_eq!(answer.status, StatusCode::OK);
        assert_eq!(answer.headers["access-control-allow-methods"], "PUT");
    }
}

#[tokio::test]
async fn other_requests_of_the_method_are_locked() {
    let locks = LockClient::in_memory();
    let without = |name: &str| {
        let mut request = preflight();
        request.headers_mut().remove(name);
        request
    };
    let mut put = preflight();
    *put.method_mut() = Method::PUT;
    for app in
        [routes().route_layer(lock(&locks)), routes().route_layer(policies(&locks, "").layer())]
    {
        assert_eq!(sent(&app, &locks, preflight()).await.text, "OPTIONS ran");
        for request in [
            without("origin"),
            without("access-control-request-method"),
            request("OPTIONS", "/orders/7"),
        ] {
            sent(&app, &locks, request).await.assert_problem(423, "lock-busy");
        }
    }
    let app = routes().route_layer(lock(&locks));
    sent(&app, &locks, put).await.assert_problem(423, "lock-busy");
}

#[tokio::test]
async fn a_service_can_lock_them() {
    let locks = LockClient::in_memory();
    let layer = routes().route_layer(lock(&locks).lock_preflights(true));
    let rule = policies(&locks, ", methods = [\"PUT\", \"OPTIONS\"]");
    for app in [layer, routes().route_layer(rule.layer())] {
        sent(&app, &locks, preflight()).await.assert_problem(423, "lock-busy");
    }
}
