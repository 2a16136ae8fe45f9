//! The spans around waiting and working: their fields at the end.

use std::time::Duration;

use crate::common::{call, request, spans::Spans};
use axum::{
    Router,
    body::Body,
    routing::{get, put},
};
use futures_util::{StreamExt, stream};
use lock_tower::{Enforce, LockClient, MemoryStore, RequestLockLayer, settings::HoldUntil};
use tower::ServiceExt;

/// A part of every key, which only the store may see.
const SECRET: &str = "jane-roe";

const SECOND: Duration = Duration::from_secs(1);

fn layer(locks: &LockClient) -> RequestLockLayer {
    RequestLockLayer::new(locks.clone(), "order:{id}").unwrap().name("order")
}

fn app(lock: RequestLockLayer) -> Router {
    let slow = || async {
        tokio::time::sleep(SECOND * 20).await;
        "done"
    };
    let body = || async {
        let parts = stream::iter(["one", "two"]).map(Ok::<_, std::io::Error>);
        Body::from_stream(parts)
    };
    Router::new()
        .route("/quick/{id}", put(|| async { "done" }))
        .route("/slow/{id}", put(slow))
        .route("/body/{id}", put(body))
        .route_layer(lock)
}

async fn ask(lock: RequestLockLayer, way: &str) {
    call(&app(lock), "PUT", &format!("/{way}/{SECRET}")).await;
}

#[tokio::test(start_paused = true)]
async fn a_wait_span_has_its_outcome() {
    let spans = Spans::collect();
    let store = MemoryStore::new();
    let locks = LockClient::builder().in_memory_on(&store);
    ask(layer(&locks), "quick").await;
    let guard = locks.write(format!("order:{SECRET}")).acquire().await.unwrap();
    ask(layer(&locks).wait(SECOND * 2), "quick").await;
    ask(layer(&locks).max_waiters(0), "quick").await;
    let leaves = ask(layer(&locks).wait(SECOND * 60), "quick");
    tokio::time::timeout(SECOND * 3, leaves).await.unwrap_err();
    drop(guard);
    store.set_down(true);
    ask(layer(&locks), "quick").await;

    let ended = spans.ended("lock.wait");
    let outcomes = ended.iter().map(|span| span["outcome"].as_str());
    assert_eq!(
        outcomes.collect::<Vec<_>>(),
        ["granted", "lock-busy", "lock-overloaded", "left", "lock-unavailable"]
    );
    assert_eq!((&*ended[1]["waited_ms"], &*ended[3]["waited_ms"]), ("2000", "3000"));
    for span in &ended {
        assert_eq!((&*span["policy"], &*span["mode"]), ("order", "write"));
        assert_eq!((&*span["route"], &*span["kind"]), ("/quick/{id}", "read_write"));
    }
    assert!(!format!("{ended:?}").contains(SECRET), "{ended:?}");
}

#[tokio::test(start_paused = true)]
async fn a_hold_span_has_its_end() {
    let spans = Spans::collect();
    let locks = LockClient::in_memory();
    ask(layer(&locks), "slow").await;
    ask(layer(&locks).max_hold(SECOND * 5), "slow").await;
    tokio::time::timeout(SECOND * 7, ask(layer(&locks), "slow")).await.unwrap_err();
    ask(layer(&locks).enforce(Enforce::Off), "slow").await;

    let ended = spans.ended("lock.hold");
    let reported = |index: usize, field: &str| ended[index].get(field).map(String::as_str);
    let ends: Vec<_> = (0..ended.len()).map(|index| reported(index, "end").unwrap()).collect();
    assert_eq!(ends, ["done", "lost", "cancelled", "done"]);
    assert_eq!((reported(0, "reason"), reported(1, "reason")), (None, Some("max-hold")));
    let held_ms: Vec<_> =
        (0..ended.len()).map(|index| reported(index, "held_ms").unwrap()).collect();
    assert_eq!(held_ms, ["20000", "5000", "7000", "20000"]);
    assert!(!format!("{ended:?}").contains(SECRET), "{ended:?}");
}

#[tokio::test(start_paused = true)]
async fn a_hold_until_the_body_has_ended_ends_with_it() {
    let spans = Spans::collect();
    let app = app(layer(&LockClient::in_memory()).hold_until(HoldUntil::Body));
    let path = format!("/body/{SECRET}");
    call(&app, "PUT", &path).await;
    let answer = app.clone().oneshot(request("PUT", &path)).await.unwrap();
    assert_eq!(spans.ended("lock.hold").len(), 1, "its body is still to come");
    drop(answer);
    let ended = spans.ended("lock.hold");
    assert_eq!([&*ended[0]["end"], &*ended[1]["end"]], ["done", "cancelled"]);
}

/// An answer to a `HEAD` has come to its end, whatever would have been its body.
#[tokio::test]
async fn an_answer_with_an_unread_body_is_not_cancelled() {
    let spans = Spans::collect();
    let lock = layer(&LockClient::in_memory()).hold_until(HoldUntil::Body);
    let app = Router::new().route("/whole/{id}", get(|| async { "whole" })).route_layer(lock);

    call(&app, "HEAD", "/whole/7").await;

    assert_eq!(spans.ended("lock.hold")[0]["end"], "done");
}
