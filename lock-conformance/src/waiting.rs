//! A waiter is woken, on time, in order, and leaves nothing behind when it gives up.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use super::store_under_test::{LONG, StoreUnderTest, refused, soon, written};
use crate::{LIMIT, Stopwatch, eventually};
use lock_core::{AcquireError, Mode};
use tokio::time::Instant;

pub(super) async fn a_release_wakes_the_waiter(world: StoreUnderTest) {
    let (here, there) = (world.client().await, world.client().await);
    for (held, requested) in
        [(Mode::Write, Mode::Write), (Mode::Write, Mode::Read), (Mode::Read, Mode::Write)]
    {
        let guard = here.lock(held, "k").acquire().await.unwrap();
        let watch = Stopwatch::start();
        let waiter = tokio::spawn(there.lock(requested, "k").wait(LONG).acquire());
        refused(&there).await;
        guard.release().await.unwrap();
        watch.within(world.woken(), waiter).await.unwrap().unwrap().release().await.unwrap();
        eventually("released", LIMIT, async || there.health().await.holds == 0).await;
    }
}

pub(super) async fn readers_enter_together_after_a_writer(world: StoreUnderTest) {
    let (here, there) = (world.client().await, world.client().await);
    let guard = here.write("k").acquire().await.unwrap();
    let watch = Stopwatch::start();
    let mut readers = tokio::task::JoinSet::new();
    let inside = Arc::new(tokio::sync::Barrier::new(20));
    for number in 0..20 {
        let reader = if number % 2 == 0 { &here } else { &there }.read("k").wait(LONG).acquire();
        let inside = Arc::clone(&inside);
        readers.spawn(async move {
            let guard = reader.await.unwrap();
            inside.wait().await;
            drop(guard);
        });
    }
    refused(&there).await;
    guard.release().await.unwrap();
    watch.within(world.woken(), readers.join_all()).await;
}

pub(super) async fn a_wait_ends_when_it_is_over(world: StoreUnderTest) {
    let (here, there) = (world.client().await, world.client().await);
    let _guard = here.write("k").acquire().await.unwrap();
    for client in [&here, &there] {
        let wait = Duration::from_millis(300);
        let refused = soon(async {
            loop {
                let started = Instant::now();
                let refused = client.write("k").wait(wait).acquire().await.unwrap_err();
                assert!(started.elapsed() >= wait);
                // A busy store may answer the last attempt too late, and is reported as unavailable.
                if !matches!(refused, AcquireError::Unavailable(_)) {
                    return refused;
                }
            }
        })
        .await;
        let AcquireError::Busy(busy) = refused else { panic!("{refused}") };
        assert!(busy.waited() >= wait && busy.waited() < LONG);
        assert_eq!((busy.key().as_str(), busy.mode()), ("k", Mode::Write));
    }
}

pub(super) async fn critical_sections_never_overlap(world: StoreUnderTest) {
    let (inside, counter) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let mut tasks = tokio::task::JoinSet::new();
    for _ in 0..4 {
        let client = world.client().await;
        for _ in 0..4 {
            let (client, inside, counter) = (client.clone(), inside.clone(), counter.clone());
            tasks.spawn(async move {
                for _ in 0..25 {
                    let guard = client.write("k").wait(LONG * 2).acquire().await.unwrap();
                    assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0);
                    let seen = counter.load(Ordering::SeqCst);
                    tokio::task::yield_now().await;
                    counter.store(seen + 1, Ordering::SeqCst);
                    inside.fetch_sub(1, Ordering::SeqCst);
                    drop(guard);
                }
            });
        }
    }
    soon(tasks.join_all()).await;
    assert_eq!(counter.load(Ordering::SeqCst), 400);
}

pub(super) async fn local_waiters_are_served_in_order(world: StoreUnderTest) {
    let client = world.client().await;
    let guard = client.write("k").acquire().await.unwrap();
    let (order, mut ordered) = tokio::sync::mpsc::unbounded_channel();
    for number in 0..10 {
        let waiter = client.write("k").wait(LONG).acquire();
        let order = order.clone();
        tokio::spawn(async move {
            let guard = waiter.await.unwrap();
            order.send(number).unwrap();
            drop(guard);
        });
        eventually("it waits", LIMIT, async || client.health().await.waiting == number + 1).await;
    }
    guard.release().await.unwrap();
    for number in 0..10 {
        assert_eq!(soon(ordered.recv()).await, Some(number));
    }
}

pub(super) async fn too_many_waiters_are_refused(world: StoreUnderTest) {
    let client = world.client_with(lock_core::LockClient::builder().max_waiters(2)).await;
    let guard = client.write("k").acquire().await.unwrap();
    let mut waiting = tokio::task::JoinSet::new();
    for number in 0..2 {
        let waiter = client.write("k").wait(LONG).acquire();
        waiting.spawn(async move { waiter.await.unwrap().release().await.unwrap() });
        eventually("it waits", LIMIT, async || client.health().await.waiting == number + 1).await;
    }
    let refused = client.write("k").wait(LONG).acquire().await.unwrap_err();
    assert!(matches!(&refused, AcquireError::Overloaded(over) if over.waiters() == 2), "{refused}");
    guard.release().await.unwrap();
    soon(waiting.join_all()).await;
}

