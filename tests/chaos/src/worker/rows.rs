//! Rows of faults that only the program that holds locks can carry out.

use std::{
    panic::AssertUnwindSafe,
    pin::pin,
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use fastrand::Rng;
use futures_util::{
    FutureExt,
    future::{join, join_all},
    poll,
    stream::{self, StreamExt},
};
use lock_core::{AcquireError, LockClient, ReleaseError};
use lock_key::{MAX_DURATION, MAX_KEY_BYTES};
use lock_tests::Wire;
use tokio::time::sleep;

use super::{
    OnPurpose, Worker,
    acquire::refusal,
    flights,
    hold::Looked,
    parking,
    turn::{Turn, two_limits},
};
use crate::{
    clock::now,
    history::{Ending, Record, Refusal},
    keys::{Family, KEYS},
    rows::is_by_workers,
};

/// How many keys one worker holds at once, and how many of them it requests at the same time.
const MANY: usize = 2_000;
const AT_ONCE: usize = 200;
/// A key whose character is none of a path's.
const BEYOND_PATHS: &str = "\u{1f512}";
/// How many tasks lock on both wires, how often each, and how long their client may take to end.
const AT_THE_SAME_TIME: usize = 6;
const EACH: usize = 8;
const PATIENCE: Duration = Duration::from_secs(20);
/// How many tries are dropped while they are queued.
const QUEUED: usize = 64;
/// How many futures are dropped.
const DROPPED: u32 = 12;

pub(super) async fn carry_out(worker: Arc<Worker>, row: u8, variant: u8, seed: u64) {
    let random = &mut Rng::with_seed(seed);
    match row {
        3 => hold_one_of_each(&worker, random).await,
        4 => wait_in_lines(&worker, random).await,
        28 => drop_futures(&worker, random).await,
        29 => panic_while_holding(&worker, random).await,
        30 => end_a_runtime_while_holding(&worker, random).await,
        31 => hold_many(&worker).await,
        32 => lock_odd_keys(&worker).await,
        33 => ask_for_keys_that_are_too_long(&worker).await,
        34 => ask_for_leases_out_of_bounds(&worker).await,
        36 => release_late(&worker, random).await,
        50..=52 => wait_in_front(&worker).await,
        54 => lock_on_both_wires(&worker, random).await,
        55 => drop_queued_tries(&worker, random).await,
        57 => flights::fill_slowly(&worker, variant == 1).await,
        58 => ignore_a_replacement(&worker, random).await,
        59 => parking::park_each(&worker, variant == 1).await,
        60 => hold_some_of_several(&worker, random).await,
        other => worker.wrong(format!("no worker can carry out row {other}")),
    }
    // The others are counted where the worker is killed.
    if is_by_workers(row) {
        worker.write(&Record::Row { row, at: now() });
    }
}

fn plain(worker: &Worker, random: &mut Rng, family: Family) -> Turn {
    worker.plain(family, &family.key(random.usize(..KEYS)))
}

/// Behind two others that hold it in turn, to be gone when it is next.
async fn wait_in_front(worker: &Worker) {
    let plain = worker.plain(Family::Reentrant, &Family::left_to(worker.place));
    hold_for(worker, &Turn { wait: Duration::from_secs(12), ..plain }, Duration::ZERO).await;
}

/// Holds a lock that others replace, and waits for it at the same time, with the place before it.
async fn ignore_a_replacement(worker: &Worker, random: &mut Rng) {
    let holder = plain(worker, random, Family::Replaced);
    let newer = Turn { after: Some(Duration::from_secs(1)), ..holder.clone() };
    let waits = async {
        sleep(Duration::from_millis(10)).await;
        hold_for(worker, &newer, Duration::from_millis(20)).await;
    };
    join(hold_for(worker, &holder, Duration::from_secs(2)), waits).await;
}

/// Holds locks with their limits, and waits for others, to be killed so.
async fn hold_some_of_several(worker: &Worker, random: &mut Rng) {
    let mut turns = Vec::new();
    for at in 0..KEYS {
        let mut turn = worker.plain(Family::Limits, &Family::Limits.key(at / 2));
        turn.keys.extend(two_limits(random));
        turns.push(Turn { wait: Duration::from_secs(12), ..turn });
    }
    join_all(turns.iter().map(|turn| hold_for(worker, turn, turn.lease / 2))).await;
}

/// A service of which some replicas are on the other wire.
async fn lock_on_both_wires(worker: &Worker, random: &mut Rng) {
    let other = match worker.wire {
        Wire::Native => Wire::Redisson,
        Wire::Redisson => Wire::Native,
    };
    // It may be cut off, or Redis may be down.
    let Ok(client) = other.builder().connect(&worker.url).await else { return };
    let turns: Vec<Vec<Turn>> = (0..AT_THE_SAME_TIME)
        .map(|_| (0..EACH).map(|_| on_either_wire(worker, &client, random)).collect())
        .collect();
    let tasks = turns.iter().map(async |turns| {
        for turn in turns {
            hold_for(worker, turn, turn.hold).await;
        }
    });
    futures_util::future::join_all(tasks).await;
    if let Err(left) = client.shutdown(PATIENCE).await {
        worker.wrong(format!("the client on the other wire left something: {left}"));
    }
}

fn on_either_wire(worker: &Worker, other: &LockClient, random: &mut Rng) -> Turn {
    let plain = worker.plain(Family::BothWires, &Family::BothWires.key(random.usize(..2)));
    Turn {
        wait: Duration::from_millis(random.u64(0..200)),
        hold: Duration::from_millis(random.u64(0..20)),
        other_wire: random.bool().then(|| other.clone()),
        ..plain
    }
}

/// To be killed with, or cut off, or stopped.
async fn hold_one_of_each(worker: &Worker, random: &mut Rng) {
    let mut turns = Family::OF_TURNS.map(|family| plain(worker, random, family)).to_vec();
    turns.push(worker.plain(Family::ReadWrite, &Family::heirloom(worker.place)));
    let holding = turns.iter().map(|turn| hold_for(worker, turn, turn.lease * 2));
    futures_util::future::join_all(holding).await;
}

/// Holds fair locks and waits for them at the same time, to be killed so.
async fn wait_in_lines(worker: &Worker, random: &mut Rng) {
    let mut turns = Vec::new();
    for family in [Family::Fair, Family::FairReadWrite] {
        let turn = Turn { wait: Duration::from_secs(12), ..plain(worker, random, family) };
        turns.extend([turn.clone(), turn.clone(), turn]);
    }
    let waiting = turns.iter().map(|turn| hold_for(worker, turn, turn.lease));
    futures_util::future::join_all(waiting).await;
}

async fn hold_for(worker: &Worker, turn: &Turn, time: Duration) {
    if let Some((n, held)) = worker.acquire(turn, None).await {
        let mut looked = Looked::begin();
        worker.protect(n, &held, &mut looked, sleep(time)).await;
        worker.let_go(n, held, &looked, true).await;
    }
}

async fn drop_futures(worker: &Worker, random: &mut Rng) {
    for _ in 0..DROPPED {
        let mut turn = Turn::random(random, worker.session_lease);
        turn.polls = Some(random.u32(1..8));
        if let Some((n, held)) = worker.acquire(&turn, None).await {
            worker.let_go(n, held, &Looked::begin(), false).await;
        }
    }
}

/// Many at once, of a client of their own, each for a fair lock of its own that is free: a try that is sent
/// after its undo takes the lock for a whole lease, and no client knows of it.
async fn drop_queued_tries(worker: &Worker, random: &mut Rng) {
    // It may be cut off, or Redis may be down.
    let Ok(client) = worker.wire.builder().connect(&worker.url).await else { return };
    let id = random.u64(..);
    let dropped = (0..QUEUED).map(|at| {
        let moment = Duration::from_micros(random.u64(..400));
        drop_after(moment, client.fair_write(format!("queued:{id}:{at}")).acquire())
    });
    join_all(dropped).await;
    let begun = Instant::now();
    while client.health().await.holds > 0 && begun.elapsed() < PATIENCE {
        sleep(Duration::from_millis(20)).await;
    }
    // Otherwise Redis does not answer.
    let all_released = client.health().await.holds == 0;
    for at in 0..QUEUED {
        let tried = client.fair_write(format!("queued:{id}:{at}")).try_acquire().await;
        if matches!(tried, Err(AcquireError::Busy(_))) && all_released {
            worker.wrong(format!("a dropped try has left the lock queued:{id}:{at}"));
        }
    }
    let _ = client.shutdown(PATIENCE).await;
}

/// Polls as often as the other tasks let it: a timer has milliseconds.
async fn drop_after<T>(moment: Duration, acquire: impl Future<Output = T>) {
    let (begun, mut acquire) = (Instant::now(), pin!(acquire));
    while begun.elapsed() < moment && poll!(&mut acquire).is_pending() {
        tokio::task::yield_now().await;
    }
}

async fn panic_while_holding(worker: &Worker, random: &mut Rng) {
    let turn = plain(worker, random, Family::ReadWrite);
    let Some((n, held)) = worker.acquire(&turn, None).await else {
        return;
    };
    let looked = &mut Looked::begin();
    worker.protect(n, &held, looked, sleep(turn.hold)).await;
    worker.write(&looked.end(n, Ending::Panicked));
    let work = async move {
        let _held = held;
        std::panic::panic_any(OnPurpose);
    };
    let ended = AssertUnwindSafe(work).catch_unwind().await;
    debug_assert!(ended.is_err());
}

/// The guard outlives the runtime on which it was acquired, and is dropped without any.
async fn end_a_runtime_while_holding(worker: &Arc<Worker>, random: &mut Rng) {
    let turn = plain(worker, random, Family::Reentrant);
    let worker = Arc::clone(worker);
    let (done, ended) = tokio::sync::oneshot::channel();
    thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.expect("cannot start a runtime");
        let acquired = runtime.block_on(worker.acquire(&turn, None));
        drop(runtime);
        if let Some((n, held)) = acquired {
            let mut looked = Looked::begin();
            let at = now();
            if held.is_held() {
                looked.last = at;
            }
            worker.write(&looked.end(n, Ending::Dropped));
            drop(held);
        }
        let _ = done.send(());
    });
    if ended.await.is_err() {
        // The thread's own panic is on the standard error, where it is looked for.
    }
}

