//! Each outcome: status, headers and every member of the body.

use std::{future::ready, net::TcpListener, sync::Arc, time::Duration};

use crate::common::{Answer, NEVER, call, logs::Logs, request, send};
use axum::{Router, routing::any};
use futures_util::future::BoxFuture;
use http::{HeaderValue, Version};
use lock_tower::{
    Kind, LockClient, Mode, Outcome, RequestLockLayer,
    key::KeyRejection,
    settings::LockMode,
    store::{
        AcquireCommand, Acquired, LockStore, ReleaseCommand, Released, RenewCommand, Renewal,
        StoreFuture, StoreHealth, Unsupported,
    },
};
use tower::{Layer, ServiceExt};

fn layer(locks: &LockClient) -> RequestLockLayer {
    RequestLockLayer::new(locks.clone(), "order:{id:u64}")
        .unwrap()
        .name("order-write")
        .mode(LockMode::Write)
        .wait(Duration::ZERO)
}

fn router(layer: RequestLockLayer) -> Router {
    Router::new().route("/orders/{id}", any(|| async { "done" })).route_layer(layer)
}

/// The header is the exact time in whole seconds, rounded up.
fn assert_retry_after(answer: &Answer) -> u64 {
    let ms = answer.problem()["retry_after_ms"].as_u64().unwrap();
    let seconds: u64 = answer.headers["retry-after"].to_str().unwrap().parse().unwrap();
    assert_eq!(seconds, ms.div_ceil(1_000).max(1));
    assert!((10..=2_000).contains(&ms), "{ms}");
    ms
}

#[tokio::test]
async fn busy() {
    let logs = Logs::collect();
    let locks = LockClient::in_memory();
    let app = router(layer(&locks));
    let guard = locks.write("order:7").acquire().await.unwrap();
    let mut requests = request("PUT", "/orders/7");
    requests.headers_mut().insert("x-request-id", HeaderValue::from_static("a\"b"));

    let answer = send(&app, requests).await;

    let document = answer.assert_problem(423, "lock-busy");
    assert_eq!(document["status"], 423);
    assert_eq!(document["title"], "Resource is in use");
    let detail = document["detail"].as_str().unwrap();
    assert!(detail.contains("Nothing was done; you can repeat this request"), "{detail}");
    assert_eq!(document["lock"], "order-write");
    assert_eq!(document["mode"], "write");
    assert_eq!(document["executed"], false);
    assert_eq!(document["request_id"], "a\"b");
    let ms = assert_retry_after(&answer);
    assert!((750..=1_250).contains(&ms), "a second, jittered, as nothing was observed: {ms}");
    assert!(!answer.headers.contains_key("connection"));
    assert!(!answer.text.contains("order:7"), "the key must not leak");

    let lines = logs.lines();
    let [line] = &lines[..] else { panic!("one line: {lines:?}") };
    for part in
        ["INFO", "lock-busy", "order-write", "mode=\"write\"", "waited_ms=", "retry_after_ms="]
    {
        assert!(line.contains(part), "{part} in {line}");
    }
    assert!(!line.contains("order:7"), "{line}");

    drop(guard);
    assert_eq!(call(&app, "PUT", "/orders/7").await.text, "done");
    assert_eq!(logs.lines().len(), 1, "nothing to say about a request that got its lock");
}

#[tokio::test(start_paused = true)]
async fn busy_has_the_observed_hold_time() {
    let locks = LockClient::in_memory();
    let slow = any(|| tokio::time::sleep(Duration::from_millis(200)));
    let app = Router::new().route("/orders/{id}", slow).route_layer(layer(&locks));
    call(&app, "PUT", "/orders/1").await;
    let _guard = locks.write("order:7").acquire().await.unwrap();

    let answer = call(&app, "PUT", "/orders/7").await;

    answer.assert_problem(423, "lock-busy");
    let ms = assert_retry_after(&answer);
    assert!((150..=260).contains(&ms), "200 ms, jittered: {ms}");
}