pub(super) async fn an_acquisition_sets_its_own_waiter_limit(world: StoreUnderTest) {
    let (here, there) = (world.client().await, world.client().await);
    let overloaded = |refused: Result<_, AcquireError>, most: usize| match refused {
        Err(AcquireError::Overloaded(over)) => assert_eq!(over.waiters(), most),
        Err(other) => panic!("{other}"),
        Ok(()) => panic!("granted"),
    };
    for kind in world.locks() {
        let ask = |most| written(&here, kind, kind.as_str()).wait(LONG).max_waiters(most);
        let guard = written(&there, kind, kind.as_str()).acquire().await.unwrap();
        overloaded(soon(ask(0).acquire()).await.map(drop), 0);
        // It has left the line, too.
        world.until_waiters(&here, kind.as_str(), 0).await;
        let waiter = tokio::spawn(ask(1).acquire());
        world.until_waiters(&here, kind.as_str(), 1).await;
        overloaded(soon(ask(1).acquire()).await.map(drop), 1);
        let more = tokio::spawn(ask(2).acquire());
        let queued = async || match kind.is_fair() {
            true => world.waiters(&here, kind.as_str()).await == 2,
            false => here.health().await.waiting == 1,
        };
        eventually("two wait", LIMIT, queued).await;
        overloaded(soon(ask(2).acquire()).await.map(drop), 2);
        guard.release().await.unwrap();
        drop(soon(waiter).await.unwrap().unwrap());
        drop(soon(more).await.unwrap().unwrap());
        // There is room behind a holder whose release is pending.
        soon(ask(0).acquire()).await.unwrap().release().await.unwrap();
    }
    let permit = |client: &lock_core::LockClient| client.semaphore("s", 1).permit().wait(LONG);
    let taken = permit(&there).acquire().await.unwrap();
    overloaded(soon(permit(&here).max_waiters(0).acquire()).await.map(drop), 0);
    taken.release().await.unwrap();
    soon(permit(&here).max_waiters(0).acquire()).await.unwrap().release().await.unwrap();
}

pub(super) async fn an_abandoned_wait_leaves_nothing(world: StoreUnderTest) {
    let (here, there) = (world.client().await, world.client().await);
    let guard = here.read("k").acquire().await.unwrap();
    let waiter = tokio::spawn(there.write("k").wait(LONG).acquire());
    eventually("new readers stand back behind the writer", LIMIT, async || {
        here.read("k").try_acquire().await.is_err()
    })
    .await;
    waiter.abort();
    eventually("its place is gone", LIMIT, async || here.read("k").try_acquire().await.is_ok())
        .await;
    eventually("it left nothing", LIMIT, async || there.health().await.holds == 0).await;
    drop(guard);
}

pub(super) async fn an_immediate_retry_is_never_busy(world: StoreUnderTest) {
    let client = world.client().await;
    for round in 0..300 {
        let mode = if round % 3 == 0 { Mode::Read } else { Mode::Write };
        let guard = client.lock(mode, "k").try_acquire().await;
        drop(guard.unwrap_or_else(|error| panic!("round {round}: {error}")));
    }
}

pub(super) async fn shutdown_ends_waits_and_waits_for_releases(world: StoreUnderTest) {
    let (here, there) = (world.client().await, world.client().await);
    let guard = here.write("k").acquire().await.unwrap();
    let waiter = tokio::spawn(here.write("k").wait(LONG).acquire());
    eventually("it waits", LIMIT, async || here.health().await.waiting == 1).await;
    let unfinished = here.shutdown(Duration::from_millis(50)).await.unwrap_err();
    assert_eq!(unfinished.held, 1);
    assert!(matches!(soon(waiter).await.unwrap(), Err(AcquireError::Draining)));
    assert!(matches!(here.write("x").acquire().await, Err(AcquireError::Draining)));
    drop(guard);
    let guard = there.write("x").acquire().await.unwrap();
    drop(guard);
    there.shutdown(LONG).await.unwrap();
    assert_eq!(there.health().await.holds, 0);
    assert!(!there.health().await.is_ready());
}

pub(super) async fn a_waiter_that_gives_up_when_it_is_next_passes_the_lock_on(
    world: StoreUnderTest,
) {
    let (here, there) = (world.client().await, world.client().await);
    for round in 0..20 {
        let moment = Duration::from_millis(20);
        let guard = here.write("k").acquire().await.unwrap();
        let mut leaving = tokio::task::JoinSet::new();
        for _ in 0..5 {
            leaving.spawn(there.write("k").wait(moment).acquire());
        }
        let staying = tokio::spawn(there.write("k").wait(LONG).acquire());
        // Their waits end at about the time when the lock is released.
        tokio::time::sleep(moment + Duration::from_millis(round % 5)).await;
        guard.release().await.unwrap();
        while let Some(left) = soon(leaving.join_next()).await {
            drop(left.unwrap());
        }
        soon(staying).await.unwrap().unwrap().release().await.unwrap();
    }
}
