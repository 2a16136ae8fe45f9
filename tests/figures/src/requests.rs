//! Requests to a router, one after the other, without a socket.

use axum::{
    Router,
    body::Body,
    extract::{Path, State},
    routing::put,
};
use http::{Method, Request, StatusCode};
use http_body_util::BodyExt;
use lock_core::LockClient;
use lock_figures::HandRolled;
use lock_tower::{RequestLockLayer, RequestScopeLayer, distributed_lock};
use tower::ServiceExt;

pub(crate) fn without_lock() -> Router {
    Router::new().route("/items/{id}", put(change))
}

pub(crate) fn by_hand(locks: HandRolled) -> Router {
    Router::new().route("/items/{id}", put(change_locked)).with_state(locks)
}

pub(crate) fn under_the_layer(client: LockClient) -> Router {
    let layer = RequestLockLayer::new(client, "item:{id}").expect("a template");
    Router::new().route("/items/{id}", put(change).route_layer(layer))
}

pub(crate) fn under_the_attribute(client: LockClient) -> Router {
    let layer = RequestScopeLayer::new(client);
    Router::new().route("/items/{id}", put(change_under_attribute).route_layer(layer))
}

pub(crate) async fn requests(router: Router, count: usize) {
    let router = prepared(router);
    for number in 0..count {
        request(&router, number).await;
    }
}

/// As `axum::serve` does: otherwise each request prepares its route.
pub(crate) fn prepared(router: Router) -> Router {
    router.with_state(())
}

pub(crate) async fn request(router: &Router, number: usize) {
    let request = Request::builder()
        .method(Method::PUT)
        .uri(format!("/items/{number}"))
        .body(Body::empty())
        .expect("a request");
    let response = router.clone().oneshot(request).await.expect("it cannot fail");
    assert_eq!(response.status(), StatusCode::OK);
    response.into_body().collect().await.expect("a whole body");
}

async fn change(Path(_id): Path<u64>) -> &'static str {
    "changed"
}

#[distributed_lock(key = "item:{id}")]
async fn change_under_attribute(Path(id): Path<u64>) -> &'static str {
    "changed"
}

async fn change_locked(Path(id): Path<u64>, State(locks): State<HandRolled>) -> &'static str {
    let held = locks.take(&format!("item:{id}")).await;
    locks.give_back(held).await;
    "changed"
}
