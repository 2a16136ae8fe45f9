//! Several locks at once, all or nothing.

use super::store_under_test::{LONG, StoreUnderTest, soon, written};
use crate::{LIMIT, bounded};
use lock_core::{AcquireError, Kind, LockClient, Member};
use tokio::task::JoinSet;

/// One lock of each kind, each under another key.
fn one_of_each(client: &LockClient) -> [Member; 7] {
    [
        client.read("read").into(),
        client.write("write").into(),
        client.reentrant("reentrant").into(),
        client.fair("fair").into(),
        client.fenced("fenced").into(),
        client.fair_write("fair_write").into(),
        client.semaphore("semaphore", 1).permit().into(),
    ]
}

pub(super) async fn all_or_nothing_for_all_kinds(world: StoreUnderTest) {
    let (here, there) = (world.client().await, world.client().await);
    let all = here.multi_lock(one_of_each(&here)).acquire().await.unwrap();
    for key in ["read", "write", "reentrant", "fair", "fenced", "fair_write"] {
        assert!(all.fencing_token(key).is_some(), "{key}");
    }
    assert!(there.multi_lock(one_of_each(&there)).try_acquire().await.is_err());
    assert!(there.write("read").try_acquire().await.is_err());
    assert!(there.semaphore("semaphore", 1).permit().try_acquire().await.is_err());
    all.release().await.unwrap();
    there.multi_lock(one_of_each(&there)).try_acquire().await.unwrap().release().await.unwrap();
}

pub(super) async fn the_refused_one_is_waited_for_with_nothing_held(world: StoreUnderTest) {
    let (here, there) = (world.client().await, world.client().await);
    // Both keys are in one slot of a cluster, so one command can acquire them.
    let (a, b) = ("{m}a", "{m}b");
    let both = |client: &LockClient| client.multi_lock([client.write(a), client.write(b)]);
    let held = there.write(b).acquire().await.unwrap();
    let waiter = tokio::spawn(both(&here).wait(LONG).acquire());
    world.until_waiters(&there, b, 1).await;
    there.write(a).try_acquire().await.unwrap().release().await.unwrap();
    held.release().await.unwrap();
    soon(waiter).await.unwrap().unwrap().release().await.unwrap();
}

/// Two limits and a lock. A waiter at the limit of one tenant has no permit of the limit of all.
pub(super) async fn a_limit_that_is_waited_for_takes_nothing_of_the_others(world: StoreUnderTest) {
    let (here, there) = (world.client().await, world.client().await);
    let (all, tenant, report) = ("{m}all", "{m}tenant", "{m}report");
    let three = |client: &LockClient| {
        let members: [Member; 3] = [
            client.semaphore(all, 2).permit().into(),
            client.semaphore(tenant, 1).permit().into(),
            client.write(report).into(),
        ];
        client.multi_lock(members)
    };
    let held = there.semaphore(tenant, 1).permit().acquire().await.unwrap();
    let refused = three(&here).try_acquire().await.unwrap_err();
    let AcquireError::Busy(busy) = refused else { panic!("{refused}") };
    assert_eq!(busy.key().as_str(), tenant);
    let waiter = tokio::spawn(three(&here).wait(LONG).acquire());
    world.until_waiters(&there, tenant, 1).await;
    let both = there.semaphore(all, 2).permits(2).try_acquire().await.unwrap();
    let writer = there.write(report).try_acquire().await.unwrap();
    held.release().await.unwrap();
    both.release().await.unwrap();
    writer.release().await.unwrap();
    let guard = soon(waiter).await.unwrap().unwrap();
    assert_eq!(there.semaphore(all, 2).free_permits().await.unwrap(), 1);
    guard.release().await.unwrap();
    there.semaphore(all, 2).permits(2).try_acquire().await.unwrap().release().await.unwrap();
}

/// Two limits. By the order of arrival at each, those that come from one to the other would be behind each
/// other at both, in turns, and permits of both stay free.
pub(super) async fn one_that_comes_from_another_limit_passes_those_that_have_waited_less(
    world: StoreUnderTest,
) {
    let (here, there) = (world.client().await, world.client().await);
    let holders = world.client().await;
    let (all, tenant) = ("{m}all", "{m}tenant");
    let one_of = |client: &LockClient, limit| client.semaphore(limit, 1).permit();
    let of_tenant = one_of(&holders, tenant).acquire().await.unwrap();
    let both = here.multi_lock([one_of(&here, all), one_of(&here, tenant)]).wait(LONG);
    let mut waiter = tokio::spawn(both.acquire());
    world.until_waiters(&holders, tenant, 1).await;
    // The difference of their waits is greater than the time in which a command reaches the store.
    tokio::time::sleep(world.short()).await;
    let of_all = one_of(&holders, all).acquire().await.unwrap();
    let later = tokio::spawn(one_of(&there, all).wait(LONG).acquire());
    world.until_waiters(&holders, all, 1).await;
    of_tenant.release().await.unwrap();
    world.until_waiters(&holders, all, 2).await;
    of_all.release().await.unwrap();
    let guard = soon(&mut waiter).await.unwrap().unwrap();
    assert!(!later.is_finished());
    guard.release().await.unwrap();
    soon(later).await.unwrap().unwrap().release().await.unwrap();
}

