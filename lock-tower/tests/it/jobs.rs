//! Jobs that every replica starts and one runs.

use std::{
    sync::atomic::{AtomicUsize, Ordering},
    time::Duration,
};

use axum::{Router, routing::put};
use lock_conformance::{ConstantFaults, Delivery, faulty};
use lock_tower::{
    AcquireError, LockClient, LockError, MemoryStore, RequestLockLayer, distributed_lock,
};
use tokio::time::sleep;

use crate::common::{NEVER, call};

const SECOND: Duration = Duration::from_secs(1);

#[distributed_lock(
    key = "nightly",
    client = locks,
    wait = "0s",
    on_busy = "skip",
    hold_at_least = "5s"
)]
async fn nightly(locks: &LockClient, runs: &AtomicUsize) -> Result<Option<usize>, LockError> {
    Ok(Some(runs.fetch_add(1, Ordering::SeqCst)))
}

#[derive(Debug)]
enum JobError {
    Lock(LockError),
    Own,
}

impl From<LockError> for JobError {
    fn from(error: LockError) -> Self {
        Self::Lock(error)
    }
}

#[distributed_lock(key = "own", client = locks, wait = "0s", on_busy = "skip")]
async fn own(locks: &LockClient, fails: bool) -> Result<Option<()>, JobError> {
    if fails { Err(JobError::Own) } else { Ok(None) }
}

#[tokio::test(start_paused = true)]
async fn replicas_whose_clocks_differ_run_it_once() {
    let (store, runs) = (MemoryStore::new(), AtomicUsize::new(0));
    let replicas = [0, 1, 2].map(|_| LockClient::builder().in_memory_on(&store));
    let mut ran = Vec::new();
    for replica in &replicas {
        ran.push(nightly(replica, &runs).await.unwrap());
        sleep(SECOND).await;
    }
    assert_eq!(ran, [Some(0), None, None]);
    // The next night.
    sleep(SECOND * 60).await;
    assert_eq!(nightly(&replicas[2], &runs).await.unwrap(), Some(1));
}

#[tokio::test(start_paused = true)]
async fn only_a_busy_lock_skips() {
    let (store, link) = (MemoryStore::new(), std::sync::Arc::<ConstantFaults>::default());
    let locks = faulty(LockClient::builder(), &store, std::sync::Arc::clone(&link) as _);
    assert!(own(&locks, false).await.unwrap().is_none());
    assert!(matches!(own(&locks, true).await, Err(JobError::Own)));
    link.set(Delivery::after(NEVER));
    let down = own(&locks, false).await;
    let unavailable =
        matches!(down, Err(JobError::Lock(LockError::Acquire(AcquireError::Unavailable(_)))));
    assert!(unavailable, "{down:?}");
}

#[tokio::test(start_paused = true)]
async fn a_layer_keeps_its_lock_too() {
    let locks = LockClient::in_memory();
    let lock = RequestLockLayer::new(locks.clone(), "order:{id}").unwrap();
    let lock = lock.wait(Duration::ZERO).hold_at_least(SECOND * 5);
    let app = Router::new().route("/orders/{id}", put(async || "done")).route_layer(lock);
    assert_eq!(call(&app, "PUT", "/orders/7").await.text, "done");
    call(&app, "PUT", "/orders/7").await.assert_problem(423, "lock-busy");
    sleep(SECOND * 6).await;
    assert_eq!(call(&app, "PUT", "/orders/7").await.text, "done");
}
