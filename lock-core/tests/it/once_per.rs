//! Once per slot: which clock has which slot, what becomes of a run that fails or dies, and what is left in
//! the store. On the in-memory store under a paused clock; each client is a separate process.

use std::{
    convert::Infallible,
    future::pending,
    panic::AssertUnwindSafe,
    time::{Duration, SystemTime},
};

use futures_util::{FutureExt, poll};
use lock_core::{
    Acquire, AcquireError, InvalidOptions, LockClient, LockError, LostCause, MemoryStore,
    OnceError, OncePer, SlotAttempt, SlotRun, Slots, test_util::lose,
};
use tokio::time::{Instant, sleep};

const SECOND: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(60 * 60);
const LEASE: Duration = Duration::from_secs(30);

/// Three o'clock on some day.
fn three() -> SystemTime {
    SystemTime::UNIX_EPOCH + 10_003 * 24 * HOUR + 3 * HOUR
}

/// A replica, whose clock is ahead of or behind that of the others.
struct Replica {
    locks: LockClient,
    began: Instant,
    clock: SystemTime,
}

impl Replica {
    fn new(store: &MemoryStore, clock: SystemTime) -> Self {
        let locks = LockClient::builder().lease(LEASE).in_memory_on(store);
        Self { locks, began: Instant::now(), clock }
    }

    fn now(&self) -> SystemTime {
        self.clock + self.began.elapsed()
    }

    fn hourly(&self) -> OncePer {
        self.locks.write("job").once_per(Slots::every(HOUR)).on_clock(self.now())
    }

    async fn run(&self) -> SlotRun<u32> {
        self.hourly().run(async |attempt| Ok::<_, Infallible>(attempt.number())).await.unwrap()
    }

    async fn fail(&self) -> u32 {
        let failed = self.hourly().run(async |attempt| Err::<(), _>(attempt.number())).await;
        let Err(OnceError::Work(number)) = failed else { panic!("{failed:?}") };
        number
    }
}

fn three_replicas(store: &MemoryStore) -> [Replica; 3] {
    let clocks = [40, 60, 80].map(|past| three() + past * SECOND);
    clocks.map(|clock| Replica::new(store, clock))
}

/// The keys of locks that are held.
async fn keys(locks: &LockClient) -> Vec<String> {
    let page = locks.list_page("", None, 100).await.unwrap();
    page.keys.iter().map(ToString::to_string).collect()
}

