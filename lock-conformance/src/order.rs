//! Fair kinds: order of arrival across processes, dead waiters skipped.

use std::time::Duration;

use super::store_under_test::{LONG, StoreUnderTest, soon, written};
use crate::Stopwatch;
use lock_core::{Acquire, AcquireError, Kind, LockClient, LockGuard, Mode};
use tokio::{
    sync::mpsc,
    task::{JoinHandle, JoinSet},
};

/// How long a waiter that does not renew its place keeps it.
const PLACE: Duration = Duration::from_secs(3);
/// Long enough for a message and a try.
const A_MOMENT: Duration = Duration::from_millis(500);

const FAIR: [Kind; 2] = [Kind::Fair, Kind::FairReadWrite];

/// Starts a waiter, and returns once it has arrived.
async fn in_line(
    world: &StoreUnderTest,
    client: &LockClient,
    ask: Acquire,
) -> JoinHandle<Result<LockGuard, AcquireError>> {
    let before = world.waiters(client, "k").await;
    let waiter = tokio::spawn(ask.wait(LONG).acquire());
    world.until_waiters(client, "k", before + 1).await;
    waiter
}

pub(super) async fn waiters_are_served_in_order_of_arrival(world: StoreUnderTest) {
    let clients = [world.client().await, world.client().await, world.client().await];
    for kind in FAIR {
        let guard = written(&clients[0], kind, "k").acquire().await.unwrap();
        let (order, mut ordered) = mpsc::unbounded_channel();
        let mut turns = JoinSet::new();
        for number in 0..9 {
            // Neighbours in line belong to different processes.
            let client = &clients[number % 3];
            let waiter = in_line(&world, client, written(client, kind, "k")).await;
            let order = order.clone();
            turns.spawn(async move {
                let guard = waiter.await.unwrap().unwrap();
                order.send(number).unwrap();
                guard.release().await.unwrap();
            });
        }
        guard.release().await.unwrap();
        for number in 0..9 {
            assert_eq!(soon(ordered.recv()).await, Some(number), "{kind}");
        }
        // The key is free for the next kind.
        soon(turns.join_all()).await;
    }
}

pub(super) async fn readers_that_follow_each_other_share(world: StoreUnderTest) {
    let (here, there) = (world.client().await, world.client().await);
    let writer = here.fair_write("k").acquire().await.unwrap();
    let mut readers = Vec::new();
    for client in [&here, &there, &here, &there] {
        readers.push(in_line(&world, client, client.fair_read("k")).await);
    }
    let last = in_line(&world, &there, there.fair_write("k")).await;
    writer.release().await.unwrap();
    let mut inside = Vec::new();
    for reader in readers {
        inside.push(soon(reader).await.unwrap().unwrap());
    }
    assert!(!last.is_finished(), "the writer came after them");
    drop(inside);
    soon(last).await.unwrap().unwrap().release().await.unwrap();
}

pub(super) async fn a_reader_stays_behind_a_writer_that_came_before(world: StoreUnderTest) {
    let (here, there) = (world.client().await, world.client().await);
    let reading = here.fair_read("k").acquire().await.unwrap();
    let writer = in_line(&world, &there, there.fair_write("k")).await;
    let late = in_line(&world, &here, here.fair_read("k")).await;
    assert!(!late.is_finished());
    reading.release().await.unwrap();
    let writing = soon(writer).await.unwrap().unwrap();
    assert!(!late.is_finished());
    writing.release().await.unwrap();
    soon(late).await.unwrap().unwrap().release().await.unwrap();
}

pub(super) async fn contenders_stay_behind_after_a_downgrade(world: StoreUnderTest) {
    let (here, there) = (world.client().await, world.client().await);
    let mut guard = here.fair_write("k").acquire().await.unwrap();
    let before = in_line(&world, &there, there.fair_read("k")).await;
    let writer = in_line(&world, &there, there.fair_write("k")).await;
    let behind = in_line(&world, &here, here.fair_read("k")).await;
    guard.downgrade().await.unwrap();
    assert_eq!(guard.mode(), Mode::Read);
    let beside = soon(before).await.unwrap().unwrap();
    assert!(there.fair_read("k").try_acquire().await.is_err(), "a new reader comes after them all");
    beside.release().await.unwrap();
    world.until_waiters(&here, "k", 2).await;
    assert!(!writer.is_finished() && !behind.is_finished());
    guard.release().await.unwrap();
    let writing = soon(writer).await.unwrap().unwrap();
    assert!(!behind.is_finished());
    writing.release().await.unwrap();
    soon(behind).await.unwrap().unwrap().release().await.unwrap();
}

