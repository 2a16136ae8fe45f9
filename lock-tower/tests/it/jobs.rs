//! Jobs that every replica starts and one runs.

use std::{
    sync::atomic::{AtomicUsize, Ordering},
    time::Duration,
};

use axum::{Router, routing::put};
use lock_conformance::{ConstantFaults, Delivery, faulty};
use lock_tower::{
    AcquireError, LockClient, LockError, MemoryStore, RequestLockLayer, distributed_lock,
    locks::{SlotAttempt, SlotRun, Slots},
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

/// Returns the number of the attempt, or fails with it.
#[distributed_lock(key = "hourly:{id}", client = locks, wait = "0s", once_per = "1h")]
async fn hourly(locks: &LockClient, id: u8, fails: bool) -> Result<Option<u32>, HourlyError> {
    let attempt = SlotAttempt::current().unwrap();
    let inside = locks.write(format!("hourly:{id}")).try_acquire().await.unwrap();
    assert_eq!(inside.fencing_token(), attempt.fencing_token());
    if fails { Err(HourlyError::Failed(attempt.number())) } else { Ok(Some(attempt.number())) }
}

#[derive(Debug)]
enum HourlyError {
    Failed(u32),
    Lock(LockError),
}

impl From<LockError> for HourlyError {
    fn from(error: LockError) -> Self {
        Self::Lock(error)
    }
}

async fn failed(locks: &LockClient) -> u32 {
    let failed = hourly(locks, 1, true).await;
    let Err(HourlyError::Failed(number)) = failed else { panic!("{failed:?}") };
    number
}

#[tokio::test(start_paused = true)]
async fn a_job_succeeds_once_per_slot() {
    let store = MemoryStore::new();
    let replicas = [0, 1, 2].map(|_| LockClient::builder().in_memory_on(&store));
    for (number, replica) in (1..).zip(&replicas) {
        assert_eq!(failed(replica).await, number);
        // The job's own lock is released in the background.
        sleep(SECOND).await;
    }
    assert_eq!(hourly(&replicas[0], 1, false).await.unwrap(), Some(4));
    for replica in &replicas {
        assert_eq!(hourly(replica, 1, true).await.unwrap(), None);
        // Another job.
        hourly(replica, 2, true).await.unwrap_err();
        sleep(SECOND).await;
    }
    assert!(SlotAttempt::current().is_none());
}

#[tokio::test(start_paused = true)]
async fn a_job_that_runs_elsewhere_is_skipped() {
    let store = MemoryStore::new();
    let [here, there] = [0, 1].map(|_| LockClient::builder().in_memory_on(&store));
    let guard = there.write("hourly:1").acquire().await.unwrap();
    assert_eq!(hourly(&here, 1, false).await.unwrap(), None);
    guard.release().await.unwrap();
    assert_eq!(hourly(&here, 1, false).await.unwrap(), Some(1));
    let job = there.write("hourly:3").once_per(Slots::every(SECOND * 60 * 60));
    let beside = job.run(async |_| {
        assert_eq!(hourly(&here, 3, false).await.unwrap(), None);
        Ok::<_, ()>(())
    });
    assert_eq!(beside.await.unwrap(), SlotRun::Ran(()));
    assert_eq!(hourly(&here, 3, false).await.unwrap(), None);
}

#[tokio::test(start_paused = true)]
async fn a_job_whose_locks_are_not_acquired_fails() {
    let (store, link) = (MemoryStore::new(), std::sync::Arc::<ConstantFaults>::default());
    let locks = faulty(LockClient::builder(), &store, std::sync::Arc::clone(&link) as _);
    link.set(Delivery::after(NEVER));
    let down = hourly(&locks, 1, false).await;
    let unavailable =
        matches!(down, Err(HourlyError::Lock(LockError::Acquire(AcquireError::Unavailable(_)))));
    assert!(unavailable, "{down:?}");
    locks.shutdown(SECOND).await.ok();
    let draining = hourly(&locks, 1, false).await;
    let is_draining =
        matches!(draining, Err(HourlyError::Lock(LockError::Acquire(AcquireError::Draining))));
    assert!(is_draining, "{draining:?}");
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
