//! Metrics, spans and rules of locks that no request acquires.

use std::time::Duration;

use axum::{Router, routing::put};
use lock_tower::{
    LockClient, LockError, RequestLockLayer, distributed_lock, metrics::MetricsObserver,
    policies::Policies,
};
use tokio::time::{Instant, sleep};

use crate::common::{call, metrics::Metrics, spans::Spans};

const SECOND: Duration = Duration::from_secs(1);

/// A part of every key, which only the store may see.
const SECRET: &str = "jane-roe";

#[distributed_lock(key = "report:{tenant}", name = "report", client = locks, wait = "2s")]
async fn report(locks: &LockClient, tenant: &str) -> Result<usize, LockError> {
    sleep(SECOND * 3).await;
    Ok(tenant.len())
}

#[distributed_lock(key = "cut:{tenant}", name = "cut", client = locks, max_hold = "1s")]
async fn cut(locks: &LockClient, tenant: &str) -> Result<usize, LockError> {
    sleep(SECOND * 3).await;
    Ok(tenant.len())
}

#[distributed_lock(
    all(semaphore("limit:{one}", permits = 2), semaphore("limit:{other}", permits = 3)),
    name = "limits",
    client = locks
)]
async fn limited(locks: &LockClient, one: &str, other: &str) -> Result<usize, LockError> {
    Ok(one.len() + other.len())
}

fn observed() -> LockClient {
    LockClient::builder().observer(MetricsObserver::new()).in_memory()
}

