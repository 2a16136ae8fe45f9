//! Leases on a running clock: renewal, loss, and the next holder.

use lock_core::{AcquireError, Kind, LeaseState, LostCause, Mode, ReleaseError};

use super::store_under_test::{LONG, NEVER, StoreUnderTest, soon, written};
use crate::{LIMIT, eventually};

pub(super) async fn a_lease_is_renewed(world: StoreUnderTest) {
    let (here, there) = (world.client().await, world.client().await);
    for guard in [
        here.write("w").lease(world.short()).acquire().await.unwrap(),
        here.read("r").lease(world.short()).acquire().await.unwrap(),
    ] {
        tokio::time::sleep(world.short() * 4).await;
        assert!(guard.is_held());
        assert_eq!(guard.state(), LeaseState::Renewed);
        assert!(there.write(guard.key()).try_acquire().await.is_err());
        guard.release().await.unwrap();
    }
}

pub(super) async fn a_hold_with_both_modes_is_renewed(world: StoreUnderTest) {
    let (here, there) = (world.client().await, world.client().await);
    let scope = here.scope();
    let write = scope.write("k").lease(world.short()).acquire().await.unwrap();
    let read = scope.read("k").lease(world.short()).acquire().await.unwrap();
    let inner = scope.read("k").lease(world.short()).acquire().await.unwrap();
    // Redisson's watchdog stops here: a read released inside a write.
    inner.release().await.unwrap();
    tokio::time::sleep(world.short() * 3).await;
    assert!(write.is_held() && read.is_held());
    write.release().await.unwrap();
    tokio::time::sleep(world.short() * 3).await;
    assert!(read.is_held());
    assert!(there.write("k").try_acquire().await.is_err());
    read.release().await.unwrap();
}

pub(super) async fn a_lease_that_is_not_renewed_passes_on(world: StoreUnderTest) {
    let (here, there) = (world.client().await, world.client().await);
    let guard = here.write("k").lease(world.short()).renew(false).acquire().await.unwrap();
    let next = there.write("k").wait(LONG).acquire().await.unwrap();
    assert!(!guard.is_held(), "the holder knew before the next one entered");
    assert_eq!(soon(guard.lost()).await.cause(), LostCause::Expired);
    assert!(matches!(guard.release().await, Err(ReleaseError::Lost(_))));
    assert!(next.is_held());
    next.release().await.unwrap();
}

pub(super) async fn a_hold_is_renewed_on_demand(world: StoreUnderTest) {
    let (here, there) = (world.client().await, world.client().await);
    let lease = world.short();
    let read = here.read("r").lease(lease).renew(false).acquire().await.unwrap();
    let fair = here.fair("f").lease(lease).renew(false).acquire().await.unwrap();
    let permit = here.semaphore("s", 1).permit().lease(lease).renew(false);
    let permit = permit.acquire().await.unwrap();
    // To beyond the end of the first leases.
    for _ in 0..3 {
        tokio::time::sleep(lease / 2).await;
        for guard in [&read, &fair] {
            guard.ensure(lease * 3 / 4).await.unwrap();
        }
        permit.ensure(lease * 3 / 4).await.unwrap();
    }
    assert!(there.write("r").try_acquire().await.is_err());
    assert!(there.fair("f").try_acquire().await.is_err());
    assert!(there.semaphore("s", 1).permit().try_acquire().await.is_err());
    read.release().await.unwrap();
    fair.release().await.unwrap();
    permit.release().await.unwrap();
}

