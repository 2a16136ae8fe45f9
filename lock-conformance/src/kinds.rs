//! Common behaviour of all kinds of locks, and their differences.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use super::store_under_test::{LONG, StoreUnderTest, refused, soon, written};
use crate::{LIMIT, Stopwatch, eventually};
use lock_core::{Acquire, AcquireError, DowngradeError, Kind, LockClient, LostCause, ReleaseError};
use tokio::task::JoinSet;

fn busy<G>(answer: Result<G, AcquireError>) -> bool {
    matches!(answer, Err(AcquireError::Busy(_)))
}

pub(super) async fn one_holder_at_a_time(world: StoreUnderTest) {
    let (here, there) = (world.client().await, world.client().await);
    for kind in world.locks() {
        let guard = written(&here, kind, "k").try_acquire().await.unwrap();
        assert!(busy(written(&there, kind, "k").try_acquire().await), "{kind}: other process");
        assert!(busy(written(&here, kind, "k").try_acquire().await), "{kind}: same process");
        guard.release().await.unwrap();
        written(&there, kind, "k").try_acquire().await.unwrap().release().await.unwrap();
        written(&here, kind, "k").try_acquire().await.unwrap().release().await.unwrap();
    }
}

pub(super) async fn re_entry_by_kind(world: StoreUnderTest) {
    let (here, there) = (world.client().await, world.client().await);
    for kind in world.locks() {
        let scope = here.scope();
        let ask = || written(&here, kind, "k").in_scope(&scope).wait(LONG);
        let outer = ask().acquire().await.unwrap();
        if kind == Kind::NonReentrant {
            // It would wait for itself forever.
            for inner in [ask().acquire().await, ask().try_acquire().await] {
                assert!(matches!(inner, Err(AcquireError::AlreadyHeld { .. })), "{inner:?}");
            }
        } else {
            let inner = ask().acquire().await.unwrap();
            assert_eq!(inner.fencing_token(), outer.fencing_token());
            inner.release().await.unwrap();
            assert!(busy(written(&there, kind, "k").try_acquire().await), "{kind}: one is left");
        }
        assert!(outer.is_held());
        outer.release().await.unwrap();
        written(&there, kind, "k").try_acquire().await.unwrap().release().await.unwrap();
    }
}

pub(super) async fn tokens_grow_for_every_kind(world: StoreUnderTest) {
    let clients = [world.client().await, world.client().await];
    let mut last = None;
    for round in 0..3 {
        // The plain kinds share one lock, and one sequence of tokens.
        let plain = [Kind::Fenced, Kind::Reentrant, Kind::Fair, Kind::NonReentrant];
        for kind in plain.into_iter().filter(|kind| world.supports(*kind)) {
            let guard = written(&clients[round % 2], kind, "k").acquire().await.unwrap();
            assert!(last < Some(guard.fencing_token()), "{kind}");
            last = Some(guard.fencing_token());
            guard.release().await.unwrap();
        }
    }
}

pub(super) async fn a_release_wakes_the_next_of_its_kind(world: StoreUnderTest) {
    let (here, there) = (world.client().await, world.client().await);
    for kind in world.locks() {
        let guard = written(&here, kind, "k").acquire().await.unwrap();
        let watch = Stopwatch::start();
        let waiter = tokio::spawn(written(&there, kind, "k").wait(LONG).acquire());
        refused(&there).await;
        guard.release().await.unwrap();
        watch.within(world.woken(), waiter).await.unwrap().unwrap().release().await.unwrap();
        eventually("released", LIMIT, async || there.health().await.holds == 0).await;
    }
}

pub(super) async fn leases_are_renewed_and_end(world: StoreUnderTest) {
    let (here, there) = (world.client().await, world.client().await);
    let mut renewed = Vec::new();
    let mut left = Vec::new();
    for kind in world.locks() {
        let (one, other) = (format!("renewed:{kind}"), format!("left:{kind}"));
        renewed
            .push((kind, written(&here, kind, &one).lease(world.short()).acquire().await.unwrap()));
        let once = written(&here, kind, &other).lease(world.short()).renew(false);
        left.push((kind, once.acquire().await.unwrap()));
    }
    for (kind, guard) in left {
        let next = written(&there, kind, guard.key().as_str()).wait(LONG).acquire().await.unwrap();
        assert!(!guard.is_held(), "{kind}: the holder knew before the next one entered");
        assert_eq!(soon(guard.lost()).await.cause(), LostCause::Expired);
        assert!(matches!(guard.release().await, Err(ReleaseError::Lost(_))));
        assert!(next.is_held(), "{kind}: a late release touches nothing");
        next.release().await.unwrap();
    }
    tokio::time::sleep(world.short() * 3).await;
    for (kind, guard) in renewed {
        assert!(guard.is_held(), "{kind}");
        assert!(busy(written(&there, kind, guard.key().as_str()).try_acquire().await), "{kind}");
        guard.release().await.unwrap();
    }
}

