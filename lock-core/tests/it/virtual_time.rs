//! Renewal, loss and waiting on the in-memory store under a paused clock.

use std::{sync::Arc, time::Duration};

use lock_conformance::{ConstantFaults, Delivery, FaultPlan, faulty};
use lock_core::{AcquireError, LeaseState, LockClient, LockKey, LostCause, MemoryStore, Mode};
use tokio::time::{Instant, advance, sleep};

const SECOND: Duration = Duration::from_secs(1);

fn two_clients() -> (MemoryStore, LockClient, LockClient) {
    let store = MemoryStore::new();
    let client = || LockClient::builder().in_memory_on(&store);
    let (here, there) = (client(), client());
    (store, here, there)
}

#[tokio::test(start_paused = true)]
async fn a_hold_outlives_its_lease_by_renewal() {
    let (_, here, there) = two_clients();
    let guard = here.write("k").lease(SECOND).acquire().await.unwrap();
    assert_eq!(guard.state(), LeaseState::Held);
    sleep(SECOND * 20).await;
    assert_eq!(guard.state(), LeaseState::Renewed);
    assert!(guard.remaining() > SECOND / 2);
    assert!(matches!(there.write("k").try_acquire().await, Err(AcquireError::Busy(_))));
    guard.release().await.unwrap();
    there.write("k").try_acquire().await.unwrap().release().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn without_renewal_the_holder_knows_first() {
    let (_, here, there) = two_clients();
    let guard = here.write("k").lease(SECOND).renew(false).acquire().await.unwrap();
    let started = Instant::now();
    let lost = guard.lost().await;
    assert_eq!(lost.cause(), LostCause::Expired);
    assert_eq!(started.elapsed().as_millis(), 950);
    assert!(!guard.is_held());
    assert_eq!(guard.remaining(), Duration::ZERO);
    let next = there.write("k").wait(SECOND).acquire().await.unwrap();
    assert!(next.fencing_token() > guard.fencing_token());
    assert!(guard.release().await.is_err());
}

/// The store may have executed the command as soon as it was sent.
#[tokio::test(start_paused = true)]
async fn a_lease_counts_from_when_its_command_was_sent() {
    let link = Arc::<ConstantFaults>::default();
    let plan = Arc::clone(&link) as Arc<dyn FaultPlan>;
    let client = faulty(LockClient::builder(), &MemoryStore::new(), plan);
    link.set(Delivery::after(SECOND / 4));
    let guard = client.write("k").lease(SECOND).renew(false).acquire().await.unwrap();
    assert_eq!(guard.remaining().as_millis(), 700);
}

#[tokio::test(start_paused = true)]
async fn a_removed_lock_is_noticed_at_the_next_renewal() {
    let (store, here, _) = two_clients();
    let guard = here.write("k").lease(SECOND * 3).acquire().await.unwrap();
    let started = Instant::now();
    store.remove(&LockKey::try_from("k").unwrap());
    assert_eq!(guard.lost().await.cause(), LostCause::Refused);
    assert!(started.elapsed() <= SECOND + Duration::from_millis(10));
}

#[tokio::test(start_paused = true)]
async fn max_hold_ends_a_hold_and_frees_the_lock() {
    let (_, here, there) = two_clients();
    let guard = here.write("k").max_hold(SECOND * 5).acquire().await.unwrap();
    let waiter = tokio::spawn(async move {
        let guard = there.write("k").wait(SECOND * 20).acquire().await.unwrap();
        (Instant::now(), guard)
    });
    let started = Instant::now();
    assert_eq!(guard.lost().await.cause(), LostCause::MaxHold);
    assert_eq!(started.elapsed(), SECOND * 5);
    let (granted, _guard) = waiter.await.unwrap();
    assert!(granted - started < SECOND * 6);
}

#[tokio::test(start_paused = true)]
async fn a_hold_is_renewed_until_its_longest_time() {
    let (_, here, _) = two_clients();
    let guard = here.write("k").lease(SECOND).max_hold(SECOND * 5).acquire().await.unwrap();
    let started = Instant::now();
    assert_eq!(guard.lost().await.cause(), LostCause::MaxHold);
    assert_eq!(started.elapsed(), SECOND * 5);
}

#[tokio::test(start_paused = true)]
async fn what_is_not_to_be_renewed_does_not_come_along_with_others() {
    let (_, here, _) = two_clients();
    let renewed = here.write("a").lease(SECOND * 3).acquire().await.unwrap();
    let (lease, started) = (Duration::from_millis(1_100), Instant::now());
    let let_run = here.write("b").lease(lease).renew(false).acquire().await.unwrap();
    // The other is renewed 45 ms before, and takes along what is due within 100 ms.
    assert_eq!(let_run.lost().await.cause(), LostCause::Expired);
    assert_eq!(started.elapsed(), lease - lease / 20);
    assert_eq!(renewed.state(), LeaseState::Renewed);
}

#[tokio::test(start_paused = true)]
async fn a_wait_ends_on_time() {
    let (_, here, there) = two_clients();
    let _guard = here.write("k").acquire().await.unwrap();
    let started = Instant::now();
    let refused = there.write("k").wait(SECOND * 3).acquire().await;
    assert!(matches!(refused, Err(AcquireError::Busy(busy)) if busy.waited() == SECOND * 3));
    assert_eq!(started.elapsed(), SECOND * 3);
}

#[tokio::test(start_paused = true)]
async fn a_stopped_process_runs_not_one_step_more() {
    let (_, here, _) = two_clients();
    let guard = here.write("k").lease(SECOND).acquire().await.unwrap();
    let mut steps = 0;
    let work = async {
        loop {
            steps += 1;
            // As if the process were stopped: time passes and no task runs.
            if steps == 3 {
                advance(SECOND * 2).await;
            }
            tokio::task::yield_now().await;
        }
    };
    let ended: Result<(), _> = guard.protect(work).await;
    assert_eq!(ended.unwrap_err().cause(), LostCause::Expired);
    assert_eq!(steps, 3);
}

#[tokio::test(start_paused = true)]
async fn a_waiting_writer_is_let_in_between_readers() {
    let (_, here, there) = two_clients();
    // Five readers that overlap at all times.
    let mut readers = tokio::task::JoinSet::new();
    for start in 0..5 {
        let here = here.clone();
        readers.spawn(async move {
            sleep(Duration::from_millis(10) * start).await;
            for _ in 0..60 {
                let guard = here.read("k").wait(SECOND * 5).acquire().await.unwrap();
                sleep(Duration::from_millis(50)).await;
                guard.release().await.unwrap();
            }
        });
    }
    sleep(Duration::from_millis(200)).await;
    let started = Instant::now();
    let guard = there.write("k").wait(SECOND * 5).acquire().await.unwrap();
    assert!(started.elapsed() <= Duration::from_millis(60), "{:?}", started.elapsed());
    drop(guard);
    while let Some(done) = readers.join_next().await {
        done.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn nothing_is_left_of_a_dropped_acquisition() {
    let (_, here, there) = two_clients();
    let guard = here.read("k").acquire().await.unwrap();
    {
        let waiting = there.write("k").wait(SECOND * 60).acquire();
        assert!(tokio::time::timeout(SECOND, waiting).await.is_err());
    }
    // The writer's place was removed with it: a reader enters at once.
    let started = Instant::now();
    here.read("k").acquire().await.unwrap().release().await.unwrap();
    let other = LockClient::in_memory();
    drop(other);
    assert!(started.elapsed() < SECOND / 10);
    guard.release().await.unwrap();
    assert!(!here.is_locked("k", Mode::Read).await.unwrap());
    there.shutdown(SECOND).await.unwrap();
    here.shutdown(SECOND).await.unwrap();
    assert!(matches!(here.read("k").acquire().await, Err(AcquireError::Draining)));
}

#[tokio::test(start_paused = true)]
async fn a_signal_reports_a_loss_when_the_guard_is_gone() {
    let (store, here, _) = two_clients();
    let guard = here.write("k").acquire().await.unwrap();
    let lost = guard.lost();
    store.remove(guard.key());
    guard.protect(std::future::pending::<()>()).await.unwrap_err();
    drop(guard);
    // The releaser drops the hold before the signal is checked.
    sleep(SECOND).await;
    let reported = tokio::time::timeout(SECOND, lost).await.expect("reported");
    assert_eq!(reported.cause(), LostCause::Refused);
}
