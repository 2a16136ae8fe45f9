//! The extractor `Fence`.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use crate::common::{call, logs::Logs, metrics::Metrics};
use axum::{
    Router,
    extract::{FromRequestParts, Path},
    response::Response,
    routing::any,
};
use http::request::Parts;
use lock_tower::{
    Fence, FencingToken, LockClient, Locked, Mode, RequestLockLayer, RequestScopeLayer,
    distributed_lock,
};

fn layer(locks: &LockClient) -> RequestLockLayer {
    RequestLockLayer::new(locks.clone(), "order:{id:u64}").unwrap()
}

/// `Locked` and `Fence` have one token: the first is tested against grants.
async fn same(lock: Locked, fence: Fence) -> String {
    assert_eq!(lock.fencing_token(), fence.token());
    assert_eq!(fence.token().as_i64().to_string(), fence.token().to_string());
    fence.token().to_string()
}

#[tokio::test]
async fn it_has_the_token_of_the_layers_lock() {
    let layer = layer(&LockClient::in_memory());
    let app = Router::new().route("/orders/{id}", any(same)).route_layer(layer);

    let first: u64 = call(&app, "PUT", "/orders/7").await.text.parse().unwrap();
    let second: u64 = call(&app, "PUT", "/orders/7").await.text.parse().unwrap();
    assert!(first < second, "a later writer has a greater token");
}

#[distributed_lock(key = "line:{id}")]
async fn line(Path(id): Path<u64>, lock: Locked, fence: Fence) -> String {
    assert_eq!(lock.view().unwrap().key().as_str(), format!("line:{id}"));
    same(lock, fence).await
}

#[tokio::test]
async fn it_has_the_token_of_the_attributes_lock_within_a_layers() {
    let locks = LockClient::in_memory();
    let app = Router::new().route("/lines/{id}", any(line)).route_layer(layer(&locks));
    let answer = call(&app, "PUT", "/lines/7").await;
    assert_eq!(answer.status, 200, "{answer:?}");
}

/// An application's type: extracted before an attribute's lock is acquired, read after.
struct Version(Fence);

impl<S: Sync> FromRequestParts<S> for Version {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Response> {
        Fence::from_request_parts(parts, state).await.map(Self)
    }
}

#[distributed_lock(key = "line:{id}")]
async fn versioned(Path(id): Path<u64>, version: Version, lock: Locked) -> String {
    assert_eq!(FencingToken::from(version.0), lock.fencing_token());
    id.to_string()
}

#[tokio::test]
async fn it_can_be_a_part_of_another_extractor() {
    let scope = RequestScopeLayer::new(LockClient::in_memory());
    let app = Router::new().route("/{id}", any(versioned)).layer(scope);
    assert_eq!(call(&app, "PUT", "/7").await.text, "7");
}

#[tokio::test]
async fn without_a_lock_it_is_refused_or_none() {
    let logs = Logs::collect();
    let app: Router = Router::new()
        .route("/must", any(|_: Fence| async {}))
        .route("/may", any(|fence: Option<Fence>| async move { fence.is_none().to_string() }));

    call(&app, "PUT", "/must").await.assert_problem(500, "lock-misconfigured");
    let lines = logs.lines();
    assert!(lines[0].contains("`Fence` and has no lock"), "{lines:?}");
    assert_eq!(call(&app, "PUT", "/may").await.text, "true");
}

#[tokio::test]
async fn an_optional_one_has_the_token_of_a_lock_that_is_there() {
    let tell = |lock: Locked, fence: Option<Fence>| same_if_some(lock, fence);
    let layer = layer(&LockClient::in_memory());
    let app = Router::new().route("/orders/{id}", any(tell)).route_layer(layer);
    assert_eq!(call(&app, "PUT", "/orders/7").await.status, 200);
}

async fn same_if_some(lock: Locked, fence: Option<Fence>) {
    assert_eq!(fence.map(|fence| fence.token()), Some(lock.fencing_token()));
}

type Ran = axum::Extension<Arc<AtomicBool>>;

#[distributed_lock(keys = ["account:{from}", "account:{to}"])]
async fn transfer(Path((from, to)): Path<(u64, u64)>, _fence: Fence, ran: Ran) -> String {
    ran.store(true, Ordering::SeqCst);
    format!("{from} pays {to}")
}

#[distributed_lock(keys = ["account:{from}", "account:{to}"])]
async fn may_transfer(Path((from, to)): Path<(u64, u64)>, _: Option<Fence>, ran: Ran) -> String {
    ran.store(true, Ordering::SeqCst);
    format!("{from} pays {to}")
}

#[tokio::test]
async fn under_several_keys_it_is_refused_before_the_handler_runs() {
    let logs = Logs::collect();
    let locks = LockClient::in_memory();
    let ran = Arc::new(AtomicBool::new(false));
    let several = ["account:{from:u64}", "account:{to:u64}"];
    let several = RequestLockLayer::multi(locks.clone(), several).unwrap();
    let app = Router::new()
        .route("/layer/{from}/{to}", any(|_: Fence| async {}).layer(several.clone()))
        .route("/optional/{from}/{to}", any(|_: Option<Fence>| async {}).layer(several))
        .route("/attribute/{from}/{to}", any(transfer))
        .route("/both/{from}/{to}", any(may_transfer))
        .layer(axum::Extension(Arc::clone(&ran)))
        .layer(RequestScopeLayer::new(locks.clone()));

    for path in ["layer", "optional", "attribute", "both"] {
        let answer = call(&app, "PUT", &format!("/{path}/7/9")).await;
        let document = answer.assert_problem(500, "lock-misconfigured");
        assert_eq!(document["executed"], false, "{path}");
        let free = locks.write("account:7").acquire().await;
        assert!(free.is_ok(), "{path}: the locks are released");
    }
    assert!(!ran.load(Ordering::SeqCst));
    let lines = logs.lines();
    assert_eq!(lines.len(), 4, "{lines:?}");
    assert!(lines.iter().all(|line| line.contains("fencing_token_of")), "{lines:?}");
}

#[tokio::test]
async fn a_readers_token_is_later_than_any_earlier_writers() {
    let locks = LockClient::in_memory();
    let written = locks.write("order:7").acquire().await.unwrap();
    let earlier = written.fencing_token();
    written.release().await.unwrap();
    let read = move |lock: Locked, fence: Fence| async move {
        assert_eq!(lock.mode(), Mode::Read);
        (fence.token() > earlier).to_string()
    };
    let app = Router::new().route("/orders/{id}", any(read)).route_layer(layer(&locks));
    assert_eq!(call(&app, "GET", "/orders/7").await.text, "true");
}

#[tokio::test]
async fn a_refusal_for_a_missing_token_is_counted_once() {
    let metrics = Metrics::collect();
    let app = Router::new()
        .route("/attribute/{from}/{to}", any(transfer))
        .layer(axum::Extension(Arc::new(AtomicBool::new(false))))
        .layer(RequestScopeLayer::new(LockClient::in_memory()));

    call(&app, "PUT", "/attribute/7/9").await.assert_problem(500, "lock-misconfigured");

    let counted = |outcome: &str| {
        let labels = format!(r#"policy="it::fence::transfer",mode="write",outcome="{outcome}""#);
        metrics.value(&format!("lock_requests_total{{{labels}}}"))
    };
    assert_eq!(["granted", "lock-misconfigured"].map(counted), [0.0, 1.0]);
}