pub(super) async fn a_removed_lock_of_any_kind_is_lost(world: StoreUnderTest) {
    let (here, there) = (world.client().await, world.client().await);
    for kind in world.locks() {
        let guard = written(&here, kind, "k").lease(world.short()).acquire().await.unwrap();
        world.remove("k").await;
        assert_eq!(soon(guard.lost()).await.cause(), LostCause::Refused, "{kind}");
        let next = written(&there, kind, "k").wait(LONG).acquire().await.unwrap();
        assert!(matches!(guard.release().await, Err(ReleaseError::Lost(_))), "{kind}");
        assert!(next.is_held());
        next.release().await.unwrap();
    }
}

pub(super) async fn crowds_never_overlap(world: StoreUnderTest) {
    let locks = world.locks().len();
    let mut tasks = JoinSet::new();
    let entered = Arc::new(AtomicUsize::new(0));
    for kind in world.locks() {
        let inside = Arc::new(AtomicUsize::new(0));
        for _ in 0..3 {
            let client = world.client().await;
            for _ in 0..3 {
                let (client, inside, entered) = (client.clone(), inside.clone(), entered.clone());
                tasks.spawn(async move {
                    for _ in 0..8 {
                        let ask = written(&client, kind, &format!("crowd:{kind}")).wait(LONG * 3);
                        let guard = ask.acquire().await.unwrap();
                        assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0, "{kind}");
                        tokio::task::yield_now().await;
                        inside.fetch_sub(1, Ordering::SeqCst);
                        entered.fetch_add(1, Ordering::SeqCst);
                        drop(guard);
                    }
                });
            }
        }
    }
    crate::bounded(LIMIT * 4, tasks.join_all()).await;
    assert_eq!(entered.load(Ordering::SeqCst), locks * 72);
}

pub(super) async fn a_wait_that_is_over_or_abandoned_leaves_nothing(world: StoreUnderTest) {
    let (here, there) = (world.client().await, world.client().await);
    for kind in world.locks() {
        let guard = written(&here, kind, "k").acquire().await.unwrap();
        let requested = tokio::time::Instant::now();
        let over = written(&there, kind, "k").wait(world.short() / 3).acquire().await;
        assert!(busy(over) && requested.elapsed() >= world.short() / 3, "{kind}");
        let abandoned = tokio::spawn(written(&there, kind, "k").wait(LONG).acquire());
        eventually("it waits", LIMIT, async || there.health().await.holds > 0).await;
        abandoned.abort();
        eventually("it left nothing", LIMIT, async || there.health().await.holds == 0).await;
        guard.release().await.unwrap();
        // A waiter that had kept its place would be next.
        written(&here, kind, "k").try_acquire().await.unwrap().release().await.unwrap();
    }
}

pub(super) async fn locks_without_readers(world: StoreUnderTest) {
    let client = world.client().await;
    for kind in world.locks().into_iter().filter(|kind| !kind.has_readers()) {
        let refused = client.read("k").kind(kind).acquire().await.unwrap_err();
        assert!(matches!(refused, AcquireError::InvalidOptions(_)), "{kind}: {refused}");
        let mut guard = written(&client, kind, "k").acquire().await.unwrap();
        let refused = guard.downgrade().await.unwrap_err();
        assert!(matches!(refused, DowngradeError::NoReaders { .. }), "{kind}: {refused}");
        assert!(guard.is_held());
        guard.release().await.unwrap();
    }
    assert_eq!(client.health().await.holds, 0);
}

/// One kind for each state that a store keeps.
const SHAPES: [Kind; 4] = [Kind::ReadWrite, Kind::FairReadWrite, Kind::Reentrant, Kind::Fair];

pub(super) async fn shapes_refuse_each_other(world: StoreUnderTest) {
    fn wrong<G>(answer: Result<G, AcquireError>) -> bool {
        matches!(answer, Err(AcquireError::WrongKind(_)))
    }
    let (here, there) = (world.client().await, world.client().await);
    let ask = |client: &LockClient, kind, key: &str| -> Acquire { written(client, kind, key) };
    for held in SHAPES {
        for requested in SHAPES {
            let key = format!("{held}:{requested}");
            let guard = ask(&here, held, &key).acquire().await.unwrap();
            let refused = ask(&there, requested, &key).wait(world.short() / 3).acquire().await;
            if world.is_same_shape(held, requested) {
                assert!(busy(refused), "{requested} on {held}");
            } else {
                assert!(wrong(refused), "{requested} on {held}");
            }
            guard.release().await.unwrap();
            ask(&there, requested, &key).acquire().await.unwrap().release().await.unwrap();
        }
        let key = format!("{held}:semaphore");
        let guard = ask(&here, held, &key).acquire().await.unwrap();
        assert!(wrong(there.semaphore(&*key, 1).permit().acquire().await), "semaphore on {held}");
        guard.release().await.unwrap();
        let permit = there.semaphore(&*key, 1).permit().acquire().await.unwrap();
        assert!(wrong(ask(&here, held, &key).acquire().await), "{held} on a semaphore");
        permit.release().await.unwrap();
    }
}
