//! Single flight: one caller of all fills, and what happens when that one fails, goes or loses its lock.
//! On the in-memory store under a paused clock; each client is a separate process.

use std::{
    convert::Infallible,
    future::pending,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU32, Ordering::SeqCst},
    },
    time::Duration,
};

use futures_util::{FutureExt, future::join_all};
use lock_conformance::{ConstantFaults, Delivery, FaultPlan, faulty};
use lock_core::{
    Acquire, AcquireError, Kind, LockClient, LockError, LostCause, MemoryStore, Mode, OnceError,
    test_util::lose,
};
use tokio::{
    task::JoinHandle,
    time::{Instant, sleep},
};

const LEASE: Duration = Duration::from_secs(3);
const LONG: Duration = Duration::from_secs(60);
const FILL: Duration = ms(100);

const fn ms(count: u64) -> Duration {
    Duration::from_millis(count)
}

fn client(store: &MemoryStore) -> LockClient {
    LockClient::builder().lease(LEASE).in_memory_on(store)
}

/// The result that all processes share.
#[derive(Default)]
struct Shared {
    result: Mutex<Option<u32>>,
    /// Fills that began, that run now, and the most that ran at once.
    begun: AtomicU32,
    running: AtomicU32,
    at_once: AtomicU32,
    checks: AtomicU32,
}

/// Counts a fill as running, however it ends.
struct Running<'a>(&'a Shared);

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.0.running.fetch_sub(1, SeqCst);
    }
}

impl Shared {
    fn run(&self) -> Running<'_> {
        self.begun.fetch_add(1, SeqCst);
        let running = self.running.fetch_add(1, SeqCst) + 1;
        self.at_once.fetch_max(running, SeqCst);
        Running(self)
    }

    async fn check(&self) -> Option<u32> {
        self.checks.fetch_add(1, SeqCst);
        sleep(ms(1)).await;
        *self.result.lock().unwrap()
    }

    /// The result is the number of the fill that made it.
    async fn fill(&self) -> u32 {
        let _running = self.run();
        sleep(FILL).await;
        *self.result.lock().unwrap().insert(self.begun.load(SeqCst))
    }

    /// How many fills began, and how many of them ran at once.
    fn fills(&self) -> (u32, u32) {
        (self.begun.load(SeqCst), self.at_once.load(SeqCst))
    }
}

type Outcome = Result<u32, OnceError<Infallible>>;

/// Spawned, so that it is also shown that the future can be sent between threads.
fn once(shared: &Arc<Shared>, lock: Acquire) -> JoinHandle<Outcome> {
    let shared = Arc::clone(shared);
    tokio::spawn(async move {
        let check = || async { Ok(shared.check().await) };
        lock.once(check, || async { Ok(shared.fill().await) }).await
    })
}

fn once_or_unlocked(shared: &Arc<Shared>, lock: Acquire) -> JoinHandle<Outcome> {
    let shared = Arc::clone(shared);
    tokio::spawn(async move {
        let check = || async { Ok(shared.check().await) };
        lock.once_or_unlocked(check, || async { Ok(shared.fill().await) }).await
    })
}

async fn results(callers: impl IntoIterator<Item = JoinHandle<Outcome>>) -> Vec<u32> {
    join_all(callers).await.into_iter().map(|ended| ended.unwrap().unwrap()).collect()
}

fn is_busy(outcome: &Outcome) -> bool {
    matches!(outcome, Err(OnceError::Lock(LockError::Acquire(AcquireError::Busy(_)))))
}

fn is_unavailable(outcome: &Outcome) -> bool {
    matches!(outcome, Err(OnceError::Lock(LockError::Acquire(AcquireError::Unavailable(_)))))
}

/// In the middle of the fill.
async fn while_it_fills() {
    sleep(FILL / 2).await;
}

