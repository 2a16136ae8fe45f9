//! The metrics, name by name; no key is ever in them.

use std::{collections::BTreeSet, time::Duration};

use crate::common::{
    NEVER, call,
    logs::Logs,
    metrics::{Metric, Metrics},
};
use axum::{Router, routing::put};
use lock_tower::{
    Enforce, LockClient, MemoryStore, OnStoreDown, Outcome, RequestLockLayer,
    metrics::{ClientMetrics, MetricsObserver},
    policies::Policies,
    settings::Unlocked,
};
use metrics_util::MetricKind;
use tower::Layer;

/// A part of every key, which only the store may see.
const SECRET: &str = "jane-roe";

fn layer(locks: &LockClient) -> RequestLockLayer {
    RequestLockLayer::new(locks.clone(), "order:{id}").unwrap().name("order")
}

fn app(lock: RequestLockLayer) -> Router {
    let slow = || async {
        tokio::time::sleep(Duration::from_secs(20)).await;
        "done"
    };
    Router::new()
        .route("/quick/{id}", put(|| async { "done" }))
        .route("/slow/{id}", put(slow))
        .route_layer(lock)
}

/// A policy file that is read, changed, and then broken.
fn reloads() {
    const RULE: &str = "version = 1\n[[policy]]\nname = 'a'\nmatch = { path = '/a' }\nkey = 'a'\n";
    let path = std::env::temp_dir().join(format!("lock-tower-metrics-{}", std::process::id()));
    std::fs::write(&path, RULE).unwrap();
    let policies = Policies::builder(LockClient::in_memory()).read(&path).unwrap();
    std::fs::write(&path, format!("{RULE}wait = '2s'\n")).unwrap();
    assert_eq!(policies.reload().unwrap().number, 2);
    std::fs::write(&path, "version = 2").unwrap();
    policies.reload().unwrap_err();
    std::fs::remove_file(&path).unwrap();
}

async fn quick(lock: RequestLockLayer) {
    call(&app(lock), "PUT", &format!("/quick/{SECRET}")).await;
}

/// Requests that between them meet with everything that is measured.
async fn everything() {
    let store = MemoryStore::new();
    let locks = LockClient::builder().in_memory_on(&store);
    // Granted, renewed, and then lost.
    let slow = app(layer(&locks).max_hold(Duration::from_secs(30)));
    let path = format!("/slow/{SECRET}");
    let requests = [call(&slow, "PUT", &path), call(&slow, "PUT", &path)];
    futures_util::future::join_all(requests).await;
    let lost = app(layer(&locks).max_hold(Duration::from_secs(5)));
    call(&lost, "PUT", &path).await.assert_problem(503, "lock-lost");
    let lost = app(layer(&locks).renew(false).lease(Duration::from_secs(5)));
    call(&lost, "PUT", &path).await.assert_problem(503, "lock-lost");
    // Handed over by the first of two that waited.
    let guard = locks.write(format!("order:{SECRET}")).acquire().await.unwrap();
    let ends = async {
        tokio::time::sleep(Duration::from_millis(100)).await;
        drop(guard);
    };
    tokio::join!(quick(layer(&locks)), quick(layer(&locks)), ends);
    // Refused.
    let guard = locks.write(format!("order:{SECRET}")).acquire().await.unwrap();
    quick(layer(&locks)).await;
    quick(layer(&locks).max_waiters(0)).await;
    quick(layer(&locks).lease(Duration::ZERO)).await;
    quick(RequestLockLayer::with_key(locks.clone(), |_| Ok("\n")).name("order")).await;
    let missing =
        |_: &http::request::Parts| Err::<&str, _>(lock_tower::key::KeyRejection::missing("gone"));
    quick(RequestLockLayer::with_key(locks.clone(), missing).name("order")).await;
    // Tried out, beside each other.
    let shadow = app(layer(&locks).enforce(Enforce::Shadow));
    let requests = [call(&shadow, "PUT", &path), call(&shadow, "PUT", &path)];
    futures_util::future::join_all(requests).await;
    quick(layer(&locks).enforce(Enforce::Off)).await;
    drop(guard);
    // Without the store.
    store.set_down(true);
    quick(layer(&locks)).await;
    quick(layer(&locks).on_store_down(OnStoreDown::Open)).await;
    quick(layer(&locks).on_store_down(OnStoreDown::Local)).await;
    store.set_down(false);
    locks.shutdown(NEVER).await.unwrap();
    quick(layer(&locks)).await;
}

