//! Leases on a running clock: renewal, loss, and what happens to the next one.

use std::time::Duration;

use lock_core::{AcquireError, LeaseState, LostCause, ReleaseError};
use lock_tests::{LIMIT, eventually};

use crate::world::{LONG, World, on_every_backend, soon};

on_every_backend! {
    a_lease_is_renewed
    a_hold_with_both_modes_is_renewed
    a_lease_that_is_not_renewed_passes_on
    a_removed_lock_is_lost
    a_scope_cannot_enter_a_lost_hold
    the_longest_lease_of_a_hold_wins
    max_hold_passes_the_lock_on
}

const SHORT: Duration = Duration::from_millis(300);

async fn a_lease_is_renewed(world: World) {
    let (here, there) = (world.client().await, world.client().await);
    for guard in [
        here.write("w").lease(SHORT).acquire().await.unwrap(),
        here.read("r").lease(SHORT).acquire().await.unwrap(),
    ] {
        tokio::time::sleep(SHORT * 4).await;
        assert!(guard.is_held());
        assert_eq!(guard.state(), LeaseState::Renewed);
        assert!(there.write(guard.key()).try_acquire().await.is_err());
        guard.release().await.unwrap();
    }
}

async fn a_hold_with_both_modes_is_renewed(world: World) {
    let (here, there) = (world.client().await, world.client().await);
    let scope = here.scope();
    let write = scope.write("k").lease(SHORT).acquire().await.unwrap();
    let read = scope.read("k").lease(SHORT).acquire().await.unwrap();
    let inner = scope.read("k").lease(SHORT).acquire().await.unwrap();
    // Redisson's watchdog stops here: a read released inside a write.
    inner.release().await.unwrap();
    tokio::time::sleep(SHORT * 3).await;
    assert!(write.is_held() && read.is_held());
    write.release().await.unwrap();
    tokio::time::sleep(SHORT * 3).await;
    assert!(read.is_held());
    assert!(there.write("k").try_acquire().await.is_err());
    read.release().await.unwrap();
}

async fn a_lease_that_is_not_renewed_passes_on(world: World) {
    let (here, there) = (world.client().await, world.client().await);
    let guard = here.write("k").lease(SHORT).renew(false).acquire().await.unwrap();
    let next = there.write("k").wait(LONG).acquire().await.unwrap();
    assert!(!guard.is_held(), "the holder knew before the next one entered");
    assert_eq!(soon(guard.lost()).await.cause(), LostCause::Expired);
    assert!(matches!(guard.release().await, Err(ReleaseError::Lost(_))));
    assert!(next.is_held());
    next.release().await.unwrap();
}

async fn a_removed_lock_is_lost(world: World) {
    let (here, there) = (world.client().await, world.client().await);
    for mode in [lock_core::Mode::Write, lock_core::Mode::Read] {
        let guard = here.lock(mode, "k").lease(SHORT).acquire().await.unwrap();
        world.remove("k").await;
        let lost = soon(guard.lost()).await;
        assert_eq!(lost.cause(), LostCause::Refused);
        assert_eq!(guard.state(), LeaseState::Lost);
        let next = there.write("k").wait(LONG).acquire().await.unwrap();
        assert!(matches!(guard.release().await, Err(ReleaseError::Lost(_))));
        assert!(next.is_held());
        next.release().await.unwrap();
    }
    let guard = here.write("k").acquire().await.unwrap();
    world.remove("k").await;
    let error = guard.release().await.unwrap_err();
    assert!(matches!(error, ReleaseError::Lost(_)), "a lost lock is not cleanly released: {error}");
}

async fn a_scope_cannot_enter_a_lost_hold(world: World) {
    let here = world.client().await;
    let scope = here.scope();
    let guard = scope.write("k").acquire().await.unwrap();
    world.remove("k").await;
    let inner = scope.write("k").acquire().await;
    assert!(matches!(inner, Err(AcquireError::Lost(_))), "{inner:?}");
    assert!(!guard.is_held());
    drop(guard);
    scope.write("k").acquire().await.unwrap().release().await.unwrap();
}

async fn the_longest_lease_of_a_hold_wins(world: World) {
    let here = world.client().await;
    let scope = here.scope();
    let outer = scope.write("k").lease(LONG).acquire().await.unwrap();
    let inner = scope.write("k").lease(SHORT).acquire().await.unwrap();
    assert!(inner.remaining() > LONG / 2);
    inner.release().await.unwrap();
    assert!(outer.remaining() > LONG / 2, "a shorter lease inside does not shorten the outer one");
    outer.release().await.unwrap();
    let outer = scope.read("k").lease(SHORT).acquire().await.unwrap();
    let inner = scope.read("k").lease(LONG).acquire().await.unwrap();
    inner.release().await.unwrap();
    assert!(outer.remaining() > LONG / 2);
}

async fn max_hold_passes_the_lock_on(world: World) {
    let (here, there) = (world.client().await, world.client().await);
    let guard = here.write("k").lease(LONG).max_hold(SHORT).acquire().await.unwrap();
    let next = there.write("k").wait(LONG / 2).acquire().await.unwrap();
    assert_eq!(soon(guard.lost()).await.cause(), LostCause::MaxHold);
    next.release().await.unwrap();
    drop(guard);
    eventually("the client has nothing left", LIMIT, async || here.health().await.holds == 0).await;
}