#[tokio::test(start_paused = true)]
async fn one_of_a_hundred_callers_fills() {
    let kinds = [
        Kind::ReadWrite,
        Kind::FairReadWrite,
        Kind::Reentrant,
        Kind::NonReentrant,
        Kind::Fair,
        Kind::Fenced,
    ];
    for kind in kinds {
        let (store, shared) = (MemoryStore::new(), Arc::<Shared>::default());
        let clients: Vec<_> = (0..10).map(|_| client(&store)).collect();
        let begun = Instant::now();
        let callers = (0..100).map(|at| once(&shared, clients[at % 10].write("k").kind(kind)));
        assert_eq!(results(callers).await, [1; 100], "{kind}");
        assert_eq!(shared.fills(), (1, 1), "{kind}");
        // A check, one under the lock, the fill, one of each leader, one of its followers.
        let readers = kind.has_readers();
        let checks = if readers { 4 } else { 13 };
        assert!(begun.elapsed() <= FILL + ms(checks + 5), "{kind}: {:?}", begun.elapsed());
        for client in &clients {
            let sent = client.statistics().acquire.count;
            assert!(sent <= 5, "{kind}: {sent} commands for ten callers");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_result_that_is_there_costs_the_store_nothing() {
    let (store, shared) = (MemoryStore::new(), Arc::<Shared>::default());
    let client = client(&store);
    *shared.result.lock().unwrap() = Some(7);
    let _writes = client.write("k").acquire().await.unwrap();
    let before = client.statistics().acquire.count;
    assert_eq!(results([once(&shared, client.write("k"))]).await, [7]);
    assert_eq!((client.statistics().acquire.count, shared.fills()), (before, (0, 0)));
}

/// The next one fills, and each caller of a failed fill gets its own error.
#[tokio::test(start_paused = true)]
async fn a_fill_that_fails_is_repeated_by_the_next_caller() {
    let (store, shared) = (MemoryStore::new(), Arc::<Shared>::default());
    let clients = [client(&store), client(&store), client(&store)];
    let callers = (0..30).map(|at| {
        let (shared, lock) = (Arc::clone(&shared), clients[at % 3].write("k").wait(LONG));
        tokio::spawn(async move {
            let fill = || async {
                let number = shared.begun.load(SeqCst);
                let filled = shared.fill().await;
                if number < 4 {
                    *shared.result.lock().unwrap() = None;
                    return Err(number);
                }
                Ok(filled)
            };
            lock.once(|| async { Ok(shared.check().await) }, fill).await
        })
    });
    let (mut failed, mut found) = (Vec::new(), 0);
    for ended in join_all(callers).await {
        match ended.unwrap() {
            Ok(5) => found += 1,
            Err(OnceError::Work(number)) => failed.push(number),
            other => panic!("{other:?}"),
        }
    }
    failed.sort_unstable();
    assert_eq!((failed.as_slice(), found), ([0, 1, 2, 3].as_slice(), 26));
    assert_eq!(shared.fills(), (5, 1));
}

#[tokio::test(start_paused = true)]
async fn a_check_that_fails_is_its_callers_own() {
    let client = LockClient::in_memory();
    for fails_at in [1, 2] {
        let checks = AtomicU32::new(0);
        let check = || async {
            let check = checks.fetch_add(1, SeqCst) + 1;
            if check == fails_at { Err("no connection") } else { Ok(None) }
        };
        let ended = client.write("k").once(check, || async { Ok(()) }).await;
        assert!(matches!(ended, Err(OnceError::Work("no connection"))), "{fails_at}: {ended:?}");
        client.write("k").acquire().await.unwrap().release().await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn a_filler_that_is_dropped_is_replaced_at_once() {
    for same_process in [true, false] {
        let (store, shared) = (MemoryStore::new(), Arc::<Shared>::default());
        let (here, there) = (client(&store), client(&store));
        let filler = once(&shared, here.write("k"));
        sleep(ms(10)).await;
        let others = if same_process { &here } else { &there };
        let others: Vec<_> = (0..10).map(|_| once(&shared, others.write("k").wait(LONG))).collect();
        while_it_fills().await;
        filler.abort();
        let dropped = Instant::now();
        assert_eq!(results(others).await, [2; 10]);
        assert!(dropped.elapsed() <= FILL + ms(10), "{:?}", dropped.elapsed());
        assert_eq!(shared.fills(), (2, 1));
    }
}

/// A follower that is woken and never polled again keeps no other from filling.
#[tokio::test(start_paused = true)]
async fn a_follower_that_is_not_polled_is_in_no_others_way() {
    let (store, shared) = (MemoryStore::new(), Arc::<Shared>::default());
    let here = client(&store);
    let filler = once(&shared, here.write("k"));
    while_it_fills().await;
    let check = || async { Ok::<_, Infallible>(*shared.result.lock().unwrap()) };
    let fill = || async { Ok(shared.fill().await) };
    let mut stalled = Box::pin(here.write("k").wait(LONG).once(check, fill));
    assert!((&mut stalled).now_or_never().is_none());
    assert_eq!(here.statistics().longest_queue, 1, "it follows");
    let other = once(&shared, here.write("k").wait(LONG));
    sleep(ms(10)).await;
    filler.abort();
    let dropped = Instant::now();
    assert_eq!(results([other]).await, [2]);
    assert!(dropped.elapsed() <= FILL + ms(10), "{:?}", dropped.elapsed());
    assert_eq!((stalled.await.unwrap(), shared.fills()), (2, (2, 1)));
}

#[tokio::test(start_paused = true)]
async fn a_filler_that_dies_is_replaced_when_its_lease_ends() {
    let (store, shared) = (MemoryStore::new(), Arc::<Shared>::default());
    let (dead, here) = (client(&store), client(&store));
    let died = Instant::now();
    let _its_lock = dead.write("k").renew(false).acquire().await.unwrap();
    let callers = (0..10).map(|_| once(&shared, here.write("k").wait(LONG)));
    assert_eq!(results(callers).await, [1; 10]);
    assert!(died.elapsed() <= LEASE + FILL + ms(20), "{:?}", died.elapsed());
    assert_eq!(shared.fills(), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn a_filler_that_loses_its_lock_is_cut_short_and_starts_over() {
    let (store, shared) = (MemoryStore::new(), Arc::<Shared>::default());
    let (here, there) = (client(&store), client(&store));
    let filler = once(&shared, here.write("k").wait(LONG));
    while_it_fills().await;
    let other = once(&shared, there.write("k").wait(LONG));
    sleep(ms(10)).await;
    assert_eq!(lose(&here, &"k".to_owned().try_into().unwrap()), 1);
    assert_eq!(results([filler, other]).await, [2, 2]);
    assert_eq!(shared.fills(), (2, 1), "the first was dropped before the second began");
}

#[tokio::test(start_paused = true)]
async fn a_loss_after_the_wait_ends_it() {
    let (store, shared) = (MemoryStore::new(), Arc::<Shared>::default());
    let lock = client(&store).write("k");
    let fills = Arc::clone(&shared);
    let long = tokio::spawn(async move {
        let fill = || async {
            let _running = fills.run();
            pending().await
        };
        lock.wait(FILL / 4).max_hold(ms(100)).once(|| async { Ok(None) }, fill).await
    });
    let ended: Outcome = long.await.unwrap();
    let Err(OnceError::Lock(LockError::Lost(lost))) = ended else { panic!("{ended:?}") };
    assert_eq!((lost.cause(), shared.fills()), (LostCause::MaxHold, (1, 1)));
}

#[tokio::test(start_paused = true)]
async fn the_wait_bounds_leaders_and_followers() {
    for same_process in [true, false] {
        let (store, shared) = (MemoryStore::new(), Arc::<Shared>::default());
        let (here, there) = (client(&store), client(&store));
        let writer = if same_process { &here } else { &there };
        let _writes = writer.write("k").acquire().await.unwrap();
        for wait in [Duration::ZERO, ms(700)] {
            let began = Instant::now();
            let callers = (0..10).map(|_| once(&shared, here.write("k").wait(wait)));
            for ended in join_all(callers).await {
                let ended = ended.unwrap();
                assert!(is_busy(&ended), "{ended:?}");
            }
            assert!(began.elapsed() <= wait + ms(60), "{:?} of {wait:?}", began.elapsed());
        }
        assert_eq!((shared.fills(), here.health().await.waiting), ((0, 0), 0));
    }
}

/// Writers would be woken one after the other, each for a result that is there.
#[tokio::test(start_paused = true)]
async fn other_processes_wait_as_readers() {
    let (store, shared) = (MemoryStore::new(), Arc::<Shared>::default());
    let clients = [client(&store), client(&store), client(&store)];
    let callers = clients.each_ref().map(|client| once(&shared, client.write("k").wait(LONG)));
    while_it_fills().await;
    let waiters = clients[0].inspect("k").await.unwrap().waiters;
    let modes: Vec<_> = waiters.iter().map(|waiter| waiter.mode).collect();
    assert_eq!(modes, [Mode::Read; 2]);
    assert_eq!(results(callers).await, [1; 3]);
}

/// A reader of the application is in the way of the fill: it is waited for, and not polled.
#[tokio::test(start_paused = true)]
async fn a_long_reader_is_waited_for_without_polling() {
    let (store, shared) = (MemoryStore::new(), Arc::<Shared>::default());
    let (here, there) = (client(&store), client(&store));
    let reads = there.read("k").acquire().await.unwrap();
    let callers: Vec<_> = (0..10).map(|_| once(&shared, here.write("k").wait(LONG))).collect();
    sleep(LEASE).await;
    assert!(shared.checks.load(SeqCst) <= 12, "{} checks", shared.checks.load(SeqCst));
    reads.release().await.unwrap();
    assert_eq!(results(callers).await, [1; 10]);
    assert_eq!(shared.fills(), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn a_store_that_is_down_is_not_busy() {
    let (store, shared) = (MemoryStore::new(), Arc::<Shared>::default());
    let client = client(&store);
    store.set_down(true);
    let callers = (0..10).map(|_| once(&shared, client.write("k")));
    for ended in join_all(callers).await {
        let ended = ended.unwrap();
        assert!(is_unavailable(&ended), "{ended:?}");
    }
    assert_eq!(shared.fills(), (0, 0));
}

/// It takes the commands, and never answers.
#[tokio::test(start_paused = true)]
async fn a_store_that_is_silent_is_waited_for_once_and_not_by_one_caller_after_the_other() {
    let (store, shared) = (MemoryStore::new(), Arc::<Shared>::default());
    let link = Arc::<ConstantFaults>::default();
    let timeout = ms(500);
    let builder = LockClient::builder().command_timeout(timeout);
    let client = faulty(builder, &store, Arc::clone(&link) as Arc<dyn FaultPlan>);
    link.set(Delivery { taken: None, answered: None });
    let began = Instant::now();
    let callers = (0..10).map(|_| once(&shared, client.write("k").wait(LONG)));
    for ended in join_all(callers).await {
        let ended = ended.unwrap();
        assert!(is_unavailable(&ended), "{ended:?}");
    }
    assert!(began.elapsed() <= timeout * 2, "{:?}", began.elapsed());
    let began = Instant::now();
    let callers = (0..10).map(|_| once_or_unlocked(&shared, client.write("k").wait(LONG)));
    assert_eq!((results(callers).await, shared.fills()), (vec![1; 10], (1, 1)));
    assert!(began.elapsed() <= timeout + FILL + ms(10), "{:?}", began.elapsed());
    // The silence is known by now: the next one does not wait for the store first.
    let (began, later) = (Instant::now(), Arc::<Shared>::default());
    let caller = once_or_unlocked(&later, client.write("k").wait(LONG));
    assert_eq!((results([caller]).await, later.fills()), (vec![1], (1, 1)));
    assert!(began.elapsed() <= FILL + ms(10), "{:?}", began.elapsed());
}

#[tokio::test(start_paused = true)]
async fn each_process_can_fill_while_the_store_is_down() {
    let (store, shared) = (MemoryStore::new(), Arc::<Shared>::default());
    let apart = Arc::<Shared>::default();
    let (here, there) = (client(&store), client(&store));
    store.set_down(true);
    let callers: Vec<_> =
        (0..10).map(|_| once_or_unlocked(&shared, here.write("k").wait(LONG))).collect();
    let others: Vec<_> =
        (0..10).map(|_| once_or_unlocked(&apart, there.write("k").wait(LONG))).collect();
    assert_eq!((results(callers).await, results(others).await), (vec![1; 10], vec![1; 10]));
    assert_eq!((shared.fills(), apart.fills()), ((1, 1), (1, 1)), "once in each process");
}

/// The wait of a leader that began before is long, and its followers wait for it.
#[tokio::test(start_paused = true)]
async fn callers_that_wait_continue_when_the_store_goes_down() {
    let (store, shared) = (MemoryStore::new(), Arc::<Shared>::default());
    let (here, there) = (client(&store), client(&store));
    let _writes = there.write("k").acquire().await.unwrap();
    let caller = || once_or_unlocked(&shared, here.write("k").wait(LONG));
    let callers: Vec<_> = (0..10).map(|_| caller()).collect();
    sleep(LEASE).await;
    store.set_down(true);
    let down = Instant::now();
    let newcomers: Vec<_> = (0..10).map(|_| caller()).collect();
    assert_eq!(results(callers.into_iter().chain(newcomers)).await, [1; 20]);
    assert!(down.elapsed() <= ms(2_000) + FILL, "{:?}", down.elapsed());
    assert_eq!(shared.fills(), (1, 1));
}

/// A leader without this option waits on: the store may be back. Its followers do not fill beside it.
#[tokio::test(start_paused = true)]
async fn a_follower_that_may_fill_without_the_store_waits_for_its_leader() {
    let (store, shared) = (MemoryStore::new(), Arc::<Shared>::default());
    let (here, there) = (client(&store), client(&store));
    let _writes = there.write("k").acquire().await.unwrap();
    let leader = once(&shared, here.write("k").wait(LONG));
    sleep(ms(10)).await;
    store.set_down(true);
    let follower = once_or_unlocked(&shared, here.write("k").wait(LONG));
    sleep(LEASE * 2).await;
    assert!(!leader.is_finished() && !follower.is_finished());
    assert_eq!(shared.fills(), (0, 0));
    leader.abort();
    assert_eq!((results([follower]).await, shared.fills()), (vec![1], (1, 1)));
}

/// A caller that waits for the scope's lock must not be waited for by that scope.
#[tokio::test(start_paused = true)]
async fn a_scope_that_holds_the_lock_fills_under_its_own_hold() {
    let (store, shared) = (MemoryStore::new(), Arc::<Shared>::default());
    let here = client(&store);
    let scope = here.scope();
    let guard = scope.write("k").acquire().await.unwrap();
    let other = once(&shared, here.write("k").wait(LONG));
    sleep(ms(10)).await;
    assert_eq!(results([once(&shared, scope.write("k"))]).await, [1]);
    assert!(guard.is_held());
    drop(guard);
    assert_eq!((results([other]).await, shared.fills()), (vec![1], (1, 1)));
    let _reads = scope.read("k").acquire().await.unwrap();
    *shared.result.lock().unwrap() = None;
    let refused = once(&shared, scope.write("k").wait(LONG)).await.unwrap();
    let Err(OnceError::Lock(LockError::Acquire(why))) = refused else { panic!("{refused:?}") };
    assert!(matches!(why, AcquireError::ReadHeld { .. }), "{why}");
}

/// `fill` may acquire the lock again, to see its token, and `check` too.
#[tokio::test(start_paused = true)]
async fn the_lock_is_reentrant_inside() {
    let client = LockClient::in_memory();
    let fill = || async { Ok(client.write("k").acquire().await?.fencing_token()) };
    let before = client.write("k").acquire().await.unwrap().fencing_token();
    let filled = client.write("k").once(|| async { Ok::<_, AcquireError>(None) }, fill).await;
    assert!(filled.unwrap() > before);
}

#[tokio::test(start_paused = true)]
async fn a_lock_that_cannot_be_filled_under_is_refused_before_the_first_check() {
    let (store, shared) = (MemoryStore::new(), Arc::<Shared>::default());
    let client = client(&store);
    let semaphore = client.write("k").kind(Kind::Semaphore);
    let replaces = client.write("k").replace_after(LONG);
    for lock in [client.lock(Mode::Read, "k"), semaphore, replaces] {
        let refused = once(&shared, lock).await.unwrap();
        let Err(OnceError::Lock(LockError::Acquire(why))) = refused else { panic!("{refused:?}") };
        assert!(matches!(why, AcquireError::InvalidOptions(_)), "{why}");
    }
    assert_eq!(shared.checks.load(SeqCst), 0);
}

#[tokio::test(start_paused = true)]
async fn followers_are_waiters_and_have_their_limit() {
    let (store, shared) = (MemoryStore::new(), Arc::<Shared>::default());
    let client = client(&store);
    let _writes = client.write("k").acquire().await.unwrap();
    let caller = || once(&shared, client.write("k").wait(LONG).max_waiters(5));
    let callers: Vec<_> = (0..6).map(|_| caller()).collect();
    sleep(ms(10)).await;
    let waiting = (client.health().await.waiting, client.statistics().longest_queue);
    assert_eq!(waiting, (6, 5), "one at the lock's gate, and five behind it");
    let refused = caller().await.unwrap();
    let Err(OnceError::Lock(LockError::Acquire(why))) = refused else { panic!("{refused:?}") };
    assert!(matches!(why, AcquireError::Overloaded(_)), "{why}");
    for caller in callers {
        caller.abort();
    }
    sleep(ms(10)).await;
    assert_eq!(client.health().await.waiting, 0);
}

#[tokio::test(start_paused = true)]
async fn a_shutdown_sends_followers_away() {
    let (store, shared) = (MemoryStore::new(), Arc::<Shared>::default());
    let client = client(&store);
    let callers: Vec<_> = (0..3).map(|_| once(&shared, client.write("k").wait(LONG))).collect();
    while_it_fills().await;
    client.shutdown(LONG).await.unwrap();
    let ended: Vec<_> = join_all(callers).await.into_iter().map(Result::unwrap).collect();
    assert!(matches!(ended[0], Ok(1)), "what fills is waited for: {ended:?}");
    for refused in &ended[1..] {
        let Err(OnceError::Lock(LockError::Acquire(why))) = refused else { panic!("{refused:?}") };
        assert!(matches!(why, AcquireError::Draining), "{why}");
    }
}