async fn hold_many(worker: &Worker) {
    let id = std::process::id();
    let lease = Duration::from_secs(2);
    let ask = |number| {
        let lock = worker.locks.write(format!("many:{id}:{number}"));
        worker.with_lease(lock, lease).try_acquire()
    };
    let answers: Vec<_> = stream::iter(0..MANY).map(ask).buffer_unordered(AT_ONCE).collect().await;
    let mut held = Vec::new();
    for answer in answers {
        match answer {
            Ok(guard) => held.push(guard),
            Err(AcquireError::Unavailable(_) | AcquireError::Busy(_)) => {}
            Err(other) => worker.wrong(format!("one of many keys: {other}")),
        }
    }
    sleep(lease / 2).await;
    drop(held);
}

async fn lock_odd_keys(worker: &Worker) {
    let long = "x".repeat(MAX_KEY_BYTES);
    let odd = ["a b", "%0d%0a", "ключ", BEYOND_PATHS, "{tag}rest", "\"'\\", "*?[a]", &long];
    for key in odd {
        match worker.with_lease(worker.locks.write(key), Duration::from_secs(1)).acquire().await {
            Ok(guard) => drop(guard),
            // A path in ZooKeeper has no such character.
            Err(AcquireError::Unsupported(_))
                if worker.session_lease.is_some() && key == BEYOND_PATHS => {}
            Err(why) => expect_trouble(worker, key, why),
        }
    }
    for key in ["", "a\r\nb", "\0", "{", "}{", "{}x"] {
        let refused = worker.locks.write(key).try_acquire().await;
        if !matches!(refused, Err(AcquireError::Key(_))) {
            worker.wrong(format!("the key {key:?} was not refused: {refused:?}"));
        }
    }
}

