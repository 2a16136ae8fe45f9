//! Locks that outlast their work: `hold_at_least`, under a paused clock.

use std::time::Duration;

use lock_core::{AcquireError, InvalidOptions, LockClient, LostCause, MemoryStore};
use tokio::time::{Instant, sleep};

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
async fn a_release_returns_at_once_and_the_lock_stays() {
    let (_, here, there) = two();
    let began = Instant::now();
    let guard = here.write("k").hold_at_least(SECOND * 5).acquire().await.unwrap();
    guard.release().await.unwrap();
    assert_eq!(began.elapsed(), Duration::ZERO);
    assert!(is_busy(&there).await);
    sleep(SECOND * 6).await;
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
    assert_eq!(began.elapsed(), Duration::ZERO, "it waits for none");
    assert!(is_busy(&there).await);
    sleep(SECOND * 19).await;
    assert!(is_busy(&there).await);
    sleep(LEASE).await;
    assert!(!is_busy(&there).await);
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
    let lost = guard.lost();
    drop(guard);
    here.force_release("k").await.unwrap();
    assert!(!is_busy(&there).await);
    assert_eq!(lost.await.cause(), LostCause::Refused);
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