#[tokio::test(start_paused = true)]
async fn replicas_whose_clocks_differ_run_it_once() {
    let store = MemoryStore::new();
    // The first one reaches the next hour 40 seconds before the last one.
    let mut replicas = three_replicas(&store);
    replicas.reverse();
    for hour in [4, 5] {
        let mut runs = Vec::new();
        for replica in &replicas {
            let due = three() + (hour - 3) * HOUR;
            sleep(due.duration_since(replica.now()).unwrap()).await;
            runs.push(replica.run().await);
        }
        assert_eq!(runs, [SlotRun::Ran(1), SlotRun::AlreadyRan, SlotRun::AlreadyRan]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_late_clock_finds_the_slot_that_has_ended_done() {
    let store = MemoryStore::new();
    let [late, _, ahead] = three_replicas(&store);
    assert_eq!(ahead.run().await, SlotRun::Ran(1));
    sleep(HOUR - 82 * SECOND).await;
    assert_eq!(ahead.run().await, SlotRun::AlreadyRan, "two seconds before four, on its clock");
    sleep(2 * SECOND).await;
    assert_eq!(ahead.run().await, SlotRun::Ran(1), "the next slot");
    sleep(35 * SECOND).await;
    assert!(late.now() < three() + HOUR - SECOND);
    assert_eq!(late.run().await, SlotRun::AlreadyRan, "still the former slot, on its clock");
}

#[tokio::test(start_paused = true)]
async fn a_slot_that_has_ended_for_every_clock_is_not_run() {
    let store = MemoryStore::new();
    let [one, ..] = three_replicas(&store);
    let planned = three();
    let job = || one.hourly().at(planned).run(async |_| Ok::<_, Infallible>(()));
    sleep(HOUR - MINUTE).await;
    assert_eq!(job().await.unwrap(), SlotRun::Ran(()));
    // Its mark is gone an hour later.
    sleep(HOUR).await;
    let refused = job().await.unwrap_err().to_string();
    assert!(refused.contains("has ended for every clock"), "{refused}");
    assert!(
        keys(&one.locks).await.iter().all(|key| !key.starts_with("lock-slot:")),
        "nothing is left"
    );
    assert_eq!(one.run().await, SlotRun::Ran(1), "the slot of this hour");
}

#[tokio::test(start_paused = true)]
async fn a_timer_that_fires_early_runs_the_slot_that_begins() {
    let store = MemoryStore::new();
    let before = three() + HOUR - Duration::from_millis(5);
    let [early, due] = [before, three() + HOUR].map(|clock| Replica::new(&store, clock));
    let job = early.hourly();
    let ran = job.run(async |attempt| Ok::<_, Infallible>(attempt.slot().begins)).await.unwrap();
    assert_eq!(ran, SlotRun::Ran(three() + HOUR));
    assert_eq!(due.run().await, SlotRun::AlreadyRan);
}

#[tokio::test(start_paused = true)]
async fn by_how_much_clocks_differ_is_settable() {
    for (difference, is_done) in [(5 * MINUTE, true), (5 * SECOND, false)] {
        let store = MemoryStore::new();
        let one = Replica::new(&store, three() + HOUR - 10 * SECOND);
        let job = one.hourly().clock_difference(difference);
        job.run(async |_| Ok::<_, Infallible>(())).await.unwrap();
        // A minute after the slot's end and the lease of the mark.
        sleep(10 * SECOND + LEASE + MINUTE).await;
        let late = Replica::new(&store, three() + HOUR - 10 * SECOND);
        assert_eq!(late.run().await == SlotRun::AlreadyRan, is_done, "{difference:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_run_that_failed_is_repeated_with_the_next_number() {
    let store = MemoryStore::new();
    let [one, two, three] = three_replicas(&store);
    assert_eq!([one.fail().await, two.fail().await, one.fail().await], [1, 2, 3]);
    sleep(20 * MINUTE).await;
    assert_eq!(three.run().await, SlotRun::Ran(4));
    for replica in [&one, &two, &three] {
        assert_eq!(replica.run().await, SlotRun::AlreadyRan);
    }
    sleep(HOUR).await;
    assert_eq!(two.fail().await, 1, "another slot");
    assert_eq!(one.run().await, SlotRun::Ran(2));
}

#[tokio::test(start_paused = true)]
async fn a_run_that_panics_or_is_dropped_or_lost_is_repeated() {
    let store = MemoryStore::new();
    let [one, two, _] = three_replicas(&store);
    let panics = one.hourly().run(async |_| -> Result<(), Infallible> { panic!("the work") });
    AssertUnwindSafe(panics).catch_unwind().await.unwrap_err();
    sleep(SECOND).await;
    assert_eq!(two.fail().await, 2);

    let mut dropped =
        Box::pin(one.hourly().run(async |_| pending::<Result<(), Infallible>>().await));
    assert!(poll!(&mut dropped).is_pending());
    sleep(SECOND).await;
    drop(dropped);
    sleep(SECOND).await;
    assert_eq!(two.fail().await, 4);

    // With either lock the work is lost.
    for (number, key) in [(5, "job"), (6, &*format!("lock-slot:job:{}", seconds(three())))] {
        let key = key.try_into().unwrap();
        let lost = one.hourly().run(async |attempt| {
            assert_eq!(attempt.number(), number);
            assert_eq!(lose(&one.locks, &key), 1);
            pending::<Result<(), Infallible>>().await
        });
        let Err(OnceError::Lock(LockError::Lost(lost))) = lost.await else { panic!("{key}") };
        assert_eq!((lost.key(), lost.cause()), (&key, LostCause::Refused));
        sleep(SECOND).await;
    }
    assert_eq!(two.run().await, SlotRun::Ran(7));
}

fn seconds(time: SystemTime) -> u64 {
    time.duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs()
}

#[tokio::test(start_paused = true)]
async fn attempts_are_counted_to_a_hundred() {
    let store = MemoryStore::new();
    let [one, ..] = three_replicas(&store);
    for number in (1..=100).chain([100, 100]) {
        assert_eq!(one.fail().await, number);
    }
}

#[tokio::test(start_paused = true)]
async fn runs_never_overlap() {
    let store = MemoryStore::new();
    let [one, two, _] = three_replicas(&store);
    let began = Instant::now();
    let long = tokio::spawn(one.hourly().run(async |_| {
        sleep(90 * MINUTE).await;
        Ok::<_, Infallible>(())
    }));
    sleep(MINUTE).await;
    assert_eq!(two.run().await, SlotRun::Running);
    sleep(HOUR).await;
    assert_eq!(two.run().await, SlotRun::Running, "of an earlier slot");
    let waits = two.locks.write("job").wait(HOUR).once_per(Slots::every(HOUR)).on_clock(two.now());
    let waited = waits.run(async |attempt| Ok::<_, Infallible>(attempt.number())).await.unwrap();
    assert_eq!(waited, SlotRun::Ran(1));
    assert!(began.elapsed() >= 90 * MINUTE, "{:?}", began.elapsed());
    assert_eq!(long.await.unwrap().unwrap(), SlotRun::Ran(()));
}

#[tokio::test(start_paused = true)]
async fn nothing_is_left_in_the_store_after_the_slot() {
    let store = MemoryStore::new();
    let [_, one, _] = three_replicas(&store);
    assert_eq!(one.fail().await, 1);
    sleep(SECOND).await;
    let slot = seconds(three());
    assert_eq!(keys(&one.locks).await, [format!("lock-slot:job:{slot}:1")]);
    assert_eq!(one.run().await, SlotRun::Ran(2));
    let mark = ["", ":1", ":2"].map(|end| format!("lock-slot:job:{slot}{end}"));
    sleep(SECOND).await;
    assert_eq!(keys(&one.locks).await, mark);
    assert_eq!(one.locks.health().await.holds, 0, "nothing is renewed");
    sleep(HOUR - 4 * SECOND).await;
    assert_eq!(keys(&one.locks).await, mark, "a clock may be late by a minute");
    sleep(LEASE + 3 * SECOND).await;
    assert!(keys(&one.locks).await.is_empty());
}

#[tokio::test(start_paused = true)]
async fn work_that_ends_during_a_shutdown_is_done() {
    let store = MemoryStore::new();
    let [one, two, _] = three_replicas(&store);
    let job = tokio::spawn(one.hourly().run(async |_| {
        sleep(5 * SECOND).await;
        Ok::<_, Infallible>(())
    }));
    sleep(SECOND).await;
    one.locks.shutdown(MINUTE).await.unwrap();
    assert_eq!(job.await.unwrap().unwrap(), SlotRun::Ran(()));
    assert_eq!(two.run().await, SlotRun::AlreadyRan);
    sleep(30 * MINUTE).await;
    assert_eq!(two.run().await, SlotRun::AlreadyRan);
}

#[tokio::test(start_paused = true)]
async fn while_the_store_does_not_answer_the_mark_is_tried_again() {
    let store = MemoryStore::new();
    let [one, two, _] = three_replicas(&store);
    let done = one.hourly().run(async |_| {
        store.set_down(true);
        Ok::<_, Infallible>(())
    });
    assert_eq!(done.await.unwrap(), SlotRun::Ran(()), "its result is not lost");
    sleep(5 * SECOND).await;
    store.set_down(false);
    sleep(SECOND).await;
    assert_eq!(two.run().await, SlotRun::AlreadyRan);
    sleep(30 * MINUTE).await;
    assert_eq!(two.run().await, SlotRun::AlreadyRan);
}

#[tokio::test(start_paused = true)]
async fn the_work_knows_its_attempt_and_enters_its_lock_again() {
    let store = MemoryStore::new();
    let [one, two, _] = three_replicas(&store);
    let mut before = one.locks.write("job").acquire().await.unwrap().fencing_token();
    for replica in [&one, &two] {
        let failed = replica.hourly().run(async |attempt| {
            let again = replica.locks.write("job").try_acquire().await.unwrap();
            assert_eq!(again.fencing_token(), attempt.fencing_token());
            assert!(attempt.lock().is_held());
            assert_eq!(attempt.slot().begins, three());
            let current = SlotAttempt::current().unwrap();
            assert_eq!(current.number(), attempt.number());
            Err::<(), _>(attempt.fencing_token())
        });
        let Err(OnceError::Work(token)) = failed.await else { panic!("the work fails") };
        assert!(token > before, "{token} after {before}");
        before = token;
    }
    assert!(SlotAttempt::current().is_none());
}

async fn refusal(job: OncePer) -> AcquireError {
    let refused = job.run(async |_| -> Result<(), Infallible> { panic!("it must not run") }).await;
    let Err(OnceError::Lock(LockError::Acquire(why))) = refused else { panic!("{refused:?}") };
    why
}

#[tokio::test(start_paused = true)]
async fn what_cannot_run_once_per_slot_is_refused() {
    let locks = LockClient::in_memory();
    let hourly = |acquire: Acquire| acquire.once_per(Slots::every(HOUR));
    let jobs = [
        hourly(locks.read("job")),
        hourly(locks.write("job").hold_at_least(SECOND)),
        hourly(locks.write("job").replace_after(SECOND)),
        hourly(locks.write("j".repeat(483))),
        locks.write("job").once_per(Slots::every(Duration::ZERO)),
        locks.write("job").once_per(Slots::every(SECOND - Duration::from_millis(1))),
        locks.write("job").once_per(Slots::every(Duration::MAX)),
    ];
    for job in jobs {
        let shown = format!("{job:?}");
        let why = refusal(job).await;
        assert!(
            matches!(why, AcquireError::InvalidOptions(InvalidOptions { .. })),
            "{why}: {shown}"
        );
    }
    assert!(keys(&locks).await.is_empty());
    let longest = hourly(locks.write("j".repeat(482)));
    longest.run(async |_| Ok::<_, Infallible>(())).await.unwrap();
    locks.shutdown(SECOND).await.unwrap();
    let drained = refusal(hourly(locks.write("job"))).await;
    assert!(matches!(drained, AcquireError::Draining), "{drained}");
}