/// Another worker may hold it, or the store may be down; anything else is wrong.
fn expect_trouble(worker: &Worker, key: &str, why: AcquireError) {
    if !matches!(refusal(why.clone()), Refusal::Busy | Refusal::Unavailable(..) | Refusal::Draining)
    {
        worker.wrong(format!("the key {key:?}: {why}"));
    }
}

async fn ask_for_keys_that_are_too_long(worker: &Worker) {
    for length in [MAX_KEY_BYTES + 1, 100_000] {
        let refused = worker.locks.write("k".repeat(length)).try_acquire().await;
        if !matches!(refused, Err(AcquireError::Key(_))) {
            worker.wrong(format!("a key of {length} bytes was not refused"));
        }
    }
}

async fn ask_for_leases_out_of_bounds(worker: &Worker) {
    let moment = Duration::from_millis(1);
    for lease in [Duration::ZERO, moment, MAX_DURATION + moment, Duration::MAX] {
        let refused = worker.locks.write("read_write:0").lease(lease).try_acquire().await;
        if !matches!(refused, Err(AcquireError::InvalidOptions(_))) {
            worker.wrong(format!("a lease of {lease:?} was not refused"));
        }
    }
    if let Some(lease) = worker.session_lease {
        let refused = worker.locks.write("read_write:0").lease(lease + moment).try_acquire().await;
        if !matches!(refused, Err(AcquireError::Unsupported(_))) {
            worker.wrong("a lease that is not the session's was not refused");
        }
    }
}

/// A guard whose lease is over, and whose key others have had since, says so.
async fn release_late(worker: &Worker, random: &mut Rng) {
    let mut turn = plain(worker, random, Family::NonReentrant);
    turn.lease = worker.session_lease.unwrap_or(Duration::from_millis(150));
    turn.renew = false;
    let Some((n, held)) = worker.acquire(&turn, None).await else {
        return;
    };
    let mut looked = Looked::begin();
    worker.protect(n, &held, &mut looked, std::future::pending()).await;
    worker.write(&looked.end(n, Ending::Released));
    sleep(turn.lease).await;
    match held.release().await {
        Err(ReleaseError::Lost(_)) => {}
        other => worker.wrong(format!("a stale guard's release: {other:?}")),
    }
    worker.write(&Record::Freed { n, at: now(), confirmed: false });
}
