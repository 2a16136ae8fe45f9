//! The reported state of guards, permits and several locks at once.

use std::{pin::pin, time::Duration};

use futures_util::poll;
use lock_core::{AcquireError, FencingToken, LockClient, MemoryStore, Mode, ReleaseError};
use tokio::time::{sleep, timeout};

const LEASE: Duration = Duration::from_secs(3);

fn two_clients() -> (MemoryStore, LockClient, LockClient) {
    let store = MemoryStore::new();
    let client = || LockClient::builder().lease(LEASE).in_memory_on(&store);
    let (here, there) = (client(), client());
    (store, here, there)
}

/// How long a lease that was just granted is relied upon.
fn is_fresh(remaining: Duration) -> bool {
    remaining > LEASE / 2 && remaining < LEASE
}

fn is_fresh_in_the_store(remaining: Duration) -> bool {
    remaining > LEASE / 2 && remaining <= LEASE
}

#[tokio::test(start_paused = true)]
async fn a_view_returns_the_strongest_mode() {
    let (_, here, _) = two_clients();
    let mut guard = here.write("k").acquire().await.unwrap();
    assert_eq!(guard.view().mode(), Mode::Write);
    assert!(is_fresh(guard.view().remaining()));
    let seen = here.inspect("k").await.unwrap();
    assert!(seen.complete, "one holder is listed completely");
    assert_eq!(seen.fencing_token, Some(guard.fencing_token()));
    assert!(here.inspect("free").await.unwrap().complete);
    guard.downgrade().await.unwrap();
    assert_eq!(guard.view().mode(), Mode::Read);
}

#[tokio::test(start_paused = true)]
async fn a_token_is_a_number_larger_than_none() {
    let (_, here, _) = two_clients();
    let token = here.write("k").acquire().await.unwrap().fencing_token();
    assert!(token > FencingToken::NONE);
    // Microseconds since 1970.
    assert!(token.get() > 1_700_000_000_000_000, "{token}");
    assert_eq!(token.as_i64().to_string(), token.to_string());
    assert_eq!(token.get().to_string(), token.to_string());
}

#[tokio::test(start_paused = true)]
async fn permits_in_use_and_free_are_counted() {
    let (_, here, there) = two_clients();
    let printers = here.semaphore("s", 3);
    assert_eq!(printers.free_permits().await.unwrap(), 3);
    let permit = printers.permit().acquire().await.unwrap();
    let other = there.semaphore("s", 3).permit().acquire().await.unwrap();
    assert!(permit.is_held() && is_fresh(permit.remaining()));
    let seen = here.inspect("s").await.unwrap();
    assert!(seen.complete && is_fresh_in_the_store(seen.remaining.unwrap()), "{seen:?}");
    assert_eq!(there.semaphore("s", 7).free_permits().await.unwrap(), 5, "its own number");
    permit.release().await.unwrap();
    assert_eq!(printers.free_permits().await.unwrap(), 2, "a release is confirmed");
    let error = printers.set_permits(7).await.unwrap_err().to_string();
    assert!(error.contains("each client gives the number"), "{error}");
    let error = printers.set_permits(1_000_001).await.unwrap_err().to_string();
    assert!(error.contains("at most 1000000"), "{error}");
    let most = here.semaphore("s", 1_000_001).permit().try_acquire().await.unwrap_err();
    assert!(most.to_string().contains("at most 1000000"), "{most}");
    assert!(here.semaphore("s", 0).permit().try_acquire().await.is_err());
    drop(other);
}

/// Nothing listens at the port: what is refused is refused before anything is sent.
#[cfg(feature = "redis")]
#[tokio::test]
async fn many_permits_at_once_are_refused_on_redissons_wire() {
    let builder = LockClient::builder().redisson();
    let java = builder.connect_lazy("redis://127.0.0.1:1/").unwrap();
    let all = java.semaphore("s", 100_000);
    let one = all.permits(10_001).try_acquire().await.map(drop);
    let other = java.semaphore("other", 1).permit();
    let both = java.multi_lock([all.permits(10_001), other]).try_acquire().await.map(drop);
    for refused in [one, both] {
        let refused = refused.unwrap_err();
        assert!(matches!(refused, AcquireError::Unsupported(_)), "{refused:?}");
        assert!(refused.to_string().contains("at most 10000"), "{refused}");
    }
    let most = all.permits(10_000).try_acquire().await.unwrap_err();
    assert!(matches!(most, AcquireError::Unavailable(_)), "{most:?}");
}

#[tokio::test(start_paused = true)]
async fn a_permit_that_is_gone_is_reported() {
    let (store, here, _) = two_clients();
    let permit = here.semaphore("s", 1).permit().acquire().await.unwrap();
    store.remove(permit.key());
    assert!(matches!(permit.release().await, Err(ReleaseError::Lost(_))));
    let permit = here.semaphore("s", 1).permit().renew(false).acquire().await.unwrap();
    permit.lost().await;
    assert!(!permit.is_held() && permit.remaining().is_zero());
}