pub(super) async fn a_try_is_refused_while_others_wait_in_line(world: StoreUnderTest) {
    let (here, there) = (world.client().await, world.client().await);
    let reading = here.fair_read("k").acquire().await.unwrap();
    there.fair_read("k").try_acquire().await.unwrap().release().await.unwrap();
    let writer = in_line(&world, &there, there.fair_write("k")).await;
    for client in [&here, &there] {
        let refused = client.fair_read("k").try_acquire().await;
        assert!(matches!(refused, Err(AcquireError::Busy(_))), "{refused:?}");
    }
    world.until_waiters(&here, "k", 1).await;
    reading.release().await.unwrap();
    soon(writer).await.unwrap().unwrap().release().await.unwrap();
    here.fair_read("k").try_acquire().await.unwrap().release().await.unwrap();
}

pub(super) async fn re_entry_passes_the_line(world: StoreUnderTest) {
    let (here, there) = (world.client().await, world.client().await);
    for kind in FAIR {
        let scope = here.scope();
        let ask = || written(&here, kind, "k").in_scope(&scope);
        let outer = ask().acquire().await.unwrap();
        let waiter = in_line(&world, &there, written(&there, kind, "k")).await;
        let inner = ask().try_acquire().await.unwrap();
        outer.release().await.unwrap();
        assert!(!waiter.is_finished());
        inner.release().await.unwrap();
        soon(waiter).await.unwrap().unwrap().release().await.unwrap();
    }
    let scope = here.scope();
    let outer = here.fair_read("k").in_scope(&scope).acquire().await.unwrap();
    let writer = in_line(&world, &there, there.fair_write("k")).await;
    here.fair_read("k").in_scope(&scope).try_acquire().await.unwrap().release().await.unwrap();
    outer.release().await.unwrap();
    soon(writer).await.unwrap().unwrap().release().await.unwrap();
}

pub(super) async fn a_dead_waiter_is_passed_by(world: StoreUnderTest) {
    let (here, there) = (world.client().await, world.client().await);
    for kind in FAIR {
        let guard = written(&here, kind, "k").acquire().await.unwrap();
        world.crash_waiting(move |client| written(&client, kind, "k"), &here, "k").await;
        let died = Stopwatch::start();
        let waiter = in_line(&world, &there, written(&there, kind, "k")).await;
        guard.release().await.unwrap();
        let next = died.within(world.expiry().max(PLACE + A_MOMENT), waiter).await;
        next.unwrap().unwrap().release().await.unwrap();
    }
}

pub(super) async fn a_waiter_that_gives_up_leaves_the_line(world: StoreUnderTest) {
    let (here, there) = (world.client().await, world.client().await);
    for kind in FAIR {
        let guard = written(&here, kind, "k").acquire().await.unwrap();
        let first = in_line(&world, &there, written(&there, kind, "k")).await;
        let second = in_line(&world, &here, written(&here, kind, "k")).await;
        first.abort();
        world.until_waiters(&here, "k", 1).await;
        guard.release().await.unwrap();
        soon(second).await.unwrap().unwrap().release().await.unwrap();
        world.until_waiters(&here, "k", 0).await;
    }
}

pub(super) async fn holders_that_never_release_pass_it_on_in_order(world: StoreUnderTest) {
    let clients = [world.client().await, world.client().await, world.client().await];
    for kind in FAIR {
        let guard = written(&clients[0], kind, "k").acquire().await.unwrap();
        let (order, mut ordered) = mpsc::unbounded_channel();
        for number in 0..6 {
            let client = &clients[number % 3];
            let lease = world.short();
            let ask = written(client, kind, "k").lease(lease).renew(false);
            let waiter = in_line(&world, client, ask).await;
            let order = order.clone();
            tokio::spawn(async move {
                let guard = waiter.await.unwrap().unwrap();
                order.send((number, guard)).unwrap();
            });
        }
        guard.release().await.unwrap();
        let mut held = Vec::new();
        for number in 0..6 {
            let (next, guard) = soon(ordered.recv()).await.unwrap();
            assert_eq!(next, number, "{kind}");
            held.push(guard);
        }
        assert!(held[..5].iter().all(|guard| !guard.is_held()), "{kind}");
        // Until the last place has expired too.
        written(&clients[0], kind, "k")
            .wait(LONG)
            .acquire()
            .await
            .unwrap()
            .release()
            .await
            .unwrap();
    }
}
