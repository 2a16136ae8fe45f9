//! Limits on how many requests run at once: permits around requests.

use std::{sync::Arc, time::Duration};

use axum::{Router, extract::Path, routing::put};
use lock_tower::{
    AcquireError, Fence, FencingToken, Kind, LockClient, LockError, Locked, OnStoreDown,
    RequestLockLayer, RequestScopeLayer, distributed_lock, settings::LockMode,
};
use tokio::sync::{Notify, mpsc};

use crate::common::{Answer, NEVER, call, logs::Logs, request, send};

struct World {
    locks: LockClient,
    app: Router,
    began: mpsc::UnboundedReceiver<Locked>,
    ends: Arc<Notify>,
}

fn layer(locks: &LockClient) -> RequestLockLayer {
    let layer = RequestLockLayer::new(locks.clone(), "exports:{tenant}").unwrap();
    layer.name("exports").semaphore(3).wait(Duration::ZERO)
}

/// A service whose requests work until they are ended one by one.
fn world(layer: impl FnOnce(&LockClient) -> RequestLockLayer) -> World {
    let locks = LockClient::in_memory();
    let (tell, began) = mpsc::unbounded_channel();
    let ends = Arc::<Notify>::default();
    let end = Arc::clone(&ends);
    let work = async move |lock: Locked| {
        tell.send(lock).unwrap();
        end.notified().await;
    };
    let app = Router::new().route("/exports/{tenant}", put(work)).route_layer(layer(&locks));
    World { locks, app, began, ends }
}

impl World {
    fn send(&self, tenant: &str) -> tokio::task::JoinHandle<Answer> {
        let (app, path) = (self.app.clone(), format!("/exports/{tenant}"));
        tokio::spawn(async move { call(&app, "PUT", &path).await })
    }

    async fn at_work(&mut self, tenant: &str) -> (tokio::task::JoinHandle<Answer>, Locked) {
        let sent = self.send(tenant);
        (sent, self.began.recv().await.unwrap())
    }

    async fn free(&self, tenant: &str) -> i64 {
        self.locks.semaphore(format!("exports:{tenant}"), 3).free_permits().await.unwrap()
    }
}

#[tokio::test]
async fn as_many_requests_run_as_there_are_permits() {
    let mut world = world(layer);
    let mut working = Vec::new();
    for _ in 0..3 {
        working.push(world.at_work("a").await.0);
    }
    let refused = world.send("a").await.unwrap().assert_problem(423, "lock-busy");
    assert_eq!(refused["kind"], "semaphore");
    assert_eq!(refused["permits"], 3);
    assert_eq!(refused["executed"], false);
    // Another tenant has its own permits.
    working.push(world.at_work("b").await.0);

    world.ends.notify_one();
    working.remove(0).await.unwrap();
    working.push(world.at_work("a").await.0);
    for _ in &working {
        world.ends.notify_one();
    }
    for sent in working {
        assert_eq!(sent.await.unwrap().status, 200);
    }
    while world.free("a").await < 3 || world.free("b").await < 3 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_request_takes_its_weight() {
    let mut world = world(|locks| layer(locks).weight(2));
    let (first, _) = world.at_work("a").await;
    assert_eq!(world.free("a").await, 1);
    world.send("a").await.unwrap().assert_problem(423, "lock-busy");
    world.ends.notify_one();
    assert_eq!(first.await.unwrap().status, 200);
    let (next, _) = world.at_work("a").await;
    world.ends.notify_one();
    assert_eq!(next.await.unwrap().status, 200);
}

#[tokio::test]
async fn a_dropped_request_returns_its_permits() {
    let mut world = world(layer);
    let (sent, lock) = world.at_work("a").await;
    assert!(lock.is_held());
    sent.abort();
    assert!(sent.await.unwrap_err().is_cancelled());
    while world.free("a").await < 3 {
        tokio::task::yield_now().await;
    }
    assert!(!lock.is_held());
}

#[tokio::test]
async fn a_handler_sees_its_permits() {
    let mut world = world(layer);
    let (sent, lock) = world.at_work("a").await;
    assert!(lock.is_held() && lock.unlocked().is_none());
    assert_eq!(lock.view().unwrap().kind(), Kind::Semaphore);
    assert!(lock.remaining() > Duration::from_secs(20));
    lock.ensure(Duration::from_secs(20)).await.unwrap();
    // No number tells which of several holders is late.
    assert_eq!(lock.fencing_token(), FencingToken::NONE);
    assert_eq!(lock.fencing_token_of("exports:a"), Some(FencingToken::NONE));
    let kept = lock.keep().await;
    assert!(matches!(kept, Err(AcquireError::InvalidOptions(_))), "{kept:?}");
    world.locks.force_release("exports:a").await.unwrap();
    world.ends.notify_one();
    sent.await.unwrap();
}

#[tokio::test]
async fn permits_that_are_lost_end_the_request() {
    let mut world = world(|locks| layer(locks).lease(Duration::from_millis(300)));
    let (sent, _) = world.at_work("a").await;
    world.locks.force_release("exports:a").await.unwrap();
    sent.await.unwrap().assert_problem(503, "lock-lost");
}

async fn misconfigured(app: Router, hint: &str) {
    let logs = Logs::collect();
    call(&app, "PUT", "/exports/a").await.assert_problem(500, "lock-misconfigured");
    let lines = logs.lines();
    assert!(lines.iter().any(|line| line.contains(hint)), "{hint}: {lines:?}");
}

#[tokio::test]
async fn mistakes_are_told_in_the_log() {
    let locks = LockClient::in_memory();
    let app = |layer: RequestLockLayer| {
        Router::new().route("/exports/{tenant}", put(async || ())).route_layer(layer)
    };
    misconfigured(app(layer(&locks).weight(4)), "4 permits of a semaphore that has 3").await;
    misconfigured(app(layer(&locks).weight(0)), "0 permits of a semaphore that has 3").await;
    misconfigured(app(layer(&locks).semaphore(0)), "semaphore without permits").await;
    misconfigured(app(layer(&locks).mode(LockMode::Read)), "no read mode").await;

    let fence = put(async |_: Fence| ());
    let fenced = Router::new().route("/exports/{tenant}", fence).route_layer(layer(&locks));
    misconfigured(fenced, "a semaphore has no token").await;
    let fence = put(async |fence: Option<Fence>| fence.is_some().to_string());
    let fenced = Router::new().route("/exports/{tenant}", fence).route_layer(layer(&locks));
    assert_eq!(call(&fenced, "PUT", "/exports/a").await.text, "false");
}

#[distributed_lock(
    key = "exports:{tenant}",
    kind = "semaphore",
    permits = 2,
    wait = "0s",
    name = "export"
)]
async fn export(Path(tenant): Path<String>, lock: Locked) -> String {
    format!("{tenant} {}", lock.is_held())
}

