//! Requests while the lock store does not answer.

use std::{sync::Arc, time::Duration};

use crate::common::{Answer, NEVER, call, gated_work, logs::Logs, metrics::Metrics};
use axum::{Router, extract::Path, routing::put};
use lock_conformance::{ConstantFaults, Delivery, faulty};
use lock_tower::{
    FencingToken, LockClient, LockError, Locked, MemoryStore, OnStoreDown, RequestLockLayer,
    RequestScopeLayer, distributed_lock, settings::Unlocked,
};
use tokio::sync::{Semaphore, mpsc};

struct World {
    store: MemoryStore,
    link: Arc<ConstantFaults>,
    locks: LockClient,
    app: Router,
    began: mpsc::UnboundedReceiver<Locked>,
    goes_on: Arc<Semaphore>,
}

fn world(on_store_down: Option<OnStoreDown>) -> World {
    let (store, link) = (MemoryStore::new(), Arc::<ConstantFaults>::default());
    let locks = faulty(LockClient::builder(), &store, Arc::clone(&link) as _);
    let mut lock = RequestLockLayer::new(locks.clone(), "order:{id}").unwrap();
    lock = lock.name("order").wait(Duration::ZERO);
    if let Some(on_store_down) = on_store_down {
        lock = lock.on_store_down(on_store_down);
    }
    let (work, began, goes_on) = gated_work("done");
    let app = Router::new()
        .route("/orders/{id}", put(work))
        .route("/twice/{id}", put(twice))
        .route_layer(lock);
    World { store, link, locks, app, began, goes_on }
}

#[distributed_lock(key = "order:{id}", name = "inner")]
async fn twice(Path(id): Path<u64>) -> String {
    format!("order {id}")
}

impl World {
    /// A request that is at work, and what it has of its lock.
    async fn at_work(&mut self, path: &'static str) -> (tokio::task::JoinHandle<Answer>, Locked) {
        let app = self.app.clone();
        let request = tokio::spawn(async move { call(&app, "PUT", path).await });
        (request, self.began.recv().await.unwrap())
    }
}

#[tokio::test]
async fn it_is_closed_by_default() {
    for on_store_down in [None, Some(OnStoreDown::Closed)] {
        let mut world = world(on_store_down);
        world.store.set_down(true);
        let answer = call(&world.app, "PUT", "/orders/7").await;
        answer.assert_problem(503, "lock-unavailable");
        assert!(!answer.headers.contains_key("lock-degraded"));
        assert!(world.began.try_recv().is_err());
    }
}

#[tokio::test]
async fn open_runs_without_a_lock_and_reports_it() {
    let (metrics, logs) = (Metrics::collect(), Logs::collect());
    let mut world = world(Some(OnStoreDown::Open));
    world.store.set_down(true);
    let (one, lock) = world.at_work("/orders/7").await;
    let (other, _) = world.at_work("/orders/7").await;

    assert_eq!(lock.unlocked(), Some(Unlocked::Open));
    assert_eq!(lock.fencing_token(), FencingToken::NONE);
    assert!(!lock.is_held() && lock.views().is_empty() && lock.view().is_none());
    assert!(lock.keep().await.is_err(), "there is nothing to keep");

    world.goes_on.add_permits(2);
    for request in [one, other] {
        let answer = request.await.unwrap();
        assert_eq!((answer.status.as_u16(), &*answer.text), (200, "done"));
        assert_eq!(answer.headers["lock-degraded"], "open");
    }
    let series = r#"lock_requests_total{policy="order",mode="write",outcome="open"}"#;
    assert_eq!(metrics.value(series), 2.0);
    let lines = logs.lines();
    let reported = lines.iter().filter(|line| line.contains("WARN") && line.contains("open"));
    assert_eq!(reported.count(), 2, "{lines:?}");
    assert!(!logs.text().contains("order:7"));
}