pub(super) async fn a_place_in_a_fair_line_is_left_when_another_lock_is_in_the_way(
    world: StoreUnderTest,
) {
    let (here, there) = (world.client().await, world.client().await);
    let (a, b) = ("{m}a", "{m}b");
    let fair = there.fair(b).acquire().await.unwrap();
    let both = here.multi_lock([here.write(a), here.fair(b)]).wait(LONG);
    let waiter = tokio::spawn(both.acquire());
    world.until_waiters(&there, b, 1).await;
    let plain = there.write(a).acquire().await.unwrap();
    fair.release().await.unwrap();
    // It polls, and is refused where it had no place in line.
    world.until_waiters(&there, a, 1).await;
    world.until_waiters(&there, b, 0).await;
    there.fair(b).try_acquire().await.unwrap().release().await.unwrap();
    plain.release().await.unwrap();
    soon(waiter).await.unwrap().unwrap().release().await.unwrap();
}

pub(super) async fn opposite_orders_never_wait_for_each_other(world: StoreUnderTest) {
    let mut tasks = JoinSet::new();
    for keys in [["a", "b", "c"], ["c", "b", "a"], ["b", "c", "a"]] {
        let client = world.client().await;
        tasks.spawn(async move {
            for round in 0..20 {
                let kind = [Kind::ReadWrite, Kind::Reentrant, Kind::Fair][round % 3];
                let members = keys.map(|key| written(&client, kind, &format!("{key}:{kind}")));
                let all = client.multi_lock(members).wait(LONG * 3).acquire().await.unwrap();
                all.release().await.unwrap();
            }
        });
    }
    bounded(LIMIT * 4, tasks.join_all()).await;
}

pub(super) async fn nothing_is_left_after_refusals(world: StoreUnderTest) {
    let (here, there) = (world.client().await, world.client().await);
    for refusing in ["read", "write", "reentrant", "fair", "fenced", "fair_write"] {
        let kind = match refusing {
            "read" | "write" => Kind::ReadWrite,
            "fair" => Kind::Fair,
            "fenced" => Kind::Fenced,
            "fair_write" => Kind::FairReadWrite,
            _ => Kind::Reentrant,
        };
        let held = written(&there, kind, refusing).acquire().await.unwrap();
        let refused = here.multi_lock(one_of_each(&here)).try_acquire().await.unwrap_err();
        let AcquireError::Busy(busy) = refused else { panic!("{refused}") };
        assert_eq!(busy.key().as_str(), refusing);
        held.release().await.unwrap();
        // A lock that was left would be renewed, and stay. Of a store that acquires one after the other
        // those that were acquired are released in the background.
        let all = there.multi_lock(one_of_each(&there)).wait(LONG).acquire().await;
        all.unwrap_or_else(|why| panic!("{refusing}: {why}")).release().await.unwrap();
    }
}

/// Some requests read, some write.
fn three(client: &LockClient) -> [Member; 3] {
    [client.write("a").into(), client.read("b").into(), client.write("c").into()]
}

pub(super) async fn of_many_at_once_one_gets_all(world: StoreUnderTest) {
    let mut tasks = JoinSet::new();
    for _ in 0..2 {
        let client = world.client().await;
        for _ in 0..5 {
            let client = client.clone();
            tasks.spawn(async move { client.multi_lock(three(&client)).try_acquire().await });
        }
    }
    let tried = soon(tasks.join_all()).await;
    let won = tried.iter().filter(|tried| tried.is_ok()).count();
    assert_eq!(won, 1, "{tried:?}");
}

pub(super) async fn its_lease_is_the_requested_one_after_refusals(world: StoreUnderTest) {
    let (here, there) = (world.client().await, world.client().await);
    // Several rounds are refused until this one's time is over.
    let held = there.write("c").lease(world.short() * 5).renew(false).acquire().await.unwrap();
    let all = here.multi_lock(three(&here)).lease(LONG).wait(LONG).acquire().await.unwrap();
    assert!(!held.is_held());
    for key in ["a", "b", "c"] {
        let left = there.inspect(key).await.unwrap().remaining;
        assert!(left.is_some_and(|left| left > LONG / 2 && left <= LONG), "{key}: {left:?}");
    }
    // Another reader that leaves does not change its place.
    there.read("b").acquire().await.unwrap().release().await.unwrap();
    let left = there.inspect("b").await.unwrap().remaining;
    assert!(left.is_some_and(|left| left > LONG / 2), "{left:?}");
    all.release().await.unwrap();
}

pub(super) async fn its_wait_ends_and_so_does_its_lease(world: StoreUnderTest) {
    let (here, there) = (world.client().await, world.client().await);
    let held = there.write("c").acquire().await.unwrap();
    let started = tokio::time::Instant::now();
    let refused = here.multi_lock(three(&here)).wait(world.short()).acquire().await.unwrap_err();
    assert!(matches!(refused, AcquireError::Busy(_)), "{refused}");
    assert!(started.elapsed() >= world.short());
    held.release().await.unwrap();
    let once =
        here.multi_lock(three(&here)).lease(world.short()).renew(false).acquire().await.unwrap();
    let next =
        there.multi_lock(three(&there)).lease(world.short()).wait(LONG).acquire().await.unwrap();
    assert!(!once.is_held());
    tokio::time::sleep(world.short() * 3).await;
    assert!(next.is_held(), "renewed");
    assert!(here.write("a").try_acquire().await.is_err());
    next.release().await.unwrap();
}

pub(super) async fn one_that_is_lost_keeps_no_other_locked(world: StoreUnderTest) {
    let (here, there) = (world.client().await, world.client().await);
    for lost in ["a", "b", "c"] {
        let all = here.multi_lock(three(&here)).acquire().await.unwrap();
        world.remove(lost).await;
        assert!(all.release().await.is_err(), "{lost}");
        let next = there.multi_lock(three(&there)).try_acquire().await;
        next.unwrap_or_else(|why| panic!("{lost}: {why}")).release().await.unwrap();
    }
}