#[tokio::test]
async fn an_attribute_limits_its_handler() {
    let locks = LockClient::in_memory();
    let app = Router::new().route("/exports/{tenant}", put(export));
    let app = app.layer(RequestScopeLayer::new(locks.clone()));
    assert_eq!(call(&app, "PUT", "/exports/a").await.text, "a true");
    let _both = locks.semaphore("exports:a", 2).permits(2).acquire().await.unwrap();
    let refused = call(&app, "PUT", "/exports/a").await.assert_problem(423, "lock-busy");
    assert_eq!((&refused["lock"], &refused["permits"]), (&"export".into(), &2.into()));
    assert_eq!(call(&app, "PUT", "/exports/b").await.text, "b true");
}

#[distributed_lock(
    key = "worker",
    client = locks,
    kind = "semaphore",
    permits = 3,
    weight = 2,
    wait = "0s"
)]
async fn job(locks: &LockClient) -> Result<i64, LockError> {
    Ok(locks.semaphore("worker", 3).free_permits().await.unwrap())
}

#[tokio::test]
async fn an_attribute_limits_a_function() {
    let locks = LockClient::in_memory();
    assert_eq!(job(&locks).await.unwrap(), 1);
    let _two = locks.semaphore("worker", 3).permits(2).acquire().await.unwrap();
    let refused = job(&locks).await.unwrap_err();
    assert!(matches!(refused, LockError::Acquire(AcquireError::Busy(_))), "{refused}");
}

#[tokio::test]
async fn layer_and_attribute_take_permits_of_their_own() {
    let locks = LockClient::in_memory();
    let app = |permits| {
        let layer = RequestLockLayer::new(locks.clone(), "exports:{tenant}").unwrap();
        Router::new()
            .route("/exports/{tenant}", put(export))
            .route_layer(layer.semaphore(permits).wait(NEVER))
    };
    assert_eq!(call(&app(2), "PUT", "/exports/a").await.text, "a true");
    // The attribute counts two: its layer's permit, and another one.
    let _elsewhere = locks.semaphore("exports:b", 3).permit().acquire().await.unwrap();
    call(&app(2), "PUT", "/exports/b").await.assert_problem(423, "lock-busy");
}

#[tokio::test]
async fn a_store_that_is_down_leaves_permits_of_this_process() {
    use lock_conformance::{ConstantFaults, Delivery, faulty};
    let (store, link) = (lock_tower::MemoryStore::new(), Arc::<ConstantFaults>::default());
    let locks = faulty(LockClient::builder(), &store, Arc::clone(&link) as _);
    link.set(Delivery::after(NEVER));
    let handler = put(async |lock: Locked| format!("{:?}", lock.unlocked()));
    let layer = layer(&locks).on_store_down(OnStoreDown::Local);
    let app = Router::new().route("/exports/{tenant}", handler).route_layer(layer);
    assert_eq!(call(&app, "PUT", "/exports/a").await.text, "Some(Local)");
}

/// Requests of one key that count by two numbers, as tenants of two plans behind one proxy.
#[tokio::test(start_paused = true)]
async fn the_number_of_permits_may_depend_on_the_request() {
    let locks = LockClient::in_memory();
    let lock = RequestLockLayer::new(locks.clone(), "exports:{tenant}").unwrap();
    let lock =
        lock.semaphore_by(|request| if request.headers.contains_key("x-large") { 2 } else { 1 });
    let app = Router::new()
        .route("/exports/{tenant}", put(|| async { "done" }))
        .route_layer(lock.wait(Duration::ZERO));
    let _elsewhere = locks.semaphore("exports:a", 9).permit().acquire().await.unwrap();
    let small = call(&app, "PUT", "/exports/a").await.assert_problem(423, "lock-busy");
    assert_eq!(small["permits"], 1);
    let mut large = request("PUT", "/exports/a");
    large.headers_mut().insert("x-large", "1".parse().unwrap());
    assert_eq!(send(&app, large).await.status, 200);
}