#[tokio::test(start_paused = true)]
async fn busy_comes_only_after_the_wait() {
    let locks = LockClient::in_memory();
    let app = router(layer(&locks).wait(Duration::from_secs(7)));
    let _guard = locks.write("order:7").acquire().await.unwrap();
    let asked_at = tokio::time::Instant::now();

    call(&app, "PUT", "/orders/7").await.assert_problem(423, "lock-busy");

    assert_eq!(asked_at.elapsed().as_secs(), 7);
}

#[tokio::test]
async fn overloaded() {
    let locks = LockClient::builder().max_waiters(0).in_memory();
    let app = router(layer(&locks).wait(NEVER));
    let _guard = locks.write("order:7").acquire().await.unwrap();

    let answer = call(&app, "PUT", "/orders/7").await;

    let document = answer.assert_problem(503, "lock-overloaded");
    assert_eq!(document["executed"], false);
    assert_retry_after(&answer);
}

#[tokio::test]
async fn unavailable() {
    let logs = Logs::collect();
    // A port without a listener: it was free a moment ago.
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let locks = LockClient::builder().connect_lazy(&format!("redis://127.0.0.1:{port}/")).unwrap();
    let app = router(layer(&locks).wait(NEVER));

    let answer = call(&app, "PUT", "/orders/7").await;

    let document = answer.assert_problem(503, "lock-unavailable");
    assert_eq!(document["executed"], false);
    assert_eq!(document["lock"], "order-write");
    assert_retry_after(&answer);
    let lines = logs.lines();
    assert!(
        lines.iter().any(|line| line.contains("WARN") && line.contains("reason=")),
        "{lines:?}"
    );
}

#[tokio::test]
async fn draining() {
    let locks = LockClient::in_memory();
    let app = router(layer(&locks));
    locks.shutdown(NEVER).await.unwrap();

    let answer = call(&app, "PUT", "/orders/7").await;

    let document = answer.assert_problem(503, "lock-draining");
    assert_eq!(document["executed"], false);
    assert_eq!(answer.headers["connection"], "close");
    assert_retry_after(&answer);
}

#[tokio::test]
async fn draining_over_http2_has_no_connection_header() {
    let locks = LockClient::in_memory();
    let app = router(layer(&locks));
    locks.shutdown(NEVER).await.unwrap();
    let mut requests = request("PUT", "/orders/7");
    *requests.version_mut() = Version::HTTP_2;

    let answer = send(&app, requests).await;

    answer.assert_problem(503, "lock-draining");
    assert!(!answer.headers.contains_key("connection"));
}

#[tokio::test(start_paused = true)]
async fn lost() {
    let locks = LockClient::in_memory();
    let app = Router::new()
        .route("/orders/{id}", any(std::future::pending::<()>))
        .route_layer(layer(&locks).max_hold(Duration::from_secs(60)));

    let answer = call(&app, "PUT", "/orders/7").await;

    let document = answer.assert_problem(503, "lock-lost");
    assert_eq!(document["executed"], "unknown");
    let detail = document["detail"].as_str().unwrap();
    assert!(detail.contains("Some of it may have been done"), "{detail}");
    assert!(!answer.headers.contains_key("retry-after"));
    assert!(document.get("retry_after_ms").is_none());
}

#[tokio::test]
async fn key_missing() {
    let locks = LockClient::in_memory();
    let by_header = RequestLockLayer::with_key(locks, |parts| {
        let tenant = parts.headers.get("x-tenant").and_then(|tenant| tenant.to_str().ok());
        let tenant = tenant.ok_or(KeyRejection::missing("the header `x-tenant` is missing"))?;
        Ok(format!("tenant:{tenant}"))
    });
    let app = router(by_header);

    let answer = call(&app, "PUT", "/orders/7").await;

    let document = answer.assert_problem(400, "lock-key-missing");
    assert_eq!(document["executed"], false);
    assert_eq!(document["lock"], "request");
    let detail = document["detail"].as_str().unwrap();
    assert!(detail.contains(": the header `x-tenant` is missing. Nothing was done"), "{detail}");
    assert!(!answer.headers.contains_key("retry-after"));
}