#[tokio::test(start_paused = true)]
async fn several_locks_are_held_as_long_as_the_first_to_end() {
    let (_, here, _) = two_clients();
    let both = || here.multi_lock([here.write("a"), here.write("b")]).renew(false).acquire();
    let guard = both().await.unwrap();
    assert!(guard.is_held() && is_fresh(guard.remaining()));
    sleep(LEASE).await;
    assert!(!guard.is_held() && guard.remaining().is_zero());
}

#[tokio::test(start_paused = true)]
async fn only_the_holder_gets_the_release_request() {
    let (_, here, there) = two_clients();
    let guard = here.write("k").acquire().await.unwrap();
    let permit = here.semaphore("s", 1).permit().acquire().await.unwrap();
    let both = here.multi_lock([here.write("a"), here.write("b")]).acquire().await.unwrap();
    let (mut one, mut two) = (pin!(guard.release_requested()), pin!(permit.release_requested()));
    let mut three = pin!(both.release_requested());
    let pending =
        [poll!(&mut one), poll!(&mut two), poll!(&mut three)].map(|reported| reported.is_pending());
    assert_eq!(pending, [true; 3], "no release was requested");
    assert_eq!(there.request_release("k").await.unwrap(), 1);
    timeout(LEASE * 2, &mut one).await.expect("reported");
    assert!(poll!(&mut two).is_pending() && poll!(&mut three).is_pending(), "not their keys");
    assert_eq!(there.request_release("s").await.unwrap(), 1);
    assert_eq!(there.request_release("b").await.unwrap(), 1);
    timeout(LEASE * 2, &mut two).await.expect("reported");
    timeout(LEASE * 2, &mut three).await.expect("one of them is enough");
    assert!(guard.is_held() && permit.is_held() && both.is_held(), "nothing is taken away");
}

#[tokio::test(start_paused = true)]
async fn the_number_of_requested_releases_and_of_forced_ones_is_returned() {
    let (_, here, there) = two_clients();
    // Holders that share one hold count as one.
    let read = || here.read("k").max_shared_readers(1).acquire();
    let both = [read().await.unwrap(), read().await.unwrap()];
    assert_eq!(there.request_release("k").await.unwrap(), 2);
    assert_eq!(there.request_release("free").await.unwrap(), 0);
    let forced = there.force_release("k").await.unwrap();
    assert!(forced.was_held && forced.fencing_token > Some(both[0].fencing_token()));
    assert!(!there.force_release("free").await.unwrap().was_held);
    let _permit = here.semaphore("s", 1).permit().acquire().await.unwrap();
    let forced = there.force_release("s").await.unwrap();
    assert!(forced.was_held && forced.fencing_token.is_none());
}

#[tokio::test(start_paused = true)]
async fn what_is_held_is_listed() {
    let (_, here, there) = two_clients();
    let keys = async |prefix: &str, limit: usize| {
        let listing = there.list(prefix, limit).await.unwrap();
        let keys: Vec<_> = listing.keys.iter().map(ToString::to_string).collect();
        (keys.join(" "), listing.complete)
    };
    let held =
        [here.write("a:1").acquire().await.unwrap(), here.read("a:2").acquire().await.unwrap()];
    drop(here.write("a:0").acquire().await.unwrap());
    let permit = here.semaphore("a:s", 1).permit().acquire().await.unwrap();
    sleep(LEASE).await;
    assert_eq!(keys("a:", 3).await, ("a:1 a:2 a:s".to_owned(), true));
    assert_eq!(keys("a:", 2).await, ("a:1 a:2".to_owned(), false));
    assert_eq!(keys("b:", 2).await, (String::new(), true));
    // The waiter of a free lock is not listed: its place outlives the lock.
    let waiting = there.write("a:1").wait(LEASE).acquire();
    assert!(timeout(LEASE / 10, waiting).await.is_err());
    drop((held, permit));
    sleep(Duration::from_millis(10)).await;
    assert_eq!(keys("a:", 3).await, (String::new(), true));
}

#[tokio::test(start_paused = true)]
async fn a_local_waiter_is_counted_until_it_gives_up() {
    let (_, here, _) = two_clients();
    let held = here.write("k").acquire().await.unwrap();
    assert_eq!(here.health().await.waiting, 0);
    let waiting = [
        tokio::spawn(here.write("k").wait(LEASE).acquire()),
        tokio::spawn(here.write("k").wait(LEASE * 2).acquire()),
    ];
    sleep(LEASE / 2).await;
    assert_eq!(here.health().await.waiting, 2);
    sleep(LEASE).await;
    assert_eq!(here.health().await.waiting, 1);
    drop(held);
    for waiter in waiting {
        drop(waiter.await.unwrap());
    }
    assert_eq!(here.health().await.waiting, 0);
}