/// A scope that holds `first` and waits for `second`.
async fn nested(locks: LockClient, first: &str, second: &str) {
    let scope = locks.scope();
    let work = async {
        let _first = locks.write(first).acquire().await.unwrap();
        tokio::time::sleep(Duration::from_millis(100)).await;
        let _ = locks.write(second).refuse_deadlock(true).wait(NEVER).acquire().await;
    };
    scope.run(work).await;
}

/// A client that meets with everything that is recorded of clients. It is recorded in the middle of
/// that, when its gauges are not zero.
async fn client_metrics() {
    let store = MemoryStore::new();
    let locks = LockClient::builder().in_memory_on(&store);
    let metrics = ClientMetrics::new(locks.clone());
    tokio::join!(nested(locks.clone(), "a", "b"), nested(locks.clone(), "b", "a"));
    let _readers = tokio::join!(locks.read("r").acquire(), locks.read("r").acquire());
    let _leader = tokio::spawn(locks.leader("l").run(async |_| std::future::pending::<()>().await));
    let _guard = locks.write("k").acquire().await.unwrap();
    tokio::time::sleep(Duration::from_secs(11)).await;
    let _waiting = tokio::spawn(locks.write("k").wait(NEVER).acquire());
    tokio::time::sleep(Duration::from_millis(1)).await;
    store.set_down(true);
    assert!(locks.write("other").acquire().await.is_err());
    metrics.record();
}

const DOCUMENTED: &str = include_str!("../../src/telemetry/metrics.md");

/// Name, kind and the names of the labels, as the documentation has them.
fn documented() -> Vec<(&'static str, MetricKind, Vec<&'static str>)> {
    let rows = DOCUMENTED.lines().filter(|row| row.starts_with("| `lock_"));
    rows.map(|row| {
        let cells: Vec<_> = row.trim_matches('|').split('|').map(str::trim).collect();
        let kind = match cells[1] {
            "counter" => MetricKind::Counter,
            "gauge" => MetricKind::Gauge,
            _ => MetricKind::Histogram,
        };
        let labels = cells[3].split(", ").map(|label| label.trim_matches('`'));
        (cells[0].trim_matches('`'), kind, labels.filter(|label| !label.is_empty()).collect())
    })
    .collect()
}

/// `name{one="..",two=".."}`, taken apart.
fn parts(series: &str) -> (&str, Vec<&str>) {
    let (name, labels) = series.trim_end_matches('}').split_once('{').unwrap();
    (name, labels.split(',').filter_map(|label| Some(label.split_once('=')?.0)).collect())
}

#[test]
fn the_documentation_has_every_name_in_the_code() {
    let code = include_str!("../../src/telemetry/metrics.rs");
    let names = code.split('"').filter(|text| text.starts_with("lock_") && !text.contains(' '));
    let documented = documented().into_iter().map(|(name, ..)| name);
    assert_eq!(
        names.filter(|name| *name != "lock_tower").collect::<BTreeSet<_>>(),
        documented.collect()
    );
}

