//! When a hold is passed to the next waiter of its process, and when it returns to the store: on
//! the in-memory store under a paused clock.

use std::time::Duration;

use futures_util::FutureExt;
use lock_core::{
    Acquire, AcquireError, LeaseState, LockClient, LockGuard, LostCause, MemoryStore, ReleaseError,
};
use tokio::{
    task::JoinHandle,
    time::{Instant, sleep, timeout},
};

const LEASE: Duration = Duration::from_secs(3);
const LONG: Duration = Duration::from_secs(60);

type Waiter = JoinHandle<Result<LockGuard, AcquireError>>;

fn client(store: &MemoryStore) -> LockClient {
    LockClient::builder().lease(LEASE).in_memory_on(store)
}

async fn waits(ask: Acquire) -> Waiter {
    let waiter = tokio::spawn(ask.wait(LONG).acquire());
    sleep(Duration::from_millis(1)).await;
    waiter
}

async fn owner(client: &LockClient) -> Option<String> {
    let mut holders = client.inspect("k").await.unwrap().holders;
    holders.pop().map(|holder| holder.owner)
}

/// A guard that can be handed over, and waiters behind it.
async fn hot(client: &LockClient, behind: usize) -> (LockGuard, Vec<Waiter>) {
    let first = client.write("k").acquire().await.unwrap();
    let mut line = Vec::new();
    for _ in 0..=behind {
        line.push(waits(client.write("k")).await);
    }
    first.release().await.unwrap();
    (line.remove(0).await.unwrap().unwrap(), line)
}

