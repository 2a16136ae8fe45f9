//! A lock is passed from one waiter of a process to the next without the store; others acquire it
//! in between.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use super::store_under_test::{LONG, StoreUnderTest, soon, written};
use crate::{LIMIT, eventually};
use lock_core::{AcquireError, Kind, LockClient, LockGuard, Mode};
use tokio::task::JoinHandle;

/// Kinds with one writing holder at a time, which are not fair.
const HANDED_OVER: [Kind; 4] = [Kind::ReadWrite, Kind::Reentrant, Kind::NonReentrant, Kind::Fenced];

/// The holder, as the store has it.
async fn owner(client: &LockClient) -> String {
    let mut holders = client.inspect("k").await.unwrap().holders;
    assert_eq!(holders.len(), 1, "{holders:?}");
    holders.remove(0).owner
}

type WaiterTask = JoinHandle<Result<LockGuard, AcquireError>>;

/// How many waiters there are, one after the other.
async fn line(client: &LockClient, kind: Kind, count: usize) -> Vec<WaiterTask> {
    let mut line = Vec::new();
    for number in 1..=count {
        line.push(tokio::spawn(written(client, kind, "k").wait(LONG).acquire()));
        eventually("it waits", LIMIT, async || client.health().await.waiting == number).await;
    }
    line
}

/// Holds it with other waiters behind: released, it passes to the next of them, and from there on
/// without the store.
async fn held_with_a_line(
    client: &LockClient,
    kind: Kind,
    behind: usize,
) -> (LockGuard, Vec<WaiterTask>) {
    let first = written(client, kind, "k").acquire().await.unwrap();
    let mut line = line(client, kind, behind + 1).await;
    first.release().await.unwrap();
    let guard = soon(line.remove(0)).await.unwrap().unwrap();
    (guard, line)
}

pub(super) async fn each_turn_is_a_lock_of_its_own(world: StoreUnderTest) {
    let (here, there) = (world.client().await, world.client().await);
    for kind in HANDED_OVER {
        let (mut guard, line) = held_with_a_line(&here, kind, 4).await;
        let the_owner = owner(&there).await;
        for waiter in line {
            let (view, before) = (guard.view(), guard.fencing_token());
            guard.release().await.unwrap();
            guard = soon(waiter).await.unwrap().unwrap();
            assert!(!view.is_held(), "the former turn is over");
            assert!(guard.is_held() && guard.waited());
            assert!(guard.fencing_token() > before);
            assert_eq!(owner(&there).await, the_owner, "{kind}: the store received nothing");
            let refused = written(&there, kind, "k").try_acquire().await;
            assert!(matches!(refused, Err(AcquireError::Busy(_))), "{refused:?}");
        }
        let last = guard.fencing_token();
        guard.release().await.unwrap();
        let next = soon(written(&there, kind, "k").wait(LONG).acquire()).await.unwrap();
        assert!(next.fencing_token() > last, "{kind}: no other holder has the reserved tokens");
        next.release().await.unwrap();
        assert_eq!(here.health().await.holds, 0);
    }
}

pub(super) async fn without_handoffs_each_acquisition_goes_to_the_store(world: StoreUnderTest) {
    let (here, there) = (world.client().await, world.client().await);
    let ask = || here.write("k").wait(LONG).max_local_handoffs(0);
    let mut guard = ask().acquire().await.unwrap();
    for _ in 0..3 {
        let line = [tokio::spawn(ask().acquire()), tokio::spawn(ask().acquire())];
        eventually("two wait", LIMIT, async || here.health().await.waiting == 2).await;
        for waiter in line {
            let before = owner(&there).await;
            guard.release().await.unwrap();
            guard = soon(waiter).await.unwrap().unwrap();
            assert_ne!(owner(&there).await, before);
        }
    }
}

pub(super) async fn a_request_with_other_options_is_not_handed_off(world: StoreUnderTest) {
    let (here, there) = (world.client().await, world.client().await);
    let other = LONG * 2;
    let requests: [fn(&LockClient, Duration) -> lock_core::Acquire; 4] = [
        |client, other| client.write("k").lease(other),
        |client, _| client.write("k").renew(false),
        |client, _| client.write("k").max_local_handoffs(0),
        |client, _| client.read("k"),
    ];
    for ask in requests {
        let (guard, mut line) = held_with_a_line(&here, Kind::ReadWrite, 1).await;
        let before = owner(&there).await;
        let waiter = tokio::spawn(ask(&here, other).wait(LONG).acquire());
        eventually("both wait", LIMIT, async || here.health().await.waiting == 2).await;
        guard.release().await.unwrap();
        let guard = soon(line.remove(0)).await.unwrap().unwrap();
        assert_eq!(owner(&there).await, before);
        guard.release().await.unwrap();
        let guard = soon(waiter).await.unwrap().unwrap();
        assert_ne!(owner(&there).await, before);
        guard.release().await.unwrap();
    }
}

