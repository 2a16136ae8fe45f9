//! A request that finds its lock busy is skipped: it does not run, and its answer says so.

use std::{sync::Arc, time::Duration};

use axum::{Router, extract::Path, routing::put};
use http::StatusCode;
use lock_conformance::{ConstantFaults, Delivery, faulty};
use lock_tower::{
    AcquireError, LockClient, LockError, MemoryStore, OnStoreDown, Outcome, RequestLockLayer,
    distributed_lock,
    policies::Policies,
    settings::{LockMode, OnBusy},
    testing::TestLocks,
};
use tokio::time::Instant;

use crate::common::{Answer, NEVER, call, logs::Logs, metrics::Metrics, spans::Spans};

const SECOND: Duration = Duration::from_secs(1);

fn layer(locks: &LockClient) -> RequestLockLayer {
    let lock = RequestLockLayer::new(locks.clone(), "order:{id:u64}").unwrap();
    lock.name("order").on_busy(OnBusy::Skip)
}

fn app(lock: RequestLockLayer) -> Router {
    Router::new().route("/{id}", put(async || "ran")).route_layer(lock)
}

/// The answer to a request, and the seconds until it came.
async fn timed(app: &Router) -> (Answer, u64) {
    let began = Instant::now();
    let answer = call(app, "PUT", "/7").await;
    (answer, began.elapsed().as_secs())
}

#[tokio::test]
async fn a_write_that_is_skipped_beside_a_read_is_warned_of() {
    let locks = LockClient::in_memory();
    for (mode, is_warned_of) in [(LockMode::ByMethod, true), (LockMode::Write, false)] {
        let logs = Logs::collect();
        drop(app(layer(&locks).mode(mode)));
        let warned = logs.lines().iter().any(|line| line.contains("one that writes is skipped"));
        assert_eq!(warned, is_warned_of, "{mode:?}: {:?}", logs.lines());
    }
}

#[tokio::test(start_paused = true)]
async fn the_second_of_two_requests_does_not_run() {
    let (metrics, spans) = (Metrics::collect(), Spans::collect());
    let locks = LockClient::in_memory();
    let app = app(layer(&locks));
    let held = locks.write("order:7").acquire().await.unwrap();
    let (answer, waited) = timed(&app).await;
    let document = answer.assert_problem(409, "lock-skipped");
    assert_eq!(
        (&document["title"], &document["executed"]),
        (&"Already running".into(), &false.into())
    );
    assert!(!answer.headers.contains_key("retry-after"));
    assert_eq!(waited, 0, "the client's wait is for those that wait");
    let counted = r#"lock_requests_total{policy="order",mode="write",outcome="lock-skipped"}"#;
    assert_eq!(metrics.value(counted), 1.0);
    assert_eq!(spans.ended("lock.wait")[0]["outcome"], "lock-skipped");
    drop(held);
    assert_eq!(timed(&app).await.0.text, "ran");
}

#[tokio::test(start_paused = true)]
async fn a_wait_beside_it_comes_first() {
    let locks = LockClient::in_memory();
    let app = app(layer(&locks).wait(SECOND * 3));
    let held = locks.write("order:7").acquire().await.unwrap();
    let (answer, waited) = timed(&app).await;
    answer.assert_problem(409, "lock-skipped");
    assert_eq!(waited, 3);
    let (waiting, ()) = tokio::join!(timed(&app), async {
        tokio::time::sleep(SECOND).await;
        drop(held);
    });
    assert_eq!(waiting.0.text, "ran");
}

