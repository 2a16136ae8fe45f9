//! A loss that is only signalled: the handler decides.

use std::time::Duration;

use crate::common::{call, logs::Logs, metrics::Metrics};
use axum::{Router, routing::put};
use lock_tower::{LockClient, Locked, RequestLockLayer, errors::LostCause, settings::OnLost};

async fn finishes(lock: Locked) -> &'static str {
    assert_eq!(lock.lost().await.cause(), LostCause::MaxHold);
    assert!(!lock.is_held());
    tokio::time::sleep(Duration::from_secs(5)).await;
    "undone"
}

fn app(on_lost: OnLost) -> Router {
    let lock = RequestLockLayer::new(LockClient::in_memory(), "order:{id}").unwrap();
    let lock = lock.name("order").max_hold(Duration::from_secs(60)).on_lost(on_lost);
    Router::new()
        .route("/orders/{id}", put(finishes))
        .route("/quick/{id}", put(|| async { "done" }))
        .route_layer(lock)
}

const LOST: &str = r#"lock_lost_total{policy="order",cause="max-hold"}"#;

fn requests(outcome: &str) -> String {
    format!(r#"lock_requests_total{{policy="order",mode="write",outcome="{outcome}"}}"#)
}

#[tokio::test(start_paused = true)]
async fn the_handler_goes_on_and_the_answer_is_marked() {
    let (metrics, logs) = (Metrics::collect(), Logs::collect());

    let answer = call(&app(OnLost::Signal), "PUT", "/orders/7").await;

    assert_eq!((answer.status.as_u16(), &*answer.text), (200, "undone"));
    assert_eq!(answer.headers["lock-degraded"], "lost");
    assert_eq!(metrics.value(LOST), 1.0);
    assert_eq!(metrics.value(&requests("granted")), 1.0);
    let lines = logs.lines();
    assert!(
        lines.iter().any(|line| line.contains("WARN") && line.contains("continued")),
        "{lines:?}"
    );
    assert!(!logs.text().contains("order:7"), "{}", logs.text());
}

#[tokio::test(start_paused = true)]
async fn by_default_a_loss_cancels_and_counts_as_much() {
    let (metrics, logs) = (Metrics::collect(), Logs::collect());

    let answer = call(&app(OnLost::Cancel), "PUT", "/orders/7").await;

    answer.assert_problem(503, "lock-lost");
    assert!(!answer.headers.contains_key("lock-degraded"));
    assert_eq!(metrics.value(LOST), 1.0);
    assert_eq!(metrics.value(&requests("granted")), 1.0);
    assert_eq!(metrics.value(&requests("lock-lost")), 0.0, "one request counts once");
    assert!(!logs.text().contains("order:7"), "{}", logs.text());
}

#[tokio::test(start_paused = true)]
async fn a_kept_lock_is_not_marked() {
    let metrics = Metrics::collect();
    for on_lost in [OnLost::Signal, OnLost::Cancel] {
        let answer = call(&app(on_lost), "PUT", "/quick/7").await;
        assert!(!answer.headers.contains_key("lock-degraded"));
    }
    assert_eq!(metrics.value(LOST), 0.0);
}
