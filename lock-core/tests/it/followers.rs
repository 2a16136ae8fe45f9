//! Followers of another reader's hold: their state, re-entry, an end before the leader's, upgrades. On
//! the in-memory store under a paused clock; `sharing.rs` tests which reader becomes a follower.

use std::time::Duration;

use lock_core::{AcquireError, LeaseState, LockClient, LockGuard, MemoryStore, UpgradeError};
use tokio::time::{Instant, sleep, sleep_until};

const LEASE: Duration = Duration::from_secs(3);
const LONG: Duration = Duration::from_secs(60);

const fn ms(count: u64) -> Duration {
    Duration::from_millis(count)
}

fn client(store: &MemoryStore) -> LockClient {
    LockClient::builder().lease(LEASE).in_memory_on(store)
}

async fn read(client: &LockClient) -> LockGuard {
    client.read("k").wait(LONG).acquire().await.unwrap()
}

/// The read holds of each holder, once the store knows of all releases.
async fn reads(client: &LockClient) -> Vec<u32> {
    sleep(ms(1)).await;
    client.inspect("k").await.unwrap().holders.iter().map(|holder| holder.reads).collect()
}

#[tokio::test(start_paused = true)]
async fn a_refused_caller_that_joins_later_has_waited() {
    let store = MemoryStore::new();
    let (here, there) = (client(&store), client(&store));
    let written = there.write("k").acquire().await.unwrap();
    // With a `max_hold` the leader is a follower of what it was granted, too.
    let ask = || tokio::spawn(here.read("k").max_hold(LEASE).wait(LONG).acquire());
    let (one, other) = (ask(), ask());
    sleep(ms(10)).await;
    written.release().await.unwrap();
    let (one, other) = (one.await.unwrap().unwrap(), other.await.unwrap().unwrap());
    assert_eq!(reads(&there).await.len(), 1);
    assert!(one.waited() && other.waited());
}

#[tokio::test(start_paused = true)]
async fn each_time_that_a_guest_enters_counts_until_it_is_left() {
    for outer_first in [false, true] {
        let store = MemoryStore::new();
        let client = client(&store);
        let (leader, scope) = (read(&client).await, client.scope());
        let enter = || scope.read("k").acquire();
        let mut guards = vec![enter().await.unwrap(), enter().await.unwrap()];
        assert_eq!(reads(&client).await, [2], "the leader's and one more");
        guards.push(enter().await.unwrap());
        assert_eq!(reads(&client).await, [3]);
        if outer_first {
            guards.reverse();
        }
        drop(leader);
        for left in [2, 1] {
            drop(guards.pop());
            assert_eq!(reads(&client).await, [left]);
            assert!(guards.iter().all(LockGuard::is_held));
        }
        drop(guards);
        assert!(reads(&client).await.is_empty());
        assert_eq!(client.health().await.holds, 0);
    }
}

#[tokio::test(start_paused = true)]
async fn a_guest_that_ends_leaves_as_often_as_it_has_entered() {
    let store = MemoryStore::new();
    let client = client(&store);
    let (leader, other, scope) = (read(&client).await, read(&client).await, client.scope());
    let outer = scope.read("k").max_hold(LEASE).acquire().await.unwrap();
    let inner = scope.read("k").acquire().await.unwrap();
    assert_eq!(reads(&client).await, [2]);
    sleep(LEASE).await;
    assert!(!outer.is_held() && !inner.is_held());
    assert_eq!(reads(&client).await, [1]);
    assert!(leader.is_held() && other.is_held());
    drop((leader, other));
    assert!(reads(&client).await.is_empty());
}

/// With a `max_hold` the first is a follower of what it was granted, and has the place inside with it.
#[tokio::test(start_paused = true)]
async fn an_upgrade_try_waits_for_no_guest_after_one_left() {
    let store = MemoryStore::new();
    let client = client(&store);
    let first = client.read("k").max_hold(LONG).acquire().await.unwrap();
    drop(read(&client).await);
    let refused = client.write("k").try_acquire().await.unwrap_err();
    assert!(matches!(refused, AcquireError::Busy(_)), "{refused:?}");
    drop(first);
    drop(client.write("k").try_acquire().await.unwrap());
}

#[tokio::test(start_paused = true)]
async fn a_refused_upgrade_keeps_the_other_reads_held() {
    for host_goes in [false, true] {
        let store = MemoryStore::new();
        let client = client(&store);
        let (leader, mut follower) = (read(&client).await, read(&client).await);
        let other = if host_goes {
            let other = read(&client).await;
            drop(leader);
            other
        } else {
            leader
        };
        let refused = follower.upgrade().await;
        assert!(matches!(refused, Err(UpgradeError::NotSole { .. })), "{refused:?}");
        drop(follower);
        sleep(LEASE * 2).await;
        assert!(other.is_held());
        assert_eq!(reads(&client).await, [1]);
        other.release().await.unwrap();
        assert_eq!((reads(&client).await, client.health().await.holds), (vec![], 0));
    }
}

/// The reader beside them requested a hold of its own.
#[tokio::test(start_paused = true)]
async fn an_earlier_guests_read_is_released_despite_a_refused_upgrade() {
    let store = MemoryStore::new();
    let client = client(&store);
    let (leader, scope) = (read(&client).await, client.scope());
    let mut outer = scope.read("k").acquire().await.unwrap();
    let inner = scope.read("k").acquire().await.unwrap();
    let beside = client.read("k").max_shared_readers(1).acquire().await.unwrap();
    drop(leader);
    drop(inner);
    let refused = outer.upgrade().await;
    assert!(matches!(refused, Err(UpgradeError::NotSole { .. })), "{refused:?}");
    assert_eq!(reads(&client).await, [1, 1]);
    drop(beside);
    outer.upgrade().await.unwrap();
    outer.release().await.unwrap();
    assert_eq!(client.health().await.holds, 0);
}

#[tokio::test(start_paused = true)]
async fn a_hold_without_renewal_news_is_not_joined() {
    for down in [false, true] {
        let store = MemoryStore::new();
        let client = client(&store);
        let _due_before = client.write("other").acquire().await.unwrap();
        let begun = Instant::now();
        sleep(LEASE / 50).await;
        let leader = read(&client).await;
        sleep_until(begun + LEASE / 3 - ms(1)).await;
        store.set_down(down);
        // Both are renewed in one go, the second one before it would have to be.
        while leader.state() == LeaseState::Held {
            sleep(ms(1)).await;
        }
        assert_eq!(leader.state(), if down { LeaseState::Unknown } else { LeaseState::Renewed });
        store.set_down(false);
        let next = read(&client).await;
        assert_eq!(reads(&client).await.len(), if down { 2 } else { 1 });
        drop((leader, next));
    }
}