#[tokio::test(start_paused = true)]
async fn it_may_be_answered_as_a_success() {
    let locks = LockClient::in_memory();
    let _held = locks.write("order:7").acquire().await.unwrap();
    for status in 200..600 {
        let legal = StatusCode::from_u16(status).unwrap();
        let app = app(layer(&locks).answer_status(Outcome::Skipped, legal));
        let (answer, _) = timed(&app).await;
        if [204, 205, 304].contains(&status) {
            // Such a response has no body.
            assert_eq!((answer.status.as_u16(), &*answer.text), (status, ""));
            assert!(!answer.headers.contains_key("content-type"), "{status}");
        } else {
            assert_eq!(answer.assert_problem(status, "lock-skipped")["status"], status);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_function_may_answer_it() {
    let locks = LockClient::in_memory();
    let _held = locks.write("order:7").acquire().await.unwrap();
    let busy = async |_: lock_tower::request_lock::RejectedRequest| panic!("it is skipped");
    let lock =
        layer(&locks).answer(Outcome::Busy, busy).answer(Outcome::Skipped, async |skipped| {
            http::Response::new(format!("{:?}", skipped.outcome()).into())
        });
    assert_eq!(timed(&app(lock)).await.0.text, "Skipped");
}

/// A store that is silent, and a line that is full, say nothing about the work.
#[tokio::test(start_paused = true)]
async fn only_a_busy_lock_skips() {
    let (store, link) = (MemoryStore::new(), Arc::<ConstantFaults>::default());
    let locks = faulty(LockClient::builder(), &store, Arc::clone(&link) as _);
    let held = locks.write("order:7").acquire().await.unwrap();
    let full = app(layer(&locks).wait(SECOND).max_waiters(0));
    timed(&full).await.0.assert_problem(503, "lock-overloaded");
    link.set(Delivery::after(NEVER));
    let silent = app(layer(&locks));
    call(&silent, "PUT", "/8").await.assert_problem(503, "lock-unavailable");
    // A lock of this process alone, in place of the store's, can be busy too.
    let local = layer(&locks).on_store_down(OnStoreDown::Local);
    let mine = locks.clone();
    let nested = put(async move || {
        let again = layer(&mine).on_store_down(OnStoreDown::Local);
        let again = app(again);
        // Another request, in another task.
        let other = tokio::spawn(async move { call(&again, "PUT", "/8").await });
        other.await.unwrap().text
    });
    let outer = Router::new().route("/{id}", nested).route_layer(local);
    drop(held);
    let skipped: serde_json::Value =
        serde_json::from_str(&call(&outer, "PUT", "/8").await.text).unwrap();
    assert_eq!(skipped["type"], "urn:lock-tower:problem:lock-skipped");
}

#[distributed_lock(key = "order:{id}", name = "handler", on_busy = "skip", skipped_status = 202)]
async fn update(Path(id): Path<u64>) -> String {
    format!("ran {id}")
}

#[distributed_lock(key = "order:{id}", name = "function", client = locks, wait = "2s")]
async fn ship(locks: &LockClient, id: u64) -> Result<u64, LockError> {
    Ok(id)
}

#[distributed_lock(key = "order:{id}", name = "job", client = locks, on_busy = "skip")]
async fn export(locks: &LockClient, id: u64) -> Result<Option<u64>, LockError> {
    Ok(Some(id))
}

#[tokio::test(start_paused = true)]
async fn a_handler_under_an_attribute_is_skipped() {
    let locks = LockClient::in_memory();
    let app = Router::new().route("/{id}", put(update));
    let app = app.layer(lock_tower::RequestScopeLayer::new(locks.clone()));
    assert_eq!(timed(&app).await.0.text, "ran 7");
    let _held = locks.write("order:7").acquire().await.unwrap();
    let (answer, waited) = timed(&app).await;
    assert_eq!(answer.assert_problem(202, "lock-skipped")["status"], 202);
    assert_eq!(waited, 0);
}

/// The handler under these fields of a rule for it, while its lock is held.
async fn under(fields: &str) -> (Answer, u64) {
    let locks = TestLocks::new();
    let file = format!(
        "version = 1\n[[policy]]\nname = \"handler\"\nmatch = {{ attribute = \"handler\" }}\n{fields}\n"
    );
    let policies = Policies::builder(locks.client()).parse("locks.toml", &file).unwrap();
    let app = Router::new().route("/{id}", put(update)).route_layer(policies.layer());
    let _held = locks.hold("order:7").await;
    timed(&app).await
}

#[tokio::test(start_paused = true)]
async fn a_rule_says_whether_an_attributes_handler_is_skipped() {
    for (fields, status, problem, seconds) in [
        ("skipped_status = 208", 208, "lock-skipped", 0),
        ("wait = \"5s\"", 202, "lock-skipped", 5),
        ("on_busy = \"wait\"", 423, "lock-busy", 1),
        ("on_busy = \"fail\"", 423, "lock-busy", 0),
    ] {
        let (answer, waited) = under(fields).await;
        answer.assert_problem(status, problem);
        assert_eq!(waited, seconds, "{fields}");
    }
}

/// A function's type says what it returns: a rule changes how long it waits, and no more.
#[tokio::test(start_paused = true)]
async fn a_rule_for_a_function_changes_its_wait_alone() {
    let locks = TestLocks::new();
    let rule = |name: &str, fields: &str| {
        format!("[[policy]]\nname = \"{name}\"\nmatch = {{ attribute = \"{name}\" }}\n{fields}\n")
    };
    let rules = rule("function", "on_busy = \"skip\"") + &rule("job", "wait = \"5s\"");
    let policies = Policies::builder(locks.client());
    let policies = policies.parse("locks.toml", &format!("version = 1\n{rules}")).unwrap();
    let _held = locks.hold("order:7").await;
    let client = locks.client();
    let both = put(async move |Path(id): Path<u64>| {
        let began = Instant::now();
        let refused = ship(&client, id).await;
        assert!(matches!(refused, Err(LockError::Acquire(AcquireError::Busy(_)))), "{refused:?}");
        assert_eq!(began.elapsed(), Duration::ZERO);
        assert_eq!(export(&client, id).await.unwrap(), None);
        began.elapsed().as_secs().to_string()
    });
    let app = Router::new().route("/{id}", both).route_layer(policies.layer());
    assert_eq!(call(&app, "PUT", "/7").await.text, "5");
}

/// Without a `wait`, a function does not wait either.
#[tokio::test(start_paused = true)]
async fn a_function_is_skipped_at_once() {
    let locks = LockClient::in_memory();
    let _held = locks.write("order:7").acquire().await.unwrap();
    let began = Instant::now();
    assert_eq!(export(&locks, 7).await.unwrap(), None);
    assert_eq!(began.elapsed(), Duration::ZERO);
}
