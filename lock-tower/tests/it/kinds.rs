//! Other kinds than the read/write lock, around requests.

use std::time::Duration;

use crate::common::{RELEASED, call, logs::Logs};
use axum::{Router, extract::Path, routing::any};
use lock_tower::{
    AcquireError, Kind, LockClient, LockError, Locked, MemoryStore, Mode, RequestLockLayer,
    RequestScopeLayer, distributed_lock, settings::LockMode,
};

const EXCLUSIVE: [Kind; 4] = [Kind::Reentrant, Kind::NonReentrant, Kind::Fair, Kind::Fenced];

fn layer(locks: &LockClient, kind: Kind) -> RequestLockLayer {
    let layer = RequestLockLayer::new(locks.clone(), "order:{id:u64}").unwrap();
    layer.name("layer").kind(kind).wait(Duration::ZERO)
}

fn app(locks: &LockClient, kind: Kind) -> Router {
    let tell = |lock: Locked| async move { lock.mode().to_string() };
    Router::new().route("/orders/{id}", any(tell)).route_layer(layer(locks, kind))
}

#[tokio::test]
async fn a_kind_without_readers_is_taken_whatever_the_method() {
    for kind in EXCLUSIVE {
        let locks = LockClient::in_memory();
        let app = app(&locks, kind);
        assert_eq!(call(&app, "GET", "/orders/7").await.text, "write", "{kind}");

        let elsewhere = locks.lock(Mode::Write, "order:7").kind(kind);
        let _elsewhere = elsewhere.acquire().await.unwrap();
        for method in ["GET", "PUT"] {
            let document = call(&app, method, "/orders/7").await.assert_problem(423, "lock-busy");
            assert_eq!(
                (&document["kind"], &document["mode"]),
                (&kind.as_str().into(), &"write".into())
            );
        }
    }
}

#[tokio::test]
async fn fair_readers_share_and_exclude_writers() {
    let locks = LockClient::in_memory();
    let app = app(&locks, Kind::FairReadWrite);
    let _reader = locks.fair_read("order:7").acquire().await.unwrap();

    assert_eq!(call(&app, "GET", "/orders/7").await.text, "read");
    let document = call(&app, "PUT", "/orders/7").await.assert_problem(423, "lock-busy");
    assert_eq!(document["kind"], "fair_read_write");
}

