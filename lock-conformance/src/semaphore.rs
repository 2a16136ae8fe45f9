//! A number of permits, each with a lease.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use super::store_under_test::{LONG, StoreUnderTest, refused, soon};
use crate::{LIMIT, Stopwatch, bounded, eventually};
use lock_core::{AcquireError, LockClient, LostCause};
use tokio::task::JoinSet;

pub(super) async fn as_many_as_there_are_permits(world: StoreUnderTest) {
    let (here, there) = (world.client().await, world.client().await);
    let (one, two) = (here.semaphore("k", 2), there.semaphore("k", 2));
    assert_eq!(one.free_permits().await.unwrap(), 2);
    let first = one.permit().try_acquire().await.unwrap();
    let second = two.permit().try_acquire().await.unwrap();
    assert!(matches!(one.permit().try_acquire().await, Err(AcquireError::Busy(_))));
    assert_eq!(two.free_permits().await.unwrap(), 0);
    first.release().await.unwrap();
    let third = two.permit().try_acquire().await.unwrap();
    second.release().await.unwrap();
    third.release().await.unwrap();
    assert_eq!(one.free_permits().await.unwrap(), 2);
}

pub(super) async fn tries_at_the_same_time_all_get_what_is_free(world: StoreUnderTest) {
    let semaphore = world.client().await.semaphore("k", 3);
    let try_one = || semaphore.permit().try_acquire();
    let (one, two, three) = tokio::join!(try_one(), try_one(), try_one());
    let permits = (one.unwrap(), two.unwrap(), three.unwrap());
    assert!(matches!(try_one().await, Err(AcquireError::Busy(_))));
    drop(permits);
}

pub(super) async fn a_scope_takes_one_permit_more_each_time(world: StoreUnderTest) {
    let client = world.client().await;
    let (scope, semaphore) = (client.scope(), client.semaphore("k", 2));
    let one = semaphore.permit().in_scope(&scope).try_acquire().await.unwrap();
    let two = semaphore.permit().in_scope(&scope).try_acquire().await.unwrap();
    assert!(semaphore.permit().in_scope(&scope).try_acquire().await.is_err());
    drop((one, two));
}

pub(super) async fn a_returned_permit_wakes_the_waiter(world: StoreUnderTest) {
    let (here, there) = (world.client().await, world.client().await);
    let permit = here.semaphore("k", 1).permit().acquire().await.unwrap();
    let watch = Stopwatch::start();
    let waiter = tokio::spawn(there.semaphore("k", 1).permit().wait(LONG).acquire());
    refused(&there).await;
    permit.release().await.unwrap();
    watch.within(world.woken(), waiter).await.unwrap().unwrap().release().await.unwrap();
}

pub(super) async fn permits_are_renewed_and_return_with_their_lease(world: StoreUnderTest) {
    let (here, there) = (world.client().await, world.client().await);
    let semaphore = here.semaphore("k", 2);
    let kept = semaphore.permit().lease(world.short()).acquire().await.unwrap();
    let left = semaphore.permit().lease(world.short()).renew(false).acquire().await.unwrap();
    let next = there.semaphore("k", 2).permit().wait(LONG).acquire().await.unwrap();
    assert!(!left.is_held());
    assert_eq!(soon(left.lost()).await.cause(), LostCause::Expired);
    assert!(left.release().await.is_err());
    tokio::time::sleep(world.short() * 3).await;
    assert!(kept.is_held() && next.is_held());
    assert!(there.semaphore("k", 2).permit().try_acquire().await.is_err());
}

pub(super) async fn more_and_fewer_permits(world: StoreUnderTest) {
    let client = world.client().await;
    let semaphore = client.semaphore("k", 1);
    let first = semaphore.permit().acquire().await.unwrap();
    let waiter = tokio::spawn(semaphore.permit().wait(LONG).acquire());
    eventually("it waits", LIMIT, async || client.health().await.holds == 2).await;
    assert!(semaphore.set_permits(2).await.unwrap() >= 0);
    let second = soon(waiter).await.unwrap().unwrap();
    // No permit is lost: the next one is granted once enough were returned.
    assert_eq!(semaphore.set_permits(1).await.unwrap(), -1);
    assert!(first.is_held() && second.is_held());
    first.release().await.unwrap();
    assert!(semaphore.permit().try_acquire().await.is_err());
    second.release().await.unwrap();
    semaphore.permit().try_acquire().await.unwrap().release().await.unwrap();
    assert_eq!(semaphore.free_permits().await.unwrap(), 1);
}