pub(super) async fn a_hold_that_was_changed_is_not_handed_over(world: StoreUnderTest) {
    let (here, there) = (world.client().await, world.client().await);
    let scope = here.scope();
    for upgraded in [false, true] {
        let first = here.write("k").acquire().await.unwrap();
        let waiter = tokio::spawn(scope.write("k").wait(LONG).acquire());
        eventually("it waits", LIMIT, async || here.health().await.waiting == 1).await;
        let mut line = line_behind(&here, 1).await;
        first.release().await.unwrap();
        let mut guard = soon(waiter).await.unwrap().unwrap();
        let before = owner(&there).await;
        if upgraded {
            guard.downgrade().await.unwrap();
            guard.upgrade().await.unwrap();
        } else {
            scope.write("k").acquire().await.unwrap().release().await.unwrap();
        }
        assert_eq!(guard.mode(), Mode::Write);
        guard.release().await.unwrap();
        let guard = soon(line.remove(0)).await.unwrap().unwrap();
        assert_ne!(owner(&there).await, before);
        guard.release().await.unwrap();
    }
}

/// Adds a waiter behind the one that waits.
async fn line_behind(client: &LockClient, behind: usize) -> Vec<WaiterTask> {
    let waiter = tokio::spawn(client.write("k").wait(LONG).acquire());
    eventually("it waits", LIMIT, async || client.health().await.waiting == behind + 1).await;
    vec![waiter]
}

pub(super) async fn a_loss_ends_the_turn_and_the_next_one_is_granted_anew(world: StoreUnderTest) {
    let builder = LockClient::builder().lease(Duration::from_secs(2));
    let (here, there) = (world.client_with(builder).await, world.client().await);
    let (guard, mut line) = held_with_a_line(&here, Kind::ReadWrite, 2).await;
    guard.release().await.unwrap();
    let guard = soon(line.remove(0)).await.unwrap().unwrap();
    let before = owner(&there).await;
    world.remove("k").await;
    let lost = soon(guard.lost()).await;
    assert_eq!(lost.cause(), lock_core::LostCause::Refused);
    let next = soon(line.remove(0)).await.unwrap().unwrap();
    assert_ne!(owner(&there).await, before);
    assert!(next.fencing_token() > guard.fencing_token());
}

pub(super) async fn others_get_in_between(world: StoreUnderTest) {
    let (here, there) = (world.client().await, world.client().await);
    let (stop, turns) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    let mut tasks = tokio::task::JoinSet::new();
    for _ in 0..8 {
        let (here, stop, turns) = (here.clone(), Arc::clone(&stop), Arc::clone(&turns));
        tasks.spawn(async move {
            while !stop.load(Ordering::SeqCst) {
                let guard = here.write("k").wait(LONG).acquire().await.unwrap();
                turns.fetch_add(1, Ordering::SeqCst);
                tokio::time::sleep(Duration::from_millis(2)).await;
                drop(guard);
            }
        });
    }
    eventually("they take turns", LIMIT, async || turns.load(Ordering::SeqCst) > 20).await;
    for _ in 0..5 {
        let before = turns.load(Ordering::SeqCst);
        let guard = soon(there.write("k").wait(LONG).acquire()).await.unwrap();
        let waited_for = turns.load(Ordering::SeqCst) - before;
        // Twice the eight waiters, plus one for the current grant and one for the earlier one.
        assert!(waited_for <= 2 * (2 * 8 + 1), "{waited_for} turns");
        guard.release().await.unwrap();
    }
    stop.store(true, Ordering::SeqCst);
    while let Some(ended) = soon(tasks.join_next()).await {
        ended.unwrap();
    }
    eventually("all is released", LIMIT, async || here.health().await.holds == 0).await;
}

pub(super) async fn readers_of_the_process_get_in_between(world: StoreUnderTest) {
    let here = world.client().await;
    let (guard, mut line) = held_with_a_line(&here, Kind::ReadWrite, 1).await;
    let reader = tokio::spawn(here.read("k").wait(LONG).acquire());
    eventually("both wait", LIMIT, async || here.health().await.waiting == 2).await;
    line.extend(line_behind(&here, 2).await);
    guard.release().await.unwrap();
    let writer = soon(line.remove(0)).await.unwrap().unwrap();
    assert!(!reader.is_finished());
    writer.release().await.unwrap();
    let reading = soon(reader).await.unwrap().unwrap();
    assert!(!line[0].is_finished(), "in the order of their requests");
    reading.release().await.unwrap();
    soon(line.remove(0)).await.unwrap().unwrap().release().await.unwrap();
}

pub(super) async fn a_client_that_retries_constantly_keeps_none_out(world: StoreUnderTest) {
    let (here, there) = (world.client().await, world.client().await);
    for mode in [Mode::Read, Mode::Write] {
        let enough = Arc::new(AtomicBool::new(false));
        let again_and_again = tokio::spawn({
            let (here, enough) = (here.clone(), Arc::clone(&enough));
            async move {
                let mut last = None;
                while !enough.load(Ordering::Relaxed) {
                    let guard = here.lock(mode, "k").wait(LONG).acquire().await.unwrap();
                    assert!(last <= Some(guard.fencing_token()));
                    last = Some(guard.fencing_token());
                }
            }
        });
        for _ in 0..10 {
            let guard = soon(there.write("k").wait(LONG).acquire()).await.unwrap();
            assert!(guard.is_held());
            guard.release().await.unwrap();
        }
        enough.store(true, Ordering::Relaxed);
        soon(again_and_again).await.unwrap();
    }
}
