//! Neither readers nor writers wait forever, however many of the others there are.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use super::store_under_test::{LONG, StoreUnderTest, soon};
use lock_core::Mode;
use tokio::task::JoinSet;

/// Tasks in two processes that hold `mode` one after the other, so that the lock is always held.
async fn stream(
    world: &StoreUnderTest,
    mode: Mode,
    stop: &Arc<AtomicBool>,
) -> (JoinSet<()>, Arc<AtomicUsize>) {
    let (mut tasks, turns) = (JoinSet::new(), Arc::new(AtomicUsize::new(0)));
    for _ in 0..2 {
        let client = world.client().await;
        for _ in 0..3 {
            let (client, stop, turns) = (client.clone(), Arc::clone(stop), Arc::clone(&turns));
            tasks.spawn(async move {
                while !stop.load(Ordering::SeqCst) {
                    let guard = client.lock(mode, "k").wait(LONG).acquire().await.unwrap();
                    turns.fetch_add(1, Ordering::SeqCst);
                    tokio::time::sleep(Duration::from_millis(10)).await;
                    drop(guard);
                }
            });
        }
    }
    (tasks, turns)
}

async fn let_in(world: StoreUnderTest, requested: Mode, among: Mode) {
    let stop = Arc::new(AtomicBool::new(false));
    let (tasks, turns) = stream(&world, among, &stop).await;
    let client = world.client().await;
    while turns.load(Ordering::SeqCst) < 10 {
        tokio::task::yield_now().await;
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    for _ in 0..5 {
        let guard = client.lock(requested, "k").wait(LONG).acquire().await.unwrap();
        guard.release().await.unwrap();
    }
    let before = turns.load(Ordering::SeqCst);
    while turns.load(Ordering::SeqCst) == before {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    stop.store(true, Ordering::SeqCst);
    soon(tasks.join_all()).await;
}

pub(super) async fn writers_are_let_in_among_continuous_readers(world: StoreUnderTest) {
    soon(let_in(world, Mode::Write, Mode::Read)).await;
}

pub(super) async fn readers_are_let_in_among_continuous_writers(world: StoreUnderTest) {
    soon(let_in(world, Mode::Read, Mode::Write)).await;
}