pub(super) async fn a_removed_lock_is_lost(world: StoreUnderTest) {
    let (here, there) = (world.client().await, world.client().await);
    for mode in [Mode::Write, Mode::Read] {
        let guard = here.lock(mode, "k").lease(world.short()).acquire().await.unwrap();
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

pub(super) async fn a_scope_cannot_enter_a_lost_hold(world: StoreUnderTest) {
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

pub(super) async fn the_longest_lease_of_a_hold_wins(world: StoreUnderTest) {
    let here = world.client().await;
    let scope = here.scope();
    let outer = scope.write("k").lease(LONG).acquire().await.unwrap();
    let inner = scope.write("k").lease(world.short()).acquire().await.unwrap();
    assert!(inner.remaining() > LONG / 2);
    inner.release().await.unwrap();
    assert!(outer.remaining() > LONG / 2, "a shorter lease inside does not shorten the outer one");
    outer.release().await.unwrap();
    let outer = scope.read("k").lease(world.short()).acquire().await.unwrap();
    let inner = scope.read("k").lease(LONG).acquire().await.unwrap();
    inner.release().await.unwrap();
    assert!(outer.remaining() > LONG / 2);
}

pub(super) async fn max_hold_passes_the_lock_on(world: StoreUnderTest) {
    let (here, there) = (world.client().await, world.client().await);
    let guard = here.write("k").max_hold(world.short()).acquire().await.unwrap();
    let next = there.write("k").wait(LONG / 2).acquire().await.unwrap();
    assert_eq!(soon(guard.lost()).await.cause(), LostCause::MaxHold);
    next.release().await.unwrap();
    drop(guard);
    eventually("the client has nothing left", LIMIT, async || here.health().await.holds == 0).await;
}

pub(super) async fn an_earlier_lease_counts_for_no_later_acquisition(world: StoreUnderTest) {
    let (here, there) = (world.client().await, world.client().await);
    let left = async || there.inspect("k").await.unwrap().remaining;
    for mode in [Mode::Write, Mode::Read] {
        let short = here.lock(mode, "k").lease(world.short()).renew(false).acquire().await.unwrap();
        soon(short.lost()).await;
        drop(short);
        let guard = here.lock(mode, "k").wait(LONG).acquire().await.unwrap();
        assert!(left().await.is_some_and(|left| left > NEVER / 2 && left <= NEVER));
        guard.release().await.unwrap();
        assert_eq!(left().await, None);
    }
}

pub(super) async fn a_writer_waits_for_the_longest_read(world: StoreUnderTest) {
    let (here, there) = (world.client().await, world.client().await);
    for kind in [Kind::ReadWrite, Kind::FairReadWrite] {
        let read = |lease| here.read("k").kind(kind).lease(lease).renew(false).acquire();
        let long = read(world.short() * 5).await.unwrap();
        let short = read(world.short()).await.unwrap();
        let writer = written(&there, kind, "k").wait(LONG).acquire().await.unwrap();
        for read in [short, long] {
            assert!(!read.is_held(), "{kind}");
            assert!(matches!(read.release().await, Err(ReleaseError::Lost(_))), "{kind}");
        }
        assert!(writer.is_held());
        writer.release().await.unwrap();
    }
}

pub(super) async fn readers_enter_when_the_writers_lease_is_over(world: StoreUnderTest) {
    let (here, there) = (world.client().await, world.client().await);
    for kind in [Kind::ReadWrite, Kind::FairReadWrite] {
        let once =
            written(&here, kind, "k").lease(world.short()).renew(false).acquire().await.unwrap();
        let read = || there.read("k").kind(kind).wait(LONG).acquire();
        let (one, two) = tokio::join!(read(), read());
        assert!(!once.is_held(), "{kind}");
        for read in [one, two] {
            read.unwrap().release().await.unwrap();
        }
    }
}

pub(super) async fn a_hold_that_was_entered_and_left_is_renewed(world: StoreUnderTest) {
    let (here, there) = (world.client().await, world.client().await);
    let mut guards = Vec::new();
    for kind in world.locks().into_iter().filter(|kind| *kind != Kind::NonReentrant) {
        let (scope, key) = (here.scope(), format!("k:{kind}"));
        let take = || written(&here, kind, &key).in_scope(&scope).lease(world.short()).acquire();
        let outer = take().await.unwrap();
        take().await.unwrap().release().await.unwrap();
        guards.push((kind, outer));
    }
    tokio::time::sleep(world.short() * 3).await;
    for (kind, guard) in guards {
        assert!(guard.is_held(), "{kind}");
        let other = written(&there, kind, guard.key().as_str()).try_acquire().await;
        assert!(matches!(other, Err(AcquireError::Busy(_))), "{kind}");
        guard.release().await.unwrap();
    }
}