#[tokio::test(start_paused = true)]
async fn each_metric_is_measured_with_its_labels() {
    let metrics = Metrics::collect();
    everything().await;
    reloads();
    let _ = MetricsObserver::new();
    client_metrics().await;
    let all = metrics.all();
    for (name, kind, labels) in documented() {
        let of_name = |metric: &&Metric| parts(&metric.series).0 == name;
        let series: Vec<_> = all.iter().filter(of_name).collect();
        // Waiters are gone by now, a store in memory has no connection to lose, and no request was under
        // the rules that were read again.
        let is_zero =
            ["lock_waiters", "lock_reconnects_total", "lock_policy_matched"].contains(&name);
        let touched = series.iter().any(|metric| metric.value >= 1.0 || is_zero);
        assert!(touched, "nothing emits {name}");
        for metric in series {
            assert_eq!((metric.kind, &parts(&metric.series).1), (kind, &labels), "{metric:?}");
        }
    }
}

/// A rate knows of the first event only if zero was seen before it.
#[tokio::test(start_paused = true)]
async fn counters_are_there_before_there_is_anything_to_count() {
    let metrics = Metrics::collect();
    let counters = || {
        let all = metrics.all().into_iter().filter(|metric| metric.kind == MetricKind::Counter);
        all.map(|metric| metric.series).collect::<BTreeSet<_>>()
    };
    let _ = app(layer(&LockClient::in_memory()));
    let before = counters();
    assert!(before.len() > 20 && metrics.all().iter().all(|metric| metric.value == 0.0));
    let causes = DOCUMENTED.lines().find(|row| row.starts_with("| `cause` |")).unwrap();
    for cause in causes.split('`').skip(3).step_by(2) {
        let series = format!(r#"lock_lost_total{{policy="order",cause="{cause}"}}"#);
        assert!(before.contains(&series), "{series}");
    }
    everything().await;
    assert_eq!(counters().difference(&before).collect::<Vec<_>>(), Vec::<&String>::new());
}

/// Axum puts a layer around a handler again for every connection, and for every request of a router
/// whose state was not given yet.
#[tokio::test(start_paused = true)]
async fn counters_begin_once_for_each_lock() {
    let lock = layer(&LockClient::in_memory());
    let first = Metrics::collect();
    let app = app(lock.clone());
    assert!(!first.all().is_empty());
    drop(first);

    let again = Metrics::collect();
    call(&app, "PUT", "/quick/7").await;
    let outcomes = again.all().into_iter().filter(|metric| metric.series.contains("outcome"));
    assert_eq!(outcomes.count(), 1, "more metrics were touched than the request counts");
    drop(again);

    let other = Metrics::collect();
    let _ = lock.name("other").layer(());
    assert!(other.all().iter().all(|metric| metric.series.contains("other")));
    assert!(!other.all().is_empty(), "another lock has its own");
}

#[tokio::test(start_paused = true)]
async fn each_way_a_request_can_go_is_counted() {
    let metrics = Metrics::collect();
    everything().await;
    let outcomes = [
        Outcome::Busy,
        Outcome::Overloaded,
        Outcome::Unavailable,
        Outcome::Draining,
        Outcome::KeyMissing,
        Outcome::KeyInvalid,
        Outcome::Misconfigured,
    ];
    let unlocked = [Unlocked::Shadow, Unlocked::Off, Unlocked::Open, Unlocked::Local];
    let ways = outcomes.map(Outcome::as_str).into_iter().chain(unlocked.map(Unlocked::as_str));
    for way in ways.chain(["granted"]) {
        let series =
            format!(r#"lock_requests_total{{policy="order",mode="write",outcome="{way}"}}"#);
        assert!(metrics.value(&series) >= 1.0, "{series}");
    }
    for cause in ["max-hold", "expired"] {
        let series = format!(r#"lock_lost_total{{policy="order",cause="{cause}"}}"#);
        assert_eq!(metrics.value(&series), 1.0, "{series}");
    }
    assert!(metrics.value(r#"lock_handovers_total{policy="order"}"#) >= 1.0);
}

#[tokio::test(start_paused = true)]
async fn waiters_are_counted_as_long_as_they_wait() {
    const WAITERS: &str = r#"lock_waiters{policy="order"}"#;
    let metrics = Metrics::collect();
    let locks = LockClient::in_memory();
    let guard = locks.write(format!("order:{SECRET}")).acquire().await.unwrap();
    let app = app(layer(&locks).wait(NEVER));
    let path = format!("/quick/{SECRET}");
    let requests: Vec<_> = (0..3)
        .map(|_| {
            let (app, path) = (app.clone(), path.clone());
            tokio::spawn(async move { call(&app, "PUT", &path).await })
        })
        .collect();
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert_eq!(metrics.value(WAITERS), 3.0);

    for request in requests.iter().take(2) {
        request.abort();
    }
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert_eq!(metrics.value(WAITERS), 1.0);

    drop(guard);
    futures_util::future::join_all(requests).await;
    assert_eq!(metrics.value(WAITERS), 0.0);
    let waits = r#"lock_wait_seconds{policy="order",mode="write"}"#;
    assert_eq!(metrics.value(waits), 1.0, "a client that left has not waited for an answer");
}

/// The number of series depends on the policies alone: keys and clients add none.
#[tokio::test(start_paused = true)]
async fn two_hundred_keys_are_as_many_series_as_one() {
    let (metrics, logs) = (Metrics::collect(), Logs::collect());
    let app = app(layer(&LockClient::in_memory()));
    let series = || metrics.all().into_iter().map(|metric| metric.series).collect::<BTreeSet<_>>();
    call(&app, "PUT", &format!("/quick/{SECRET}-0")).await;
    let one = series();
    for n in 1..200 {
        call(&app, "PUT", &format!("/quick/{SECRET}-{n}")).await;
    }
    assert_eq!(series(), one);
    assert_eq!(
        metrics.value(r#"lock_requests_total{policy="order",mode="write",outcome="granted"}"#),
        200.0
    );
    assert!(!one.iter().any(|series| series.contains(SECRET)), "{one:?}");
    assert!(!logs.text().contains(SECRET));
}

#[tokio::test(start_paused = true)]
async fn no_key_is_in_any_series_or_line() {
    let (metrics, logs) = (Metrics::collect(), Logs::collect());
    everything().await;
    let reported = logs.text();
    assert!(reported.contains("lock-busy") && reported.contains("lock lost"), "{reported}");
    assert!(!reported.contains(SECRET), "{reported}");
    assert!(metrics.all().iter().all(|metric| !metric.series.contains(SECRET)));
}

#[tokio::test(start_paused = true)]
async fn clients_of_one_process_are_added_up() {
    let metrics = Metrics::collect();
    let clients = [LockClient::in_memory(), LockClient::in_memory()];
    let both = clients.each_ref().map(|client| ClientMetrics::new(client.clone()));
    for client in &clients {
        drop(client.write("k").acquire().await.unwrap());
    }
    let _held = clients[1].write("k").acquire().await.unwrap();
    // Twice: what was recorded before is not recorded again.
    for _ in 0..2 {
        both.iter().for_each(ClientMetrics::record);
    }
    assert_eq!(metrics.value(r#"lock_store_command_seconds{operation="acquire"}"#), 3.0);
    assert_eq!(metrics.value("lock_holds{}"), 1.0);
}

#[tokio::test(start_paused = true)]
async fn a_leader_is_1_while_it_leads() {
    let metrics = Metrics::collect();
    let store = MemoryStore::new();
    let clients = [(); 2].map(|()| LockClient::builder().in_memory_on(&store));
    let both = clients.each_ref().map(|client| ClientMetrics::new(client.clone()));
    let value = |name: &str| {
        both.iter().for_each(ClientMetrics::record);
        metrics.value(&format!("lock_leader{{policy=\"{name}\"}}"))
    };
    let guard = clients[1].fenced("k").acquire().await.unwrap();
    let leaders = clients.each_ref().map(|client| {
        let leader = client.leader("k").name("reconciler");
        tokio::spawn(leader.run(async |_| std::future::pending::<()>().await))
    });
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(value("reconciler"), 0.0);
    drop(guard);
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(value("reconciler"), 1.0);
    let [one, other] = leaders;
    one.abort();
    other.abort();
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(value("reconciler"), 0.0);
}
