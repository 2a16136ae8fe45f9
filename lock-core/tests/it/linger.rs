//! Locks that outlast their work: `hold_at_least`, under a paused clock.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use lock_conformance::{CommandKind, ConstantFaults, Delivery, FaultPlan, faulty};
use lock_core::{AcquireError, InvalidOptions, LockClient, LostCause, MemoryStore, ReleaseError};
use tokio::time::{Instant, sleep};

const MILLISECOND: Duration = Duration::from_millis(1);
const SECOND: Duration = Duration::from_secs(1);
const LEASE: Duration = Duration::from_secs(30);

fn two() -> (MemoryStore, LockClient, LockClient) {
    let store = MemoryStore::new();
    let client = || LockClient::builder().in_memory_on(&store);
    (store.clone(), client(), client())
}

async fn is_busy(client: &LockClient) -> bool {
    match client.write("k").try_acquire().await {
        Ok(guard) => {
            guard.release().await.unwrap();
            false
        }
        Err(AcquireError::Busy(_)) => true,
        Err(other) => panic!("{other}"),
    }
}

#[tokio::test(start_paused = true)]
async fn it_is_held_until_the_time_is_over() {
    let (_, here, there) = two();
    let began = Instant::now();
    let guard = here.write("k").hold_at_least(SECOND * 100).acquire().await.unwrap();
    sleep(SECOND).await;
    drop(guard);
    assert_eq!(began.elapsed(), SECOND, "it does not wait");
    for client in [&here, &there] {
        assert!(is_busy(client).await);
    }
    // Renewed meanwhile, for longer than its lease.
    sleep(SECOND * 98).await;
    assert!(is_busy(&there).await);
    let next = there.write("k").wait(SECOND * 10).acquire().await.unwrap();
    assert!(began.elapsed() >= SECOND * 100 && began.elapsed() < SECOND * 101);
    next.release().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn work_that_takes_longer_ends_as_always() {
    let (_, here, there) = two();
    let guard = here.write("k").hold_at_least(SECOND).acquire().await.unwrap();
    sleep(SECOND * 2).await;
    guard.release().await.unwrap();
    assert!(!is_busy(&there).await);
}

#[tokio::test(start_paused = true)]
async fn a_release_returns_when_the_store_has_the_rest_of_the_time() {
    let (_, here, there) = two();
    let began = Instant::now();
    let guard = here.write("k").hold_at_least(SECOND * 5).acquire().await.unwrap();
    sleep(SECOND).await;
    guard.release().await.unwrap();
    assert_eq!(began.elapsed(), SECOND);
    assert_eq!(remaining(&there).await, Some(SECOND * 4));
    assert_eq!(here.health().await.holds, 0, "it is the store's from here on");
    assert!(is_busy(&here).await && is_busy(&there).await);
    sleep(SECOND * 4 + MILLISECOND).await;
    assert!(!is_busy(&there).await);
}

/// The rest of the lease of a holder in the store.
async fn remaining(client: &LockClient) -> Option<Duration> {
    client.inspect("k").await.unwrap().holders.first()?.remaining
}

#[tokio::test(start_paused = true)]
async fn a_lease_that_ends_then_anyway_costs_no_command() {
    for (wanted, renews, sent) in [(LEASE, SECOND, 0), (LEASE * 2, SECOND, 0), (LEASE, LEASE, 3)] {
        let recorded = Arc::new(Mutex::new(0));
        let counts = Arc::clone(&recorded);
        let store = MemoryStore::new();
        let here = faulty(LockClient::builder(), &store, Arc::new(Renewals(counts)));
        let guard = here.write("k").hold_at_least(wanted).acquire().await.unwrap();
        sleep(renews - MILLISECOND).await;
        guard.release().await.unwrap();
        assert_eq!(*recorded.lock().unwrap(), sent);
        assert_eq!(remaining(&here).await, Some(wanted + MILLISECOND - renews));
        assert_eq!(here.health().await.holds, 0);
    }
}

/// The store counts from when it grants the lock, the promise from when the answer came.
#[tokio::test(start_paused = true)]
async fn an_answer_that_came_late_takes_nothing_from_its_time() {
    let (store, link) = (MemoryStore::new(), Arc::<ConstantFaults>::default());
    let here = faulty(LockClient::builder(), &store, Arc::clone(&link) as _);
    let there = LockClient::builder().in_memory_on(&store);
    let late = SECOND / 5;
    link.set(Delivery { taken: Some(Duration::ZERO), answered: Some(late) });
    let guard = here.write("k").hold_at_least(LEASE).acquire().await.unwrap();
    link.set(Delivery::AT_ONCE);
    guard.release().await.unwrap();
    sleep(LEASE - late / 2).await;
    assert!(is_busy(&there).await);
}

/// It lingers again, for its longer time.
#[tokio::test(start_paused = true)]
async fn a_guard_that_enters_while_it_lingers_counts_too() {
    let (_, here, there) = two();
    // Another reader on the same lease keeps it from being left to the store.
    let (scope, beside) = (here.scope(), here.read("k").acquire().await.unwrap());
    let least = |time| scope.read("k").hold_at_least(time).acquire();
    let first = scope.read("k").acquire().await.unwrap();
    drop(least(SECOND * 5).await.unwrap());
    drop(first);
    sleep(SECOND).await;
    drop(least(SECOND * 20).await.unwrap());
    drop(beside);
    sleep(SECOND * 9).await;
    assert!(is_busy(&there).await, "the second one is for twenty seconds");
    sleep(SECOND * 12).await;
    assert!(!is_busy(&there).await);
}

/// Counts renewals.
#[derive(Debug)]
struct Renewals(Arc<Mutex<usize>>);

impl FaultPlan for Renewals {
    fn delivery(&self, kind: CommandKind) -> Delivery {
        *self.0.lock().unwrap() += usize::from(kind == CommandKind::Renew);
        Delivery::AT_ONCE
    }
}

#[tokio::test(start_paused = true)]
async fn what_the_store_did_not_confirm_is_tried_again() {
    let lost = Delivery { taken: Some(Duration::ZERO), answered: None };
    let late = Delivery { taken: Some(MILLISECOND * 1_200), answered: None };
    for delivery in [lost, late, Delivery { taken: None, answered: None }] {
        let (store, link) = (MemoryStore::new(), Arc::<ConstantFaults>::default());
        let here = faulty(LockClient::builder(), &store, Arc::clone(&link) as _);
        let there = LockClient::builder().in_memory_on(&store);
        let guard = here.write("k").hold_at_least(SECOND * 20).acquire().await.unwrap();
        link.set(delivery);
        let failed = guard.release().await.unwrap_err();
        assert!(matches!(failed, ReleaseError::Unavailable(_)), "{failed}");
        sleep(SECOND * 5).await;
        assert!(is_busy(&there).await);
        assert_eq!(here.health().await.holds, 1, "it is tried");
        link.set(Delivery::AT_ONCE);
        sleep(SECOND * 2).await;
        assert_eq!(here.health().await.holds, 0);
        assert!(remaining(&there).await.unwrap() < SECOND * 14);
        assert!(is_busy(&there).await);
        sleep(SECOND * 14).await;
        assert!(!is_busy(&there).await);
    }
}

#[tokio::test(start_paused = true)]
async fn while_the_store_does_not_answer_it_is_released_at_its_time() {
    let (store, here, there) = two();
    let guard = here.write("k").hold_at_least(SECOND * 5).acquire().await.unwrap();
    store.set_down(true);
    drop(guard);
    sleep(SECOND * 6).await;
    store.set_down(false);
    sleep(SECOND).await;
    assert!(!is_busy(&there).await);
    assert_eq!(here.health().await.holds, 0);
}

#[tokio::test(start_paused = true)]
async fn a_scope_waits_for_its_own_lock_too() {
    let (_, here, there) = two();
    let scope = here.scope();
    let lock = || scope.write("k").hold_at_least(SECOND * 5);
    lock().acquire().await.unwrap().release().await.unwrap();
    assert!(matches!(lock().try_acquire().await, Err(AcquireError::Busy(_))));
    // Before it is left to the store it may be entered again: its time counts from the first grant.
    sleep(SECOND * 6).await;
    drop(lock().acquire().await.unwrap());
    let again = lock().try_acquire().await.unwrap();
    sleep(SECOND * 8).await;
    assert!(again.is_held());
    again.release().await.unwrap();
    assert!(!is_busy(&there).await);
}

#[tokio::test(start_paused = true)]
async fn readers_share_no_lease_that_is_shortened() {
    let (_, here, there) = two();
    let first = here.read("k").hold_at_least(SECOND * 5).acquire().await.unwrap();
    let second = here.read("k").acquire().await.unwrap();
    first.release().await.unwrap();
    sleep(SECOND * 100).await;
    assert!(second.is_held());
    assert!(is_busy(&there).await);
    drop(second);
    sleep(SECOND).await;
    assert!(!is_busy(&there).await);
    // A reader that shares a lease already, and is to hold it for longer.
    let scope = here.scope();
    let first = scope.read("k").acquire().await.unwrap();
    let second = here.read("k").acquire().await.unwrap();
    let longer = scope.read("k").hold_at_least(SECOND * 5).acquire().await.unwrap();
    drop(first);
    longer.release().await.unwrap();
    drop(second);
    sleep(SECOND * 3).await;
    assert!(is_busy(&there).await);
    sleep(SECOND * 3).await;
    assert!(!is_busy(&there).await);
}

#[tokio::test(start_paused = true)]
async fn it_goes_to_no_waiter_of_the_process_before() {
    let (_, here, _) = two();
    let began = Instant::now();
    let guard = here.write("k").hold_at_least(SECOND * 5).acquire().await.unwrap();
    let next = tokio::spawn(here.write("k").wait(LEASE).acquire());
    tokio::task::yield_now().await;
    drop(guard);
    let next = next.await.unwrap().unwrap();
    assert!(began.elapsed() >= SECOND * 5, "{:?}", began.elapsed());
    drop(next);
}

#[tokio::test(start_paused = true)]
async fn only_the_last_guard_of_a_hold_counts() {
    let (_, here, there) = two();
    let scope = here.scope();
    let outer = scope.write("k").hold_at_least(SECOND * 5).acquire().await.unwrap();
    let inner = scope.write("k").acquire().await.unwrap();
    drop(outer);
    sleep(SECOND * 6).await;
    assert!(is_busy(&there).await, "the inner one holds it");
    drop(inner);
    sleep(SECOND).await;
    assert!(!is_busy(&there).await);
}

/// What the store has when the process is gone.
#[tokio::test(start_paused = true)]
async fn a_process_that_ends_leaves_it_held() {
    let (store, here, there) = two();
    let wanted = SECOND * 45;
    let job = here.write("k").hold_at_least(wanted).run(async {});
    job.await.unwrap();
    // Its tasks have ended with it: nothing renews and nothing releases.
    store.set_down(true);
    let left = LEASE;
    sleep(left).await;
    here.shutdown(Duration::ZERO).await.unwrap();
    store.set_down(false);
    assert!(is_busy(&there).await, "the lease is as long as that");
    sleep(wanted - left + SECOND).await;
    assert!(!is_busy(&there).await);
}

#[tokio::test(start_paused = true)]
async fn a_client_that_shuts_down_leaves_it_to_the_store() {
    let (_, here, there) = two();
    here.write("k").hold_at_least(SECOND * 20).run(async {}).await.unwrap();
    let began = Instant::now();
    here.shutdown(SECOND * 100).await.unwrap();
    assert_eq!(began.elapsed(), Duration::ZERO, "it waits for the store alone");
    assert_eq!(remaining(&there).await, Some(SECOND * 20));
    sleep(SECOND * 20 - MILLISECOND).await;
    assert!(is_busy(&there).await);
    sleep(MILLISECOND * 2).await;
    assert!(!is_busy(&there).await, "long before its lease would have ended");
}

#[tokio::test(start_paused = true)]
async fn a_guard_that_is_dropped_during_the_shutdown_is_left_too() {
    let (_, here, there) = two();
    let guard = here.write("k").hold_at_least(SECOND * 20).acquire().await.unwrap();
    let closing = here.clone();
    let shutdown = tokio::spawn(async move { closing.shutdown(SECOND * 100).await });
    tokio::task::yield_now().await;
    drop(guard);
    shutdown.await.unwrap().unwrap();
    assert!(is_busy(&there).await);
}

#[tokio::test(start_paused = true)]
async fn permits_several_locks_and_reads_stay_too() {
    let (_, here, there) = two();
    let least = SECOND * 5;
    drop(here.semaphore("s", 1).permit().hold_at_least(least).acquire().await.unwrap());
    drop(here.read("r").hold_at_least(least).acquire().await.unwrap());
    let both = here.multi_lock([here.write("a"), here.write("b")]);
    drop(both.hold_at_least(least).acquire().await.unwrap());
    let busy = async || {
        let semaphore = there.semaphore("s", 1).permit().try_acquire().await.is_err();
        let mut all = vec![semaphore];
        for key in ["r", "a", "b"] {
            all.push(there.write(key).try_acquire().await.is_err());
        }
        all
    };
    assert_eq!(busy().await, [true; 4]);
    sleep(least + SECOND).await;
    assert_eq!(busy().await, [false; 4]);
}

#[tokio::test(start_paused = true)]
async fn a_loss_ends_it() {
    let (_, here, there) = two();
    let guard = here.write("k").hold_at_least(SECOND * 100).acquire().await.unwrap();
    guard.release().await.unwrap();
    here.force_release("k").await.unwrap();
    assert!(!is_busy(&there).await);
    // While the store does not have the rest of the time yet.
    let guard = here.write("k").hold_at_least(SECOND * 20).acquire().await.unwrap();
    there.force_release("k").await.unwrap();
    let lost = guard.release().await.unwrap_err();
    assert!(
        matches!(&lost, ReleaseError::Lost(lost) if lost.cause() == LostCause::Refused),
        "{lost}"
    );
    assert!(!is_busy(&there).await);
    sleep(SECOND * 200).await;
    assert!(!is_busy(&there).await, "nothing of it is left");
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_kept_is_refused() {
    let (_, here, _) = two();
    let longer = here.write("k").hold_at_least(SECOND * 2).max_hold(SECOND).acquire().await;
    assert!(matches!(longer, Err(AcquireError::InvalidOptions(_))), "{longer:?}");
    let forever = here.write("k").hold_at_least(Duration::MAX).acquire().await;
    let Err(AcquireError::InvalidOptions(InvalidOptions { .. })) = &forever else {
        panic!("{forever:?}")
    };
    drop(here.write("k").hold_at_least(Duration::ZERO).acquire().await.unwrap());
    let exactly = here.write("other").hold_at_least(SECOND).max_hold(SECOND).acquire().await;
    drop(exactly.unwrap());
}