#[tokio::test]
async fn key_invalid() {
    let locks = LockClient::in_memory();
    let app = router(layer(&locks));

    for odd in ["seven", "-7", "%00", "7%2F8", &"7".repeat(200)] {
        let answer = call(&app, "PUT", &format!("/orders/{odd}")).await;
        let document = answer.assert_problem(400, "lock-key-invalid");
        assert_eq!(document["executed"], false);
        let detail = document["detail"].as_str().unwrap();
        assert!(detail.contains("the value of `id`"), "{detail}");
        assert!(!detail.contains("seven"), "a value is not repeated: {detail}");
    }
    call(&app, "PUT", "/orders/%FF").await.assert_problem(400, "lock-key-invalid");
}

#[tokio::test]
async fn a_closures_text_that_is_no_key_is_the_clients_fault() {
    let app = router(RequestLockLayer::with_key(LockClient::in_memory(), |parts| {
        Ok(parts.uri.query().unwrap_or_default().to_owned())
    }));

    let answer = call(&app, "PUT", "/orders/7").await;

    answer.assert_problem(400, "lock-key-invalid");
    assert_eq!(call(&app, "PUT", "/orders/7?a").await.text, "done");
}

#[tokio::test]
async fn misconfigured() {
    let logs = Logs::collect();
    let locks = LockClient::in_memory();
    let app = router(layer(&locks).lease(Duration::from_millis(1)));

    let answer = call(&app, "PUT", "/orders/7").await;

    let document = answer.assert_problem(500, "lock-misconfigured");
    assert_eq!(document["executed"], false);
    assert!(!answer.headers.contains_key("retry-after"));
    let lines = logs.lines();
    let [start, line] = &lines[..] else { panic!("one at the start, one for it: {lines:?}") };
    for line in [start, line] {
        assert!(line.contains("ERROR") && line.contains("lease"), "{line}");
    }
    // A developer sees the mistake; a release build keeps it from clients.
    assert_eq!(answer.text.contains("1ms"), cfg!(debug_assertions), "{answer:?}");
}

/// Not only by the first request, which may come long after the start.
#[test]
fn a_lock_that_no_request_can_acquire_is_logged_at_the_start() {
    let second = Duration::from_secs(1);
    let locks = LockClient::in_memory();
    let lock = || layer(&locks);
    let session = LockClient::builder().store(Arc::new(Without(Some(second))));
    for (lock, reported) in [
        (lock().max_hold(second).hold_at_least(2 * second), "hold_at_least of 2s is longer"),
        (lock().max_hold(second).hold_at_least(second), ""),
        (lock().lease(Duration::from_millis(99)), "a lease of 99ms is out of bounds"),
        (lock().max_hold(Duration::MAX), "is out of bounds"),
        (lock().kind(Kind::Fair).mode(LockMode::Read), "a fair lock has no read mode"),
        (lock().semaphore(0), "a semaphore without permits"),
        (lock().semaphore(1_000_001), "at most 1000000 are allowed"),
        (lock().semaphore(2).weight(3), "3 permits of a semaphore that has 2"),
        (lock().semaphore(2).weight(2), ""),
        (lock().semaphore_by(|_| 3).weight(2), ""),
        (layer(&session), ""),
        (layer(&session).lease(second / 2), "a lease of 500ms: every lock has the lease"),
    ] {
        let logs = Logs::collect();
        // Twice: a layer is added to each route.
        let _ = [lock.layer(()), lock.layer(())];
        let errors = logs.lines().into_iter().filter(|line| line.contains("ERROR"));
        let errors: Vec<_> = errors.collect();
        assert_eq!(errors.len(), usize::from(!reported.is_empty()), "{reported}: {errors:?}");
        let line =
            |line: &String| line.contains("no request can acquire") && line.contains(reported);
        assert!(errors.iter().all(line), "{errors:?}");
    }
}