#[tokio::test(start_paused = true)]
async fn after_a_third_of_the_lease_it_goes_back() {
    let store = MemoryStore::new();
    let client = client(&store);
    for (held_for, handed_over) in [(LEASE / 3 - LEASE / 100, true), (LEASE / 3, false)] {
        let (guard, mut line) = hot(&client, 1).await;
        let before = owner(&client).await;
        sleep(held_for).await;
        guard.release().await.unwrap();
        let next = line.remove(0).await.unwrap().unwrap();
        assert_eq!(owner(&client).await == before, handed_over, "{held_for:?}");
        next.release().await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn one_grant_allows_as_many_handoffs_as_requested() {
    let store = MemoryStore::new();
    let client = client(&store);
    for turns in [2, 3, 64] {
        let ask = || client.write("k").max_local_handoffs(turns - 1);
        let first = ask().acquire().await.unwrap();
        let mut line = Vec::new();
        for _ in 0..150 {
            line.push(waits(ask()).await);
        }
        first.release().await.unwrap();
        let mut of_each_grant = Vec::new();
        let mut before = None;
        for waiter in line {
            let guard = waiter.await.unwrap().unwrap();
            let now = owner(&client).await;
            if now != before {
                of_each_grant.push(0);
            }
            *of_each_grant.last_mut().unwrap() += 1;
            before = now;
            guard.release().await.unwrap();
        }
        assert_eq!(of_each_grant[..2], [turns, turns]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_taken_over_hold_is_renewed_as_before() {
    let store = MemoryStore::new();
    let client = client(&store);
    let (guard, mut line) = hot(&client, 1).await;
    let granted = Instant::now();
    sleep(LEASE / 4).await;
    drop(guard);
    let next = line.remove(0).await.unwrap().unwrap();
    assert_eq!(next.state(), LeaseState::Held);
    assert!(next.remaining() <= LEASE - LEASE / 4, "the lease is that of the first turn");
    while next.state() == LeaseState::Held {
        sleep(LEASE / 100).await;
    }
    assert!(granted.elapsed() <= LEASE / 3 + LEASE / 20, "{:?}", granted.elapsed());
    sleep(LEASE * 10).await;
    assert!(next.is_held());
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_renewed_ends_with_the_lease_of_the_first_turn() {
    let store = MemoryStore::new();
    let client = client(&store);
    let (guard, mut line) = hot(&client, 1).await;
    let granted = Instant::now();
    sleep(LEASE / 4).await;
    store.set_down(true);
    drop(guard);
    let next = line.remove(0).await.unwrap().unwrap();
    let lost = next.lost().await;
    assert_eq!(lost.cause(), LostCause::Expired);
    assert_eq!(granted.elapsed(), LEASE - LEASE / 20);
}

#[tokio::test(start_paused = true)]
async fn a_hold_of_which_renewal_has_no_news_is_not_handed_over() {
    for down in [false, true] {
        let store = MemoryStore::new();
        let client = client(&store);
        let _due_before = client.write("other").acquire().await.unwrap();
        let begun = Instant::now();
        sleep(LEASE / 50).await;
        let (guard, mut line) = hot(&client, 1).await;
        let before = owner(&client).await;
        tokio::time::sleep_until(begun + LEASE / 3 - Duration::from_millis(1)).await;
        store.set_down(down);
        // Both are renewed in one go, the second one before it would have to be.
        while guard.state() == LeaseState::Held {
            sleep(Duration::from_millis(1)).await;
        }
        assert_eq!(guard.state(), if down { LeaseState::Unknown } else { LeaseState::Renewed });
        store.set_down(false);
        drop(guard);
        let next = line.remove(0).await.unwrap().unwrap();
        assert_eq!(owner(&client).await == before, !down);
        let news = if down { LeaseState::Held } else { LeaseState::Renewed };
        assert_eq!(next.state(), news, "of the grant that it has");
        next.release().await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn a_lost_hold_is_not_handed_over() {
    let store = MemoryStore::new();
    let client = client(&store);
    let first = client.write("k").acquire().await.unwrap();
    let waiter = waits(client.write("k").max_hold(LEASE / 10)).await;
    let behind = waits(client.write("k")).await;
    first.release().await.unwrap();
    let guard = waiter.await.unwrap().unwrap();
    let before = owner(&client).await;
    // It cannot be released yet: the waiter is still behind it when its guard is dropped.
    store.set_down(true);
    assert_eq!(guard.lost().await.cause(), LostCause::MaxHold);
    drop(guard);
    store.set_down(false);
    let next = behind.await.unwrap().unwrap();
    let now = owner(&client).await;
    assert!(next.is_held() && now.is_some() && now != before, "granted anew: {now:?}");
}

#[tokio::test(start_paused = true)]
async fn a_takeover_counts_as_waiting_without_a_queue() {
    let store = MemoryStore::new();
    let (here, there) = (client(&store), client(&store));
    let elsewhere = there.write("k").acquire().await.unwrap();
    let (first, behind) = (waits(here.write("k")).await, waits(here.write("k")).await);
    elsewhere.release().await.unwrap();
    let guard = first.await.unwrap().unwrap();
    let (before, token) = (owner(&here).await, guard.fencing_token());
    drop(guard);
    let next = behind.await.unwrap().unwrap();
    assert_eq!(owner(&here).await, before, "the store received nothing");
    assert!(next.waited());
    assert!(next.fencing_token() > token);
}

#[tokio::test(start_paused = true)]
async fn a_failed_release_reports_its_longest_remaining_hold() {
    let store = MemoryStore::new();
    let client = client(&store);
    let (guard, mut line) = hot(&client, 1).await;
    sleep(LEASE / 4).await;
    drop(guard);
    let next = line.remove(0).await.unwrap().unwrap();
    store.set_down(true);
    let Err(ReleaseError::Unavailable(why)) = next.release().await else {
        panic!("the store is down");
    };
    let left = why.may_be_held_for();
    assert!(left > LEASE / 2 && left <= LEASE - LEASE / 4, "{left:?}");
}

#[tokio::test(start_paused = true)]
async fn max_hold_counts_for_each_turn() {
    let store = MemoryStore::new();
    let client = client(&store);
    let (guard, mut line) = hot(&client, 0).await;
    line.push(waits(client.write("k").max_hold(LEASE)).await);
    sleep(LEASE / 4).await;
    drop(guard);
    let next = line.remove(0).await.unwrap().unwrap();
    let taken = Instant::now();
    assert_eq!(next.lost().await.cause(), LostCause::MaxHold);
    assert_eq!(taken.elapsed(), LEASE);
}

#[tokio::test(start_paused = true)]
async fn an_abandoned_hold_on_its_way_goes_to_the_next() {
    let store = MemoryStore::new();
    let client = client(&store);
    let first = client.write("k").acquire().await.unwrap();
    let mut leaving = Box::pin(client.write("k").wait(LONG).acquire());
    assert!((&mut leaving).now_or_never().is_none());
    let mut gone = Box::pin(client.write("k").wait(LONG).acquire());
    assert!((&mut gone).now_or_never().is_none());
    let staying = waits(client.write("k")).await;
    first.release().await.unwrap();
    let guard = leaving.await.unwrap();
    let before = owner(&client).await;
    // The next waiter is given the hold, and is never polled.
    drop(guard);
    drop(gone);
    let guard = staying.await.unwrap().unwrap();
    assert_eq!(owner(&client).await, before, "the store received nothing");
    drop(guard);
    sleep(LEASE / 10).await;
    assert_eq!(owner(&client).await, None);
    assert_eq!(client.health().await.holds, 0);
}

#[tokio::test(start_paused = true)]
async fn a_late_taker_does_not_get_the_hold() {
    let store = MemoryStore::new();
    let client = client(&store);
    let first = client.write("k").acquire().await.unwrap();
    let waiter = waits(client.write("k")).await;
    let mut late = Box::pin(client.write("k").wait(LONG).acquire());
    assert!((&mut late).now_or_never().is_none());
    first.release().await.unwrap();
    drop(waiter.await.unwrap().unwrap());
    // No task watches a hold that is being passed on: its lease ends.
    sleep(LEASE).await;
    let refused = late.await.unwrap_err();
    assert!(matches!(refused, AcquireError::Unavailable(_)), "{refused:?}");
    let next = client.write("k").wait(LONG).acquire().await.unwrap();
    next.release().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_client_that_shuts_down_hands_nothing_over() {
    let store = MemoryStore::new();
    let client = client(&store);
    let (guard, mut line) = hot(&client, 2).await;
    let shut = tokio::spawn({
        let client = client.clone();
        async move { client.shutdown(LONG).await }
    });
    sleep(Duration::from_millis(1)).await;
    drop(guard);
    for waiter in line.drain(..) {
        assert!(matches!(waiter.await.unwrap(), Err(AcquireError::Draining)));
    }
    shut.await.unwrap().unwrap();
}

/// A waiter without a place in the store: a client of Redisson, or one that only tries.
#[tokio::test(start_paused = true)]
async fn a_process_yields_after_its_turns() {
    let store = MemoryStore::new();
    let (client, other) = (client(&store), client(&store));
    for (held_for, comes_in) in [(40, true), (16, true), (15, false), (0, false)] {
        let held_for = Duration::from_millis(held_for);
        let (guard, mut line) = hot(&client, 1).await;
        let begun = Instant::now();
        sleep(held_for).await;
        guard.release().await.unwrap();
        let next = line.remove(0).await.unwrap().unwrap();
        // No waiter is left to hand it to, except one that arrives during its release.
        let last = tokio::spawn(client.write("k").wait(LONG).max_local_handoffs(0).acquire());
        tokio::task::yield_now().await;
        drop(next);
        let tried = loop {
            match other.write("k").try_acquire().await {
                Ok(guard) => break Some(guard),
                Err(_) if last.is_finished() => break None,
                Err(_) => tokio::task::yield_now().await,
            }
        };
        assert_eq!(tried.is_some(), comes_in, "{held_for:?}");
        assert!(begun.elapsed() <= held_for + Duration::from_millis(5));
        drop(tried);
        last.await.unwrap().unwrap().release().await.unwrap();
    }
}

/// A try at once would be refused, and the store would execute it before that of the waiter.
#[tokio::test(start_paused = true)]
async fn a_process_lets_the_waiter_try_first_that_a_release_reserves_the_lock_for() {
    let store = MemoryStore::new();
    let (client, other) = (client(&store), client(&store));
    let in_line = async || other.inspect("k").await.unwrap().waiters.len();
    for (held_for, tries_at_once) in [(1_000, false), (999, true)] {
        let first = client.write("k").acquire().await.unwrap();
        let begun = Instant::now();
        let elsewhere = tokio::spawn(other.write("k").wait(LONG).acquire());
        let next = tokio::spawn(client.write("k").wait(LONG).max_local_handoffs(0).acquire());
        while in_line().await == 0 {
            tokio::task::yield_now().await;
        }
        tokio::time::advance(Duration::from_micros(held_for) - begun.elapsed()).await;
        first.release().await.unwrap();
        let guard = elsewhere.await.unwrap().unwrap();
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
        assert_eq!(begun.elapsed(), Duration::from_micros(held_for));
        assert_eq!(in_line().await, usize::from(tries_at_once), "{held_for}");
        sleep(Duration::from_millis(2)).await;
        assert_eq!(in_line().await, 1);
        guard.release().await.unwrap();
        next.await.unwrap().unwrap().release().await.unwrap();
    }
    // Without a waiter elsewhere nothing is delayed.
    let first = client.write("k").acquire().await.unwrap();
    let next = waits(client.write("k").max_local_handoffs(0)).await;
    let released_at = Instant::now();
    first.release().await.unwrap();
    let _next = next.await.unwrap().unwrap();
    assert_eq!(released_at.elapsed(), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn a_release_does_not_wait_for_the_next_caller() {
    let client = client(&MemoryStore::new());
    let first = client.write("k").acquire().await.unwrap();
    let waiter = waits(client.write("k")).await;
    let mut next = Box::pin(client.write("k").wait(LONG).acquire());
    assert!((&mut next).now_or_never().is_none());
    first.release().await.unwrap();
    let guard = waiter.await.unwrap().unwrap();
    let before = owner(&client).await;
    // Released by the task that waits for the next one, and does not poll meanwhile.
    timeout(LONG, guard.release()).await.expect("it does not wait").unwrap();
    let _guard = next.await.unwrap();
    assert_eq!(owner(&client).await, before, "the store received nothing");
}