#[tokio::test]
async fn local_excludes_in_this_process_alone() {
    let metrics = Metrics::collect();
    let mut world = world(Some(OnStoreDown::Local));
    let replica = LockClient::builder().in_memory_on(&world.store);
    let _beside = replica.write("order:7").acquire().await.unwrap();
    world.store.set_down(true);

    let (request, lock) = world.at_work("/orders/7").await;
    assert_eq!(lock.unlocked(), Some(Unlocked::Local));
    assert_eq!(lock.fencing_token(), FencingToken::NONE, "one process knows no token");
    assert!(!lock.is_held() && lock.remaining() > Duration::ZERO);
    assert!(lock.views().is_empty() && lock.view().is_none(), "a view has a token");
    let refused = call(&world.app, "PUT", "/orders/7").await;
    refused.assert_problem(423, "lock-busy");
    world.goes_on.add_permits(1);
    let answer = request.await.unwrap();
    assert_eq!(answer.headers["lock-degraded"], "local");

    // Each request is counted once.
    let counted = |outcome: &str| {
        let labels = format!(r#"policy="order",mode="write",outcome="{outcome}""#);
        metrics.value(&format!("lock_requests_total{{{labels}}}"))
    };
    assert_eq!(["local", "lock-busy", "granted"].map(counted), [1.0, 1.0, 0.0]);
}

#[tokio::test]
async fn a_local_lock_is_reentrant_and_released() {
    let world = world(Some(OnStoreDown::Local));
    world.store.set_down(true);
    // The inner one is closed, as attributes are, and has no lock of the store to enter.
    call(&world.app, "PUT", "/twice/7").await.assert_problem(503, "lock-unavailable");

    let locks = LockClient::builder().in_memory_on(&world.store);
    let lock = RequestLockLayer::new(locks, "order:{id}").unwrap();
    let lock = lock.wait(Duration::ZERO).on_store_down(OnStoreDown::Local);
    let app = Router::new().route("/orders/{id}", put(|| async { "done" }));
    let app = app.route_layer(lock.clone().name("inner")).route_layer(lock);
    for _ in 0..2 {
        let answer = call(&app, "PUT", "/orders/7").await;
        assert_eq!(
            (&*answer.text, &answer.headers["lock-degraded"]),
            ("done", &"local".parse().unwrap())
        );
    }
}

#[tokio::test]
async fn a_store_that_is_back_is_used_again() {
    for on_store_down in [OnStoreDown::Open, OnStoreDown::Local] {
        let mut world = world(Some(on_store_down));
        world.store.set_down(true);
        world.goes_on.add_permits(1);
        let (request, _) = world.at_work("/orders/7").await;
        assert!(request.await.unwrap().headers.contains_key("lock-degraded"));
        world.store.set_down(false);
        while world.locks.health().await.breaker_open {
            tokio::task::yield_now().await;
        }

        let (request, lock) = world.at_work("/orders/7").await;

        assert!(lock.is_held() && lock.unlocked().is_none());
        let replica = LockClient::builder().in_memory_on(&world.store);
        assert!(replica.write("order:7").try_acquire().await.is_err());
        world.goes_on.add_permits(1);
        assert!(!request.await.unwrap().headers.contains_key("lock-degraded"));
    }
}

#[tokio::test]
async fn a_lock_that_is_busy_is_not_a_store_that_is_down() {
    let mut world = world(Some(OnStoreDown::Open));
    let _guard = world.locks.write("order:7").acquire().await.unwrap();
    call(&world.app, "PUT", "/orders/7").await.assert_problem(423, "lock-busy");
    assert!(world.began.try_recv().is_err());
}

#[tokio::test(start_paused = true)]
async fn shutdown_ends_local_locks_too() {
    let mut world = world(Some(OnStoreDown::Local));
    world.store.set_down(true);
    let (request, _) = world.at_work("/orders/7").await;
    let locks = world.locks.clone();
    let shutdown = tokio::spawn(async move { locks.shutdown(NEVER).await });
    while !world.locks.health().await.draining {
        tokio::task::yield_now().await;
    }
    tokio::task::yield_now().await;
    assert!(!shutdown.is_finished());

    call(&world.app, "PUT", "/orders/8").await.assert_problem(503, "lock-draining");

    // Requests that were sent before the store went down are released.
    world.store.set_down(false);
    assert!(!shutdown.is_finished());
    world.goes_on.add_permits(1);
    assert_eq!(request.await.unwrap().text, "done");
    shutdown.await.unwrap().unwrap();
}

/// An expired wait does not mean that the store is down: the lock may be held.
#[tokio::test(start_paused = true)]
async fn a_late_reply_to_the_last_try_is_not_a_down_store() {
    for on_store_down in [OnStoreDown::Open, OnStoreDown::Local] {
        let store = MemoryStore::new();
        let replica = LockClient::builder().in_memory_on(&store);
        let _held = replica.write("order:7").acquire().await.unwrap();
        let link = Arc::<ConstantFaults>::default();
        let locks = faulty(LockClient::builder(), &store, Arc::clone(&link) as _);
        let lock = RequestLockLayer::new(locks, "order:{id}").unwrap();
        let lock = lock.wait(Duration::from_millis(200)).on_store_down(on_store_down);
        let app = Router::new().route("/orders/{id}", put(|| async { "done" })).route_layer(lock);
        // The second try is under way when the wait is over.
        link.set(Delivery::after(Duration::from_millis(150)));

        let answer = call(&app, "PUT", "/orders/7").await;

        answer.assert_problem(503, "lock-unavailable");
    }
}

#[tokio::test(start_paused = true)]
async fn local_locks_exclude_local_holders_of_the_store_lock() {
    let mut world = world(Some(OnStoreDown::Local));
    let (first, lock) = world.at_work("/orders/7").await;
    world.store.set_down(true);
    let (other_key, beside) = world.at_work("/orders/8").await;
    assert_eq!(beside.unlocked(), Some(Unlocked::Local));

    let app = world.app.clone();
    let second = tokio::spawn(async move { call(&app, "PUT", "/orders/7").await });
    tokio::select! {
        answer = second => drop(answer.unwrap().assert_problem(503, "lock-unavailable")),
        began = world.began.recv() => panic!("two at a time: {:?}", began.unwrap().unlocked()),
    }

    assert!(lock.is_held());
    world.goes_on.add_permits(3);
    assert_eq!(first.await.unwrap().text, "done");
    assert_eq!(other_key.await.unwrap().text, "done");
    // A lock released in this process is free here, even if the store does not know yet.
    assert_eq!(call(&world.app, "PUT", "/orders/7").await.headers["lock-degraded"], "local");
}

/// A request enters its own lock as well while the store is down.
#[tokio::test]
async fn the_store_lock_holder_enters_a_local_lock() {
    let store = MemoryStore::new();
    let locks = LockClient::builder().in_memory_on(&store);
    let layer = RequestLockLayer::new(locks, "order:{id}").unwrap().wait(Duration::ZERO);
    let goes_down = axum::middleware::from_fn(move |request, next: axum::middleware::Next| {
        store.set_down(true);
        next.run(request)
    });
    let app = Router::new()
        .route("/orders/{id}", put(|| async { "done" }))
        .route_layer(layer.clone().on_store_down(OnStoreDown::Local).name("inner"))
        .route_layer(goes_down)
        .route_layer(layer);
    let answer = call(&app, "PUT", "/orders/7").await;
    assert_eq!(
        (&*answer.text, &answer.headers["lock-degraded"]),
        ("done", &"local".parse().unwrap())
    );
}

#[tokio::test(start_paused = true)]
async fn local_locks_are_as_the_client_is_set() {
    let store = MemoryStore::new();
    let wait = Duration::from_secs(5);
    let locks = LockClient::builder().wait(wait).in_memory_on(&store);
    let lock = RequestLockLayer::new(locks, "order:{id}").unwrap();
    let lock = lock.on_store_down(OnStoreDown::Local);
    let (tell, mut began) = mpsc::unbounded_channel();
    let work = async move || {
        tell.send(()).unwrap();
        std::future::pending::<()>().await;
    };
    let app = Router::new().route("/orders/{id}", put(work)).route_layer(lock);
    store.set_down(true);
    let first = app.clone();
    tokio::spawn(async move { call(&first, "PUT", "/orders/7").await });
    began.recv().await.unwrap();
    let asked_at = tokio::time::Instant::now();

    call(&app, "PUT", "/orders/7").await.assert_problem(423, "lock-busy");

    assert!(asked_at.elapsed() >= wait, "{:?}", asked_at.elapsed());
}

#[distributed_lock(key = "stock:{id}", client = locks)]
async fn stock(locks: &LockClient, id: u64) -> Result<u64, LockError> {
    Ok(id)
}

#[tokio::test(start_paused = true)]
async fn a_function_within_a_request_fails_fast() {
    let world = world(None);
    world.store.set_down(true);
    let locks = world.locks.clone();
    let calls = async move |Path(id): Path<u64>| stock(&locks, id).await.unwrap_err().to_string();
    let scope = RequestScopeLayer::new(world.locks.clone());
    let app = Router::new().route("/{id}", put(calls)).layer(scope);
    assert!(call(&app, "PUT", "/7").await.text.contains("set down"), "it was requested");
    assert!(call(&app, "PUT", "/7").await.text.contains("failing fast"), "nothing was sent again");
}

/// A request that learns too late that the store is down is not served either.
#[tokio::test(start_paused = true)]
async fn open_is_not_beyond_the_requests_deadline() {
    let mut world = world(Some(OnStoreDown::Open));
    let limit = Duration::from_millis(300);
    let deadline = move |mut request: axum::extract::Request| {
        let deadline = lock_tower::RequestDeadline::at(tokio::time::Instant::now() + limit);
        request.extensions_mut().insert(deadline);
        std::future::ready(request)
    };
    let app = world.app.clone().layer(axum::middleware::map_request(deadline));
    world.link.set(Delivery::after(limit * 2));
    world.store.set_down(true);
    let answer = tokio::spawn(async move { call(&app, "PUT", "/orders/7").await });
    tokio::select! {
        answer = answer => drop(answer.unwrap().assert_problem(503, "lock-overloaded")),
        _ = world.began.recv() => panic!("it began when its time was over"),
    }
}