#[cfg(feature = "policy")]
#[test]
fn a_rule_that_no_request_can_acquire_is_logged_when_it_comes_into_force() {
    let logs = Logs::collect();
    let file = "version = 1\n[[policy]]\nname = \"order\"\nmatch = { path = \"/orders/{id}\" }\n\
                key = \"order:{id:u64}\"\nlease = \"5s\"\n";
    let session = Without(Some(Duration::from_secs(30)));
    let locks = LockClient::builder().store(Arc::new(session));
    let _ = lock_tower::policies::Policies::builder(locks).parse("locks.toml", file).unwrap();
    let lines = logs.lines();
    let reported = |line: &&String| line.contains("no request can acquire this lock");
    let line = lines.iter().find(reported).unwrap_or_else(|| panic!("{lines:?}"));
    assert!(line.contains("ERROR") && line.contains("policy=\"order\""), "{line}");
}

/// A store that has no kind of lock at all, and the lease of its session, if it has one.
#[derive(Debug)]
struct Without(Option<Duration>);

impl LockStore for Without {
    fn acquire(&self, command: AcquireCommand) -> StoreFuture<'_, Acquired> {
        let what = format!("{} locks", command.kind);
        Box::pin(ready(Err(Unsupported::new(what).into())))
    }

    fn release(&self, _: ReleaseCommand) -> StoreFuture<'_, Released> {
        Box::pin(ready(Ok(Released::Gone)))
    }

    fn renew(&self, _: Mode, _: Vec<RenewCommand>) -> StoreFuture<'_, Vec<Renewal>> {
        Box::pin(ready(Ok(Vec::new())))
    }

    fn session_lease(&self) -> Option<Duration> {
        self.0
    }

    fn health(&self) -> BoxFuture<'_, StoreHealth> {
        Box::pin(ready(StoreHealth::new("without", Ok(Duration::ZERO))))
    }
}

#[tokio::test]
async fn a_kind_that_the_store_lacks_is_misconfigured() {
    let logs = Logs::collect();
    let app = router(layer(&LockClient::builder().store(Arc::new(Without(None)))));

    let answer = call(&app, "PUT", "/orders/7").await;

    answer.assert_problem(500, "lock-misconfigured");
    assert_eq!(answer.text.contains("support"), cfg!(debug_assertions), "{answer:?}");
    let lines = logs.lines();
    let reported = |line: &String| line.contains("does not support read_write locks");
    assert!(lines.iter().any(reported), "{lines:?}");
}

#[tokio::test]
async fn a_request_id_of_any_length_is_not_repeated() {
    let locks = LockClient::in_memory();
    let app = router(layer(&locks));
    let mut requests = request("PUT", "/orders/seven");
    let long = HeaderValue::from_str(&"x".repeat(129)).unwrap();
    requests.headers_mut().insert("x-request-id", long);

    let document = send(&app, requests).await.problem();

    assert!(document.get("request_id").is_none(), "{document}");
}

#[tokio::test]
async fn other_middleware_can_read_the_outcome() {
    let locks = LockClient::in_memory();
    let app = router(layer(&locks));

    let refused = app.clone().oneshot(request("PUT", "/orders/seven")).await.unwrap();
    let outcome = refused.extensions().get::<Outcome>().unwrap();
    assert_eq!(*outcome, Outcome::KeyInvalid);
    assert_eq!(outcome.as_str(), "lock-key-invalid");
    assert_eq!(outcome.status(), refused.status());

    let done = app.oneshot(request("PUT", "/orders/7")).await.unwrap();
    assert!(done.extensions().get::<Outcome>().is_none());
}