#[tokio::test]
async fn the_log_names_the_kind() {
    let logs = Logs::collect();
    let locks = LockClient::in_memory();
    let _elsewhere = locks.fair("order:7").acquire().await.unwrap();
    call(&app(&locks, Kind::Fair), "PUT", "/orders/7").await.assert_problem(423, "lock-busy");
    let lines = logs.lines();
    assert!(lines[0].contains(r#"kind="fair" mode="write""#), "{lines:?}");
}

async fn assert_misconfigured(app: &Router, hints: &[&str]) {
    let logs = Logs::collect();
    let document = call(app, "PUT", "/orders/7").await.assert_problem(500, "lock-misconfigured");
    assert_eq!(document["executed"], false);
    let of_request = |line: &String| line.contains("request not carried out");
    let lines: Vec<_> = logs.lines().into_iter().filter(of_request).collect();
    let [line] = &lines[..] else { panic!("one line: {lines:?}") };
    assert!(line.contains("ERROR") && !line.contains("order:7"), "{line}");
    for hint in hints {
        assert!(line.contains(hint), "{hint} in {line}");
    }
}

#[tokio::test]
async fn to_read_what_has_no_readers_is_a_mistake() {
    let locks = LockClient::in_memory();
    let layer = layer(&locks, Kind::Fair).mode(LockMode::Read);
    let app = Router::new().route("/orders/{id}", any(|| async {})).route_layer(layer);
    assert_misconfigured(&app, &["fair", "no read mode"]).await;
}

#[tokio::test]
async fn a_semaphore_without_permits_is_a_mistake() {
    let locks = LockClient::in_memory();
    assert_misconfigured(&app(&locks, Kind::Semaphore), &["semaphore without permits"]).await;
}

#[tokio::test]
async fn what_else_stands_under_the_key_is_named_by_what_it_is_not() {
    let store = MemoryStore::new();
    let locks = LockClient::builder().in_memory_on(&store);
    // In another process: in this one they would wait for each other at the gate.
    let elsewhere = LockClient::builder().in_memory_on(&store);
    let _elsewhere = elsewhere.write("order:7").acquire().await.unwrap();
    assert_misconfigured(&app(&locks, Kind::Fenced), &["is not a fenced lock"]).await;
}

#[distributed_lock(key = "order:{id}", kind = "fair", wait = "0s", name = "attribute")]
async fn fair(Path(id): Path<u64>) -> String {
    format!("fair {id}")
}

#[distributed_lock(key = "order:{id}", kind = "non_reentrant", wait = "0s", name = "attribute")]
async fn non_reentrant(Path(id): Path<u64>) -> String {
    format!("non-reentrant {id}")
}

#[tokio::test]
async fn an_attribute_takes_its_kind() {
    let locks = LockClient::in_memory();
    let app =
        Router::new().route("/orders/{id}", any(fair)).layer(RequestScopeLayer::new(locks.clone()));

    assert_eq!(call(&app, "GET", "/orders/7").await.text, "fair 7");
    let _elsewhere = locks.fair("order:7").acquire().await.unwrap();
    let document = call(&app, "GET", "/orders/7").await.assert_problem(423, "lock-busy");
    assert_eq!(document["kind"], "fair");
}

#[tokio::test]
async fn layer_and_attribute_of_one_reentrant_kind_enter_one_hold() {
    let locks = LockClient::in_memory();
    let app = Router::new().route("/orders/{id}", any(fair)).route_layer(layer(&locks, Kind::Fair));
    assert_eq!(call(&app, "PUT", "/orders/7").await.text, "fair 7");
    assert!(locks.fair("order:7").wait(RELEASED).acquire().await.is_ok(), "both are released");
}

#[tokio::test]
async fn two_kinds_on_one_key_in_one_request_are_a_mistake() {
    for kind in [Kind::ReadWrite, Kind::FairReadWrite, Kind::Reentrant, Kind::NonReentrant] {
        let locks = LockClient::in_memory();
        let app = Router::new()
            .route("/orders/{id}", any(fair))
            .route_layer(layer(&locks, kind).mode(LockMode::Write));
        let outer = format!("`layer` (key `order:{{id:u64}}`) takes the key as a {kind} lock");
        assert_misconfigured(&app, &[&outer, "`attribute` as a fair lock"]).await;
        // The layer's lock was released.
        let again = locks.lock(Mode::Write, "order:7").kind(kind);
        assert!(again.wait(RELEASED).acquire().await.is_ok());
    }
}

#[tokio::test]
async fn a_non_reentrant_lock_twice_in_one_request_is_a_mistake() {
    let locks = LockClient::in_memory();
    let app = Router::new()
        .route("/orders/{id}", any(non_reentrant))
        .route_layer(layer(&locks, Kind::NonReentrant));
    let hints =
        ["`layer` (key `order:{id:u64}`) already holds the key of `attribute`", "non_reentrant"];
    assert_misconfigured(&app, &hints).await;
    assert!(locks.non_reentrant("order:7").wait(RELEASED).acquire().await.is_ok());
}

#[tokio::test]
async fn functions_return_their_own_error() {
    #[distributed_lock(key = "order:{id}", kind = "non_reentrant", client = locks)]
    async fn inner(locks: &LockClient, id: u64) -> Result<(), LockError> {
        Ok(())
    }
    #[distributed_lock(key = "order:{id}", kind = "non_reentrant", client = locks)]
    async fn outer(locks: &LockClient, id: u64) -> Result<(), LockError> {
        inner(locks, id).await
    }
    let locks = LockClient::in_memory();
    inner(&locks, 7).await.unwrap();
    let refused = outer(&locks, 7).await.unwrap_err();
    assert!(matches!(refused, LockError::Acquire(AcquireError::AlreadyHeld { .. })), "{refused:?}");
}