fn requests(policy: &str, outcome: &str) -> String {
    format!(r#"lock_requests_total{{policy="{policy}",mode="write",outcome="{outcome}"}}"#)
}

#[tokio::test(start_paused = true)]
async fn a_function_is_measured_and_traced_like_a_request() {
    let (metrics, spans) = (Metrics::collect(), Spans::collect());
    // An observer does not count it a second time.
    let locks = observed();
    let (one, other) = tokio::join!(report(&locks, SECRET), report(&locks, SECRET));
    assert!(one.is_ok() && matches!(other, Err(LockError::Acquire(_))));
    assert!(matches!(cut(&locks, SECRET).await, Err(LockError::Lost(_))));
    assert!(matches!(report(&locks, "").await, Err(LockError::Value(_))));
    // One key with two numbers of permits.
    assert!(matches!(limited(&locks, "x", "x").await, Err(LockError::Acquire(_))));

    let expected = [
        (requests("report", "granted"), 1.0),
        (requests("report", "lock-busy"), 1.0),
        (requests("report", "lock-key-invalid"), 1.0),
        (requests("cut", "granted"), 1.0),
        (requests("limits", "lock-misconfigured"), 1.0),
        (r#"lock_wait_seconds{policy="report",mode="write"}"#.to_owned(), 2.0),
        (r#"lock_hold_seconds{policy="report",mode="write"}"#.to_owned(), 1.0),
        (r#"lock_lost_total{policy="cut",cause="max-hold"}"#.to_owned(), 1.0),
        (r#"lock_hold_seconds{policy="cut",mode="write"}"#.to_owned(), 1.0),
        (r#"lock_waiters{policy="report"}"#.to_owned(), 0.0),
    ];
    for (series, value) in expected {
        assert_eq!(metrics.value(&series), value, "{series}");
    }
    assert!(metrics.all().iter().all(|metric| !metric.series.contains(SECRET)));
    assert!(metrics.all().iter().all(|metric| !metric.series.contains("unnamed")));

    let waits = spans.ended("lock.wait");
    let outcomes: Vec<_> = waits.iter().map(|span| &*span["outcome"]).collect();
    assert_eq!(outcomes, ["granted", "lock-busy", "granted"]);
    let holds = spans.ended("lock.hold");
    let ends: Vec<_> = holds.iter().map(|span| (&*span["policy"], &*span["end"])).collect();
    assert_eq!(ends, [("report", "done"), ("cut", "lost")]);
    assert!(!format!("{waits:?} {holds:?}").contains(SECRET));
}

#[tokio::test(start_paused = true)]
async fn a_function_that_is_dropped_was_cancelled() {
    let (metrics, spans) = (Metrics::collect(), Spans::collect());
    let locks = LockClient::in_memory();
    tokio::time::timeout(SECOND, report(&locks, SECRET)).await.unwrap_err();
    drop(locks.write(format!("report:{SECRET}")).acquire().await.unwrap());
    assert_eq!(spans.ended("lock.hold")[0]["end"], "cancelled");
    assert_eq!(metrics.value(r#"lock_hold_seconds{policy="report",mode="write"}"#), 1.0);
}

#[tokio::test(start_paused = true)]
async fn direct_acquisitions_are_measured_by_an_observer() {
    let metrics = Metrics::collect();
    let locks = observed();
    assert!(metrics.all().iter().any(|metric| metric.series == "lock_reconnects_total{}"));
    let named = || locks.write(format!("k:{SECRET}")).name("job").wait(SECOND * 60);
    let held = named().acquire().await.unwrap();
    let behind = [named(), named()].map(|named| tokio::spawn(named.acquire()));
    sleep(SECOND).await;
    locks.read(format!("k:{SECRET}")).try_acquire().await.unwrap_err();
    drop(held);
    for waiter in behind {
        drop(waiter.await.unwrap().unwrap());
    }
    named().max_hold(SECOND).acquire().await.unwrap().lost().await;

    let refused = r#"lock_requests_total{policy="unnamed",mode="read",outcome="lock-busy"}"#;
    let expected = [
        (requests("job", "granted"), 4.0),
        (refused.to_owned(), 1.0),
        (r#"lock_wait_seconds{policy="job",mode="write"}"#.to_owned(), 4.0),
        (r#"lock_hold_seconds{policy="job",mode="write"}"#.to_owned(), 4.0),
        (r#"lock_lost_total{policy="job",cause="max-hold"}"#.to_owned(), 1.0),
        (r#"lock_handovers_total{policy="job"}"#.to_owned(), 1.0),
    ];
    for (series, value) in expected {
        assert_eq!(metrics.value(&series), value, "{series}");
    }
    assert!(metrics.all().iter().all(|metric| !metric.series.contains(SECRET)));
}

#[tokio::test(start_paused = true)]
async fn a_request_is_counted_once_under_an_observer() {
    let metrics = Metrics::collect();
    let lock = RequestLockLayer::new(observed(), "order:{id}").unwrap().name("order");
    let app = Router::new().route("/orders/{id}", put(async || "done")).route_layer(lock);
    call(&app, "PUT", "/orders/7").await;
    assert_eq!(metrics.value(&requests("order", "granted")), 1.0);
    assert_eq!(metrics.value(r#"lock_hold_seconds{policy="order",mode="write"}"#), 1.0);
}

#[tokio::test(start_paused = true)]
async fn a_policy_file_changes_a_job() {
    let metrics = Metrics::collect();
    let locks = LockClient::in_memory();
    let policies = |fields: &str| {
        let rule = "version = 1\n[[policy]]\nname = 'nightly'\nmatch = { attribute = 'report' }";
        let text = format!("{rule}\n{fields}\n");
        Policies::builder(locks.clone()).parse("locks.toml", &text).unwrap()
    };
    let held = locks.write(format!("report:{SECRET}")).acquire().await.unwrap();
    let began = Instant::now();
    policies("wait = '7s'").run(report(&locks, SECRET)).await.unwrap_err();
    assert_eq!(began.elapsed(), SECOND * 7, "not the 2 s of the attribute");
    assert_eq!(metrics.value(&requests("nightly", "lock-busy")), 1.0, "by the rule's name");
    // Outside of it the attribute's own settings apply.
    let began = Instant::now();
    report(&locks, SECRET).await.unwrap_err();
    assert_eq!(began.elapsed(), SECOND * 2);
    policies("enforce = 'off'").run(report(&locks, SECRET)).await.unwrap();
    assert_eq!(metrics.value(&requests("nightly", "off")), 1.0);
    drop(held);
    // The lock of a rule that signals a loss is no different: a function has no answer to keep.
    let lost = policies("max_hold = '1s'\non_lost = 'signal'").run(report(&locks, SECRET)).await;
    assert!(matches!(lost, Err(LockError::Lost(_))), "{lost:?}");
}