pub(super) async fn the_first_acquisition_sets_the_number_of_permits(world: StoreUnderTest) {
    let (here, there) = (world.client().await, world.client().await);
    let (first, other) = (here.semaphore("k", 2), there.semaphore("k", 5));
    assert_eq!((first.free_permits().await.unwrap(), other.free_permits().await.unwrap()), (2, 5));
    let _permit = first.permit().acquire().await.unwrap();
    assert_eq!(other.free_permits().await.unwrap(), 1);
    let _last = other.permit().acquire().await.unwrap();
    assert!(other.permit().try_acquire().await.is_err());
    let warns = async |client: &LockClient| {
        let is_named = |warning: &String| warning.contains("`k` has 2 permits in Redis");
        client.health().await.warnings.iter().any(is_named)
    };
    assert!(warns(&there).await && !warns(&here).await);
    other.set_permits(5).await.unwrap();
    let _more = other.permit().acquire().await.unwrap();
    assert!(!warns(&there).await);
}

/// As in a rolling deploy: replicas of two versions, each with a different number.
pub(super) async fn each_client_counts_by_its_own_number(world: StoreUnderTest) {
    if world.stores_permits() {
        return;
    }
    let (old, new) =
        (world.client().await.semaphore("k", 3), world.client().await.semaphore("k", 1));
    assert_eq!((old.free_permits().await.unwrap(), new.free_permits().await.unwrap()), (3, 1));
    let first = new.permit().try_acquire().await.unwrap();
    assert!(matches!(new.permit().try_acquire().await, Err(AcquireError::Busy(_))));
    let second = old.permit().try_acquire().await.unwrap();
    let third = old.permit().try_acquire().await.unwrap();
    assert!(matches!(old.permit().try_acquire().await, Err(AcquireError::Busy(_))));
    assert_eq!((old.free_permits().await.unwrap(), new.free_permits().await.unwrap()), (0, -2));
    first.release().await.unwrap();
    second.release().await.unwrap();
    assert!(matches!(new.permit().try_acquire().await, Err(AcquireError::Busy(_))));
    third.release().await.unwrap();
    new.permit().try_acquire().await.unwrap().release().await.unwrap();
}

/// A waiter with a small number is woken when those in use fit into it, and not before.
pub(super) async fn waiters_of_two_numbers_are_granted_in_order(world: StoreUnderTest) {
    if world.stores_permits() {
        return;
    }
    let [here, there, elsewhere] =
        [world.client().await, world.client().await, world.client().await];
    let large = here.semaphore("k", 3);
    let first = large.permit().acquire().await.unwrap();
    let second = large.permit().acquire().await.unwrap();
    let small = tokio::spawn(there.semaphore("k", 1).permit().wait(LONG).acquire());
    refused(&there).await;
    first.release().await.unwrap();
    assert!(!small.is_finished());
    let watch = Stopwatch::start();
    second.release().await.unwrap();
    let small = watch.within(world.woken(), small).await.unwrap().unwrap();
    // Behind the one of the small number: both fit into three.
    let next = elsewhere.semaphore("k", 3).permit().try_acquire().await.unwrap();
    drop((small, next));
}

/// The number of permits is kept for as long as a permit at most. (Folders of a store with sessions stay.)
pub(super) async fn nothing_is_left_of_a_semaphore(world: StoreUnderTest) {
    if world.stores_permits() {
        return;
    }
    let client = world.client().await;
    let semaphore = client.semaphore("k", 2);
    let permits = [semaphore.permit().acquire().await, semaphore.permit().acquire().await];
    assert_eq!(client.inspect("k").await.unwrap().holders.len(), 2);
    for permit in permits {
        permit.unwrap().release().await.unwrap();
    }
    let listed = async || client.list("", 10).await.unwrap().keys;
    assert!(listed().await.is_empty(), "{:?}", listed().await);
}

pub(super) async fn crowds_never_exceed_it(world: StoreUnderTest) {
    let inside = Arc::new(AtomicUsize::new(0));
    let mut tasks = JoinSet::new();
    for _ in 0..3 {
        let client = world.client().await;
        for _ in 0..3 {
            let (client, inside) = (client.clone(), Arc::clone(&inside));
            tasks.spawn(async move {
                for _ in 0..15 {
                    let ask = client.semaphore("k", 3).permit().wait(LONG * 3);
                    let permit = ask.acquire().await.unwrap();
                    assert!(inside.fetch_add(1, Ordering::SeqCst) < 3);
                    tokio::task::yield_now().await;
                    inside.fetch_sub(1, Ordering::SeqCst);
                    drop(permit);
                }
            });
        }
    }
    bounded(LIMIT * 4, tasks.join_all()).await;
    let client = world.client().await;
    let semaphore = client.semaphore("k", 3);
    eventually("all are back", LIMIT, async || semaphore.free_permits().await.unwrap() == 3).await;
}

