//! A lock that is kept for work that continues after the request.

use std::time::Duration;

use crate::common::{NEVER, call, gated_work};
use axum::{Router, routing::put};
use http::StatusCode;
use lock_tower::{
    AcquireError, LockClient, Locked, MemoryStore, RequestLockLayer, errors::LostCause,
    locks::MultiGuard, settings::OnDisconnect,
};
use tokio::sync::mpsc;

struct World {
    store: MemoryStore,
    locks: LockClient,
    app: Router,
    /// From each `PUT /keep`, what it has kept.
    kept: mpsc::UnboundedReceiver<MultiGuard>,
    /// From each `PUT /look`, its lock.
    seen: mpsc::UnboundedReceiver<Locked>,
}

fn world() -> World {
    let store = MemoryStore::new();
    let locks = LockClient::builder().in_memory_on(&store);
    let lock = RequestLockLayer::new(locks.clone(), "order:{id}").unwrap();
    let lock = lock.wait(Duration::ZERO);
    let (keep, kept) = mpsc::unbounded_channel();
    let (show, seen) = mpsc::unbounded_channel();
    let keeps = async move |lock: Locked| {
        keep.send(lock.keep().await.unwrap()).unwrap();
        StatusCode::ACCEPTED
    };
    let looks = async move |lock: Locked| show.send(lock).unwrap();
    let app = Router::new()
        .route("/keep/{id}", put(keeps))
        .route("/look/{id}", put(looks))
        .route_layer(lock);
    World { store, locks, app, kept, seen }
}

#[tokio::test]
async fn the_next_request_waits_for_the_task() {
    let mut world = world();
    assert_eq!(call(&world.app, "PUT", "/keep/7").await.status, 202);
    let guard = world.kept.recv().await.unwrap();

    assert!(guard.is_held());
    call(&world.app, "PUT", "/look/7").await.assert_problem(423, "lock-busy");
    drop(guard);

    assert_eq!(call(&world.app, "PUT", "/look/7").await.status, 200);
}

#[tokio::test(start_paused = true)]
async fn it_is_renewed_for_as_long_as_the_task_takes() {
    let mut world = world();
    call(&world.app, "PUT", "/keep/7").await;
    let guard = world.kept.recv().await.unwrap();
    let work = tokio::time::sleep(Duration::from_secs(10 * 60));
    guard.protect(work).await.unwrap();
    assert!(guard.is_held());
}

#[tokio::test(start_paused = true)]
async fn the_task_is_notified_of_a_loss() {
    let mut world = world();
    call(&world.app, "PUT", "/keep/7").await;
    let guard = world.kept.recv().await.unwrap();
    world.store.restart();
    let lost = guard.protect(std::future::pending::<()>()).await.unwrap_err();
    assert_eq!(lost.cause(), LostCause::Refused);
}

#[tokio::test(start_paused = true)]
async fn shutdown_waits_for_the_task() {
    let mut world = world();
    call(&world.app, "PUT", "/keep/7").await;
    let guard = world.kept.recv().await.unwrap();
    let locks = world.locks.clone();
    let mut shutdown = tokio::spawn(async move { locks.shutdown(NEVER).await });
    let early = tokio::time::timeout(Duration::from_secs(60), &mut shutdown).await;
    assert!(early.is_err());
    drop(guard);
    shutdown.await.unwrap().unwrap();
}

#[tokio::test]
async fn after_the_request_there_is_nothing_to_keep() {
    let mut world = world();
    call(&world.app, "PUT", "/look/7").await;
    let lock = world.seen.recv().await.unwrap();

    let refused = lock.keep().await;

    assert!(
        matches!(&refused, Err(AcquireError::Lost(lost)) if lost.cause() == LostCause::Released)
    );
    drop(world.locks.write("order:7").try_acquire().await.unwrap());
}

/// Not even a request whose acquisition was pending when the first request ended.
#[tokio::test]
async fn a_keep_overtaken_by_the_end_keeps_nothing() {
    let store = MemoryStore::new();
    let locks = LockClient::builder().in_memory_on(&store);
    let (looks, mut seen, goes_on) = gated_work("");
    let lock = RequestLockLayer::new(locks, "order:{id}").unwrap();
    let lock = lock.on_disconnect(OnDisconnect::Finish);
    let app = Router::new().route("/look/{id}", put(looks)).route_layer(lock);
    let request = tokio::spawn(async move { call(&app, "PUT", "/look/7").await });
    let lock = seen.recv().await.unwrap();
    let mut keeps = std::pin::pin!(lock.keep());
    let first =
        std::future::poll_fn(|context| std::task::Poll::Ready(keeps.as_mut().poll(context)));
    let first = first.await;
    goes_on.add_permits(1);
    request.await.unwrap();

    // Either it was quick enough and has it, or it has nothing at all.
    let kept = match first {
        std::task::Poll::Ready(kept) => kept,
        std::task::Poll::Pending => keeps.await,
    };
    match kept {
        Ok(guard) => assert!(lock.is_held() && guard.is_held()),
        Err(error) => assert!(matches!(error, AcquireError::Lost(_)), "{error}"),
    }
}

#[tokio::test]
async fn a_lock_of_no_request_is_not_kept() {
    let locks = LockClient::in_memory();
    let guard = locks.write("order:7").acquire().await.unwrap();
    let refused = Locked::of("order", &guard).keep().await;
    assert!(matches!(refused, Err(AcquireError::InvalidOptions(_))));
}
