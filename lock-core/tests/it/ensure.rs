//! Enough of a hold for the next step: on the in-memory store, under a paused clock.

use std::{sync::Arc, time::Duration};

use lock_conformance::{ConstantFaults, Delivery, faulty};
use lock_core::{EnsureError, LockClient, LockGuard, LostCause, MemoryStore};
use tokio::time::{Instant, sleep};

const SECOND: Duration = Duration::from_secs(1);
const LEASE: Duration = Duration::from_secs(30);
/// What a holder relies on of the lease.
const VALIDITY: Duration = Duration::from_millis(28_500);

/// A client, and the link to its store.
fn new() -> (Arc<ConstantFaults>, LockClient) {
    let link = Arc::<ConstantFaults>::default();
    let client = faulty(LockClient::builder(), &MemoryStore::new(), Arc::clone(&link) as _);
    (link, client)
}

async fn not_renewed(client: &LockClient) -> LockGuard {
    client.write("k").lease(LEASE).renew(false).acquire().await.unwrap()
}

#[tokio::test(start_paused = true)]
async fn what_there_is_already_costs_nothing() {
    let (link, client) = new();
    let guard = not_renewed(&client).await;
    link.set(Delivery { taken: None, answered: None });
    sleep(SECOND * 8).await;
    let began = Instant::now();
    guard.ensure(SECOND * 20).await.expect("20.5 s are left");
    assert_eq!(began.elapsed(), Duration::ZERO, "nothing was sent");
}

#[tokio::test(start_paused = true)]
async fn what_is_missing_is_renewed() {
    let (_, client) = new();
    let guard = not_renewed(&client).await;
    sleep(SECOND * 20).await;
    assert_eq!(guard.remaining(), VALIDITY - SECOND * 20);
    guard.ensure(SECOND * 20).await.unwrap();
    assert_eq!(guard.remaining(), VALIDITY);
    // The store has it for as long, and it ends by itself all the same.
    let began = Instant::now();
    assert_eq!(guard.lost().await.cause(), LostCause::Expired);
    assert_eq!(began.elapsed(), VALIDITY);
}

#[tokio::test(start_paused = true)]
async fn a_renewal_that_takes_its_time_is_waited_for() {
    let (link, client) = new();
    let guard = not_renewed(&client).await;
    sleep(SECOND * 20).await;
    link.set(Delivery::after(SECOND / 4));
    guard.ensure(SECOND * 28).await.unwrap();
    // It counts from when it was sent.
    assert_eq!(guard.remaining(), VALIDITY - SECOND / 4);
    // An answer that takes too long is not enough.
    match guard.ensure(VALIDITY - SECOND / 8).await {
        Err(EnsureError::TooLong { available, .. }) => {
            assert_eq!(available, VALIDITY - SECOND / 4);
        }
        other => panic!("{other:?}"),
    }
    assert!(guard.is_held());
}

#[tokio::test(start_paused = true)]
async fn more_than_there_can_be_is_refused_at_once() {
    let (link, client) = new();
    let guard = client.write("k").lease(LEASE).max_hold(SECOND * 40).acquire().await.unwrap();
    link.set(Delivery { taken: None, answered: None });
    let refused = guard.ensure(SECOND * 29).await;
    let Err(EnsureError::TooLong { wanted, available, .. }) = &refused else {
        panic!("{refused:?}")
    };
    assert_eq!((*wanted, *available), (SECOND * 29, VALIDITY));
    let text = refused.unwrap_err().to_string();
    assert!(text.contains("29s") && text.contains("28.5s"), "{text}");
    sleep(SECOND * 25).await;
    match guard.ensure(SECOND * 16).await {
        Err(EnsureError::TooLong { available, .. }) => assert_eq!(available, SECOND * 15),
        other => panic!("{other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn a_store_that_does_not_answer_leaves_the_lock_held() {
    let (link, client) = new();
    let guard = not_renewed(&client).await;
    sleep(SECOND * 20).await;
    link.set(Delivery { taken: None, answered: None });
    let refused = guard.ensure(SECOND * 20).await;
    assert!(matches!(refused, Err(EnsureError::Unavailable(_))), "{refused:?}");
    assert!(guard.is_held());
    link.set(Delivery::AT_ONCE);
    guard.ensure(SECOND * 20).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_lost_lock_is_lost() {
    let (_, client) = new();
    let guard = not_renewed(&client).await;
    sleep(SECOND * 20).await;
    client.force_release("k").await.unwrap();
    match guard.ensure(SECOND * 20).await {
        Err(EnsureError::Lost(lost)) => assert_eq!(lost.cause(), LostCause::Refused),
        other => panic!("{other:?}"),
    }
    let view = guard.view();
    drop(guard);
    assert!(matches!(view.ensure(Duration::ZERO).await, Err(EnsureError::Lost(_))));
}

#[tokio::test(start_paused = true)]
async fn several_locks_and_permits() {
    let (_, client) = new();
    let both = client.multi_lock([client.write("a"), client.read("b")]);
    let both = both.lease(LEASE).renew(false).acquire().await.unwrap();
    let permit = client.semaphore("s", 1).permit();
    let permit = permit.lease(LEASE).renew(false).acquire().await.unwrap();
    sleep(SECOND * 20).await;
    both.ensure(SECOND * 20).await.unwrap();
    permit.ensure(SECOND * 20).await.unwrap();
    assert_eq!([both.remaining(), permit.remaining()], [VALIDITY; 2]);
    client.force_release("b").await.unwrap();
    sleep(SECOND * 20).await;
    assert!(matches!(both.ensure(SECOND * 20).await, Err(EnsureError::Lost(_))));
}

#[tokio::test(start_paused = true)]
async fn a_hold_lasts_longer_than_its_max_hold() {
    let (_, client) = new();
    let began = Instant::now();
    let guard = client.write("k").max_hold(SECOND * 10).acquire().await.unwrap();
    sleep(SECOND * 5).await;
    guard.extend_max_hold(SECOND).unwrap();
    assert_eq!(guard.remaining(), SECOND * 5, "it is never shortened");
    guard.extend_max_hold(SECOND * 10).unwrap();
    let lost = guard.lost().await;
    assert_eq!((lost.cause(), began.elapsed()), (LostCause::MaxHold, SECOND * 15));
    assert!(guard.extend_max_hold(SECOND).is_err(), "what has ended stays ended");
    client.write("k").try_acquire().await.expect("it was released").release().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn so_do_several_locks_and_permits() {
    let (_, client) = new();
    let most = SECOND * 10;
    let both = client.multi_lock([client.write("a"), client.read("b")]);
    let both = both.max_hold(most).acquire().await.unwrap();
    let permit = client.semaphore("s", 1).permit().max_hold(most).acquire().await.unwrap();
    sleep(SECOND * 5).await;
    both.extend_max_hold(most).unwrap();
    permit.extend_max_hold(most).unwrap();
    sleep(SECOND * 9).await;
    assert!(both.is_held() && permit.is_held());
    sleep(SECOND * 2).await;
    assert!(!both.is_held() && !permit.is_held());
}

#[tokio::test(start_paused = true)]
async fn without_a_max_hold_there_is_nothing_to_extend() {
    let (_, client) = new();
    let guard = client.write("k").acquire().await.unwrap();
    guard.extend_max_hold(Duration::MAX).unwrap();
    sleep(SECOND * 1_000).await;
    assert!(guard.is_held());
    let guard = client.write("other").max_hold(SECOND).acquire().await.unwrap();
    guard.extend_max_hold(Duration::MAX).unwrap();
    sleep(SECOND * 1_000).await;
    assert!(guard.is_held());
}
