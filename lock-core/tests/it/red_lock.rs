//! RedLock over servers in memory, on a clock that the test moves.

use std::time::Duration;

use lock_core::{AcquireError, Kind, LockClient, LockKey, LostCause, MemoryStore, RedLock};

const LEASE: Duration = Duration::from_secs(3);

struct World {
    stores: Vec<MemoryStore>,
}

impl World {
    fn new(servers: usize) -> Self {
        Self { stores: (0..servers).map(|_| MemoryStore::new()).collect() }
    }

    async fn red_lock(&self) -> RedLock {
        LockClient::builder().lease(LEASE).red_lock_in_memory(&self.stores).await.unwrap()
    }

    /// Another client's lock on one server.
    fn other(&self, server: usize) -> LockClient {
        LockClient::builder().in_memory_on(&self.stores[server])
    }
}

fn key() -> LockKey {
    LockKey::try_from("k").unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_majority_is_enough_and_less_is_not() {
    let world = World::new(3);
    let red_lock = world.red_lock().await;

    let one = world.other(0).non_reentrant("k").acquire().await.unwrap();
    let guard = red_lock.lock("k").try_acquire().await.unwrap();
    assert_eq!(guard.servers_held(), 2);
    guard.release().await.unwrap();

    let two = world.other(1).non_reentrant("k").acquire().await.unwrap();
    let refused = red_lock.lock("k").try_acquire().await.unwrap_err();
    assert!(matches!(refused, AcquireError::Busy(_)), "{refused}");
    // The grant of the third server was returned.
    let third = world.other(2).non_reentrant("k").wait(LEASE / 4).acquire().await.unwrap();
    drop((one, two, third));
    red_lock.lock("k").acquire().await.unwrap().release().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn two_of_them_exclude_each_other_and_the_waiter_gets_its_turn() {
    let world = World::new(5);
    let (here, there) = (world.red_lock().await, world.red_lock().await);
    let guard = here.lock("k").acquire().await.unwrap();
    let refused = there.lock("k").try_acquire().await.unwrap_err();
    assert!(matches!(refused, AcquireError::Busy(_)), "{refused}");
    let waiting = tokio::spawn(async move { there.lock("k").wait(LEASE * 10).acquire().await });
    tokio::time::sleep(LEASE * 3).await;
    assert!(guard.is_held(), "renewed on every server");
    assert!(!waiting.is_finished());
    guard.release().await.unwrap();
    let guard = waiting.await.unwrap().unwrap();
    assert!(guard.remaining() > LEASE / 2);
}

#[tokio::test(start_paused = true)]
async fn local_waiters_queue_and_all_get_their_turn() {
    let world = World::new(3);
    let red_lock = world.red_lock().await;
    let turns = (0..20).map(|_| {
        let red_lock = red_lock.clone();
        async move {
            let guard = red_lock.lock("k").wait(Duration::from_secs(60)).acquire().await.unwrap();
            tokio::time::sleep(Duration::from_millis(10)).await;
            guard.release().await.unwrap();
        }
    });
    let begun = tokio::time::Instant::now();
    futures_util::future::join_all(turns).await;
    // No lease has ended meanwhile: each got its turn by the release of the one before.
    let took = begun.elapsed();
    assert!(took < LEASE / 2, "{took:?}");
}

#[tokio::test(start_paused = true)]
async fn it_is_lost_with_its_majority_and_not_before() {
    let world = World::new(3);
    let red_lock = world.red_lock().await;
    let guard = red_lock.lock("k").acquire().await.unwrap();
    world.stores[0].remove(&key());
    while guard.servers_held() == 3 {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert!(guard.is_held());
    world.stores[1].remove(&key());
    world.stores[2].remove(&key());
    let lost = guard.lost().await;
    assert_eq!((lost.key().as_str(), lost.cause()), ("k", LostCause::Refused));
    assert!(!guard.is_held());
    assert_eq!(guard.remaining(), Duration::ZERO);
    assert!(guard.release().await.is_err());
}

#[tokio::test(start_paused = true)]
async fn work_ends_with_the_majority() {
    let world = World::new(3);
    let red_lock = world.red_lock().await;
    let guard = red_lock.lock("k").acquire().await.unwrap();
    world.stores[0].remove(&key());
    world.stores[2].remove(&key());
    let worked = guard.protect(std::future::pending::<()>()).await;
    assert_eq!(worked.unwrap_err().cause(), LostCause::Refused);
}

#[tokio::test(start_paused = true)]
async fn an_empty_restarted_server_is_excluded_for_the_longest_lease() {
    let world = World::new(3);
    let (here, there) = (world.red_lock().await, world.red_lock().await);
    // Held on two servers, of which one loses its locks: without shunning, a second majority would
    // be possible.
    let blocked = world.other(0).non_reentrant("k").acquire().await.unwrap();
    let guard = here.lock("k").renew(false).acquire().await.unwrap();
    drop(blocked);
    world.stores[1].restart();
    let refused = there.lock("k").wait(LEASE / 4).acquire().await.unwrap_err();
    assert!(!matches!(refused, AcquireError::Lost(_)), "{refused}");
    assert!(guard.is_held() || guard.remaining().is_zero());
    tokio::time::sleep(LEASE).await;
    assert!(!guard.is_held());
    there.lock("k").acquire().await.unwrap().release().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn it_is_not_reentrant_and_refuses_at_once() {
    let world = World::new(3);
    let red_lock = world.red_lock().await;
    let scope = red_lock.servers()[0].scope();
    let guard = red_lock.lock("k").in_scope(&scope).acquire().await.unwrap();
    let refused = red_lock.lock("k").in_scope(&scope).wait(LEASE).acquire().await.unwrap_err();
    assert!(matches!(refused, AcquireError::AlreadyHeld { .. }), "{refused}");
    guard.release().await.unwrap();
    let again = red_lock.lock("k").in_scope(&scope).acquire().await.unwrap();
    again.release().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn what_makes_no_sense_is_refused() {
    let store = MemoryStore::new();
    let same = [store.clone(), store.clone(), MemoryStore::new()];
    let refused = LockClient::builder().red_lock_in_memory(&same).await.unwrap_err();
    assert!(
        refused.to_string().contains("two of the addresses lead to the same server"),
        "{refused}"
    );
    let few = [store, MemoryStore::new()];
    let refused = LockClient::builder().red_lock_in_memory(&few).await.unwrap_err();
    assert!(refused.to_string().contains("none may fail"), "{refused}");

    let red_lock = World::new(3).red_lock().await;
    let refused = red_lock.lock("k").lease(LEASE * 2).acquire().await.unwrap_err();
    assert!(matches!(refused, AcquireError::InvalidOptions(_)), "{refused}");
    let refused = red_lock.lock("").acquire().await.unwrap_err();
    assert!(matches!(refused, AcquireError::Key(_)), "{refused}");
}

#[tokio::test(start_paused = true)]
async fn a_dropped_acquisition_leaves_nothing_on_any_server() {
    let world = World::new(3);
    let red_lock = world.red_lock().await;
    let blocked = world.other(0).non_reentrant("k").acquire().await.unwrap();
    let also = world.other(1).non_reentrant("k").acquire().await.unwrap();
    let waiting = red_lock.lock("k").wait(LEASE).acquire();
    assert!(tokio::time::timeout(LEASE / 2, waiting).await.is_err());
    // Before a lease that was not released would end.
    let released = world.other(2).non_reentrant("k").wait(LEASE / 4).acquire().await;
    released.unwrap().release().await.unwrap();
    drop((blocked, also));
    for server in 0..3 {
        let free = world.other(server).non_reentrant("k").wait(LEASE / 4).acquire().await;
        free.unwrap().release().await.unwrap();
        let seen = world.other(server).inspect("k").await.unwrap();
        assert_eq!((seen.kind, seen.holders.len()), (None::<Kind>, 0));
    }
}

#[tokio::test(start_paused = true)]
async fn shutdown_releases_everywhere() {
    let world = World::new(3);
    let red_lock = world.red_lock().await;
    drop(red_lock.lock("k").acquire().await.unwrap());
    red_lock.shutdown(LEASE).await.unwrap();
    let refused = red_lock.lock("k").acquire().await.unwrap_err();
    assert!(matches!(refused, AcquireError::Draining), "{refused}");
}

#[tokio::test]
async fn its_signal_is_ready_at_the_first_poll_after_a_pause() {
    let world = World::new(3);
    let red_lock = world.red_lock().await;
    let requested = red_lock.lock("k").renew(false).lease(Duration::from_millis(100));
    let guard = requested.acquire().await.unwrap();
    let mut lost = std::pin::pin!(guard.lost());
    assert!(futures_util::poll!(&mut lost).is_pending());
    // The whole runtime stands still, its timers too.
    std::thread::sleep(Duration::from_millis(150));
    assert!(futures_util::poll!(&mut lost).is_ready());
}

#[tokio::test(start_paused = true)]
async fn shutdown_ends_every_wait() {
    let world = World::new(3);
    let red_lock = world.red_lock().await;
    let guard = red_lock.lock("k").acquire().await.unwrap();
    let waiting = tokio::spawn(red_lock.lock("k").wait(LEASE * 100).acquire());
    tokio::time::sleep(LEASE).await;
    let _ = red_lock.shutdown(Duration::from_millis(1)).await;
    let ended = tokio::time::timeout(LEASE, waiting).await.expect("at once").unwrap();
    assert!(matches!(ended, Err(AcquireError::Draining)), "{ended:?}");
    drop(guard);
}

/// Long enough for each server to be requested again.
const RETAKEN: Duration = LEASE;

#[tokio::test(start_paused = true)]
async fn a_hold_outlives_the_loss_of_every_server_one_after_the_other() {
    let world = World::new(3);
    let red_lock = world.red_lock().await;
    let guard = red_lock.lock("k").acquire().await.unwrap();
    let mut lost = std::pin::pin!(guard.lost());
    for server in [0, 1, 2, 0, 1] {
        world.stores[server].remove(&key());
        tokio::time::sleep(RETAKEN).await;
        assert_eq!(guard.servers_held(), 3, "{server} is taken back");
        let busy = world.other(server).non_reentrant("k").try_acquire().await;
        assert!(matches!(busy, Err(AcquireError::Busy(_))), "{busy:?}");
        assert!(futures_util::poll!(&mut lost).is_pending());
    }
    assert!(guard.remaining() > LEASE / 2);
    world.stores[0].remove(&key());
    world.stores[2].remove(&key());
    assert_eq!(lost.await.cause(), LostCause::Refused, "two at once are a majority");
    assert!(guard.release().await.is_err());
}

#[tokio::test(start_paused = true)]
async fn a_server_that_had_another_client_is_taken_when_it_is_free() {
    let world = World::new(3);
    let red_lock = world.red_lock().await;
    let other = world.other(0).non_reentrant("k").acquire().await.unwrap();
    let guard = red_lock.lock("k").acquire().await.unwrap();
    tokio::time::sleep(RETAKEN * 3).await;
    assert_eq!(guard.servers_held(), 2);
    other.release().await.unwrap();
    tokio::time::sleep(RETAKEN).await;
    assert_eq!(guard.servers_held(), 3);
    guard.release().await.unwrap();
    for server in 0..3 {
        drop(world.other(server).non_reentrant("k").try_acquire().await.unwrap());
    }
}

#[tokio::test(start_paused = true)]
async fn a_restarted_server_is_taken_back_after_the_longest_lease() {
    let world = World::new(3);
    let red_lock = world.red_lock().await;
    let guard = red_lock.lock("k").acquire().await.unwrap();
    world.stores[1].restart();
    let restarted = tokio::time::Instant::now();
    while guard.servers_held() == 3 {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    while guard.servers_held() == 2 {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let after = restarted.elapsed();
    assert!((LEASE..LEASE * 2).contains(&after), "{after:?}");
    // Meanwhile nothing of it was left there.
    guard.release().await.unwrap();
    drop(world.other(1).non_reentrant("k").try_acquire().await.unwrap());
}

#[tokio::test(start_paused = true)]
async fn a_lost_majority_is_not_revived() {
    let world = World::new(3);
    let red_lock = world.red_lock().await;
    let guard = red_lock.lock("k").acquire().await.unwrap();
    world.stores[0].remove(&key());
    tokio::time::sleep(RETAKEN).await;
    assert_eq!(guard.servers_held(), 3);
    world.stores[0].remove(&key());
    world.stores[1].remove(&key());
    // Nothing looks at it meanwhile.
    tokio::time::sleep(RETAKEN * 10).await;
    assert!(!guard.is_held());
    assert_eq!(guard.servers_held(), 1);
    for server in [0, 1] {
        drop(world.other(server).non_reentrant("k").try_acquire().await.unwrap());
    }
}

#[tokio::test(start_paused = true)]
async fn without_renewal_no_server_is_taken_back() {
    let world = World::new(3);
    let red_lock = world.red_lock().await;
    let other = world.other(0).non_reentrant("k").acquire().await.unwrap();
    let guard = red_lock.lock("k").renew(false).acquire().await.unwrap();
    other.release().await.unwrap();
    tokio::time::sleep(LEASE * 3 / 4).await;
    assert_eq!(guard.servers_held(), 2);
    tokio::time::sleep(LEASE / 4).await;
    assert!(!guard.is_held());
}

#[tokio::test(start_paused = true)]
async fn what_is_taken_back_stays_in_its_scope() {
    let world = World::new(3);
    let red_lock = world.red_lock().await;
    let scope = red_lock.servers()[0].scope();
    let guard = red_lock.lock("k").in_scope(&scope).acquire().await.unwrap();
    world.stores[0].remove(&key());
    tokio::time::sleep(RETAKEN).await;
    assert_eq!(guard.servers_held(), 3);
    let refused = red_lock.lock("k").in_scope(&scope).acquire().await.unwrap_err();
    assert!(matches!(refused, AcquireError::AlreadyHeld { .. }), "{refused}");
}

#[tokio::test(start_paused = true)]
async fn shutdown_takes_no_server_back() {
    let world = World::new(3);
    let red_lock = world.red_lock().await;
    let guard = red_lock.lock("k").acquire().await.unwrap();
    world.stores[0].remove(&key());
    let draining = {
        let red_lock = red_lock.clone();
        tokio::spawn(async move { red_lock.shutdown(LEASE * 10).await })
    };
    tokio::time::sleep(RETAKEN * 2).await;
    assert_eq!(guard.servers_held(), 2);
    guard.release().await.unwrap();
    draining.await.unwrap().unwrap();
}