pub(super) async fn several_permits_are_granted_at_once_or_not_at_all(world: StoreUnderTest) {
    let (here, there) = (world.client().await, world.client().await);
    let (one, other) = (here.semaphore("k", 4), there.semaphore("k", 4));
    let three = one.permits(3).try_acquire().await.unwrap();
    assert_eq!(three.permits(), 3);
    assert!(matches!(other.permits(2).try_acquire().await, Err(AcquireError::Busy(_))));
    assert_eq!(other.free_permits().await.unwrap(), 1);
    let last = other.permit().try_acquire().await.unwrap();
    let seen = here.inspect("k").await.unwrap();
    let mut held: Vec<u32> = seen.holders.iter().map(|holder| holder.writes).collect();
    held.sort_unstable();
    assert_eq!((held, seen.free_permits), (vec![1, 3], world.stores_permits().then_some(0)));
    three.release().await.unwrap();
    assert_eq!(one.free_permits().await.unwrap(), 3);
    last.release().await.unwrap();
    let all = other.permits(4).try_acquire().await.unwrap();
    assert!(one.permit().try_acquire().await.is_err());
    all.release().await.unwrap();
    assert_eq!(one.free_permits().await.unwrap(), 4);
}

pub(super) async fn a_waiter_that_wants_many_is_not_passed(world: StoreUnderTest) {
    let [here, there, elsewhere] =
        [world.client().await, world.client().await, world.client().await];
    let first = here.semaphore("k", 3).permits(2).acquire().await.unwrap();
    let many = tokio::spawn(there.semaphore("k", 3).permits(3).wait(LONG).acquire());
    refused(&there).await;
    // One is free, and kept for the waiter that came first.
    let few = elsewhere.semaphore("k", 3);
    assert!(matches!(few.permit().try_acquire().await, Err(AcquireError::Busy(_))));
    let few = tokio::spawn(few.permit().wait(LONG).acquire());
    refused(&elsewhere).await;
    first.release().await.unwrap();
    let many = soon(many).await.unwrap().unwrap();
    assert!(!few.is_finished());
    many.release().await.unwrap();
    soon(few).await.unwrap().unwrap().release().await.unwrap();
}

pub(super) async fn a_large_waiter_that_leaves_lets_smaller_ones_in(world: StoreUnderTest) {
    let [here, there, elsewhere] =
        [world.client().await, world.client().await, world.client().await];
    let first = here.semaphore("k", 3).permits(2).acquire().await.unwrap();
    let many = tokio::spawn(there.semaphore("k", 3).permits(3).wait(LONG).acquire());
    refused(&there).await;
    let few = tokio::spawn(elsewhere.semaphore("k", 3).permit().wait(LONG).acquire());
    refused(&elsewhere).await;
    assert!(!few.is_finished());
    many.abort();
    soon(few).await.unwrap().unwrap().release().await.unwrap();
    first.release().await.unwrap();
    let semaphore = here.semaphore("k", 3);
    eventually("all are back", LIMIT, async || semaphore.free_permits().await.unwrap() == 3).await;
}

pub(super) async fn several_permits_are_renewed_and_return_together(world: StoreUnderTest) {
    let (here, there) = (world.client().await, world.client().await);
    let semaphore = here.semaphore("k", 4);
    let kept = semaphore.permits(2).lease(world.short()).acquire().await.unwrap();
    let left = semaphore.permits(2).lease(world.short()).renew(false).acquire().await.unwrap();
    let next = there.semaphore("k", 4).permits(2).wait(LONG).acquire().await.unwrap();
    assert!(!left.is_held());
    assert_eq!(soon(left.lost()).await.cause(), LostCause::Expired);
    tokio::time::sleep(world.short() * 3).await;
    assert!(kept.is_held() && next.is_held());
    assert!(there.semaphore("k", 4).permit().try_acquire().await.is_err());
    kept.release().await.unwrap();
    next.release().await.unwrap();
    assert_eq!(semaphore.free_permits().await.unwrap(), 4);
}

pub(super) async fn a_semaphore_without_permits_is_refused(world: StoreUnderTest) {
    let client = world.client().await;
    for (wanted, of) in [(0, 3), (4, 3)] {
        let refused = client.semaphore("k", of).permits(wanted).acquire().await.unwrap_err();
        assert!(matches!(refused, AcquireError::InvalidOptions(_)), "{refused}");
        assert!(refused.to_string().contains(&format!("{wanted} permits")), "{refused}");
    }
    let refused = client.semaphore("k", 0).permit().acquire().await.unwrap_err();
    assert!(matches!(refused, AcquireError::InvalidOptions(_)), "{refused}");
}
