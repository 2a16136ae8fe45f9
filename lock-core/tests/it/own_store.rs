//! A store that lacks every optional feature: commands that it does not support are reported as
//! such, and leave nothing behind.

use std::{
    convert::Infallible,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use futures_util::{
    FutureExt,
    future::{BoxFuture, join_all},
};
use lock_conformance::{Feature, Fixture};
use lock_core::{
    AcquireError, DowngradeError, ForcedRelease, InspectError, KeyPage, Kind, LeaseState,
    LockClient, LockClientBuilder, LockError, LockKey, MemoryStore, Mode, OnceError, Slots,
    UpgradeError,
    store::{
        AcquireCommand, Acquired, LockSnapshot, LockStore, ReleaseCommand, Released, RenewCommand,
        Renewal, StoreAdmin, StoreError, StoreFuture, StoreHealth, Unavailable, Unsupported,
    },
};
use tokio::time::{Instant, sleep};

/// What every store has, and no more.
#[derive(Debug, Clone, Default)]
struct Bare {
    locks: MemoryStore,
    session_lease: Option<Duration>,
}

impl LockStore for Bare {
    fn acquire(&self, command: AcquireCommand) -> StoreFuture<'_, Acquired> {
        if command.kind.is_fair() || command.kind == Kind::Semaphore {
            let what = format!("{} locks", command.kind);
            return std::future::ready(Err(Unsupported::new(what).into())).boxed();
        }
        assert_eq!(command.reserved_tokens, 0, "it reserves no tokens");
        self.locks.acquire(command)
    }

    fn release(&self, command: ReleaseCommand) -> StoreFuture<'_, Released> {
        assert!(!command.holder.kind.is_fair(), "what was not granted is not released");
        self.locks.release(command)
    }

    fn renew(&self, mode: Mode, commands: Vec<RenewCommand>) -> StoreFuture<'_, Vec<Renewal>> {
        self.locks.renew(mode, commands)
    }

    fn health(&self) -> BoxFuture<'_, StoreHealth> {
        std::future::ready(StoreHealth::new("bare", Ok(Duration::ZERO))).boxed()
    }

    fn session_lease(&self) -> Option<Duration> {
        self.session_lease
    }
}

impl Fixture for Bare {
    fn client(&self, builder: LockClientBuilder) -> BoxFuture<'_, LockClient> {
        std::future::ready(builder.store(Arc::new(self.clone()))).boxed()
    }

    fn remove(&self, key: LockKey) -> BoxFuture<'_, ()> {
        self.locks.remove(&key);
        std::future::ready(()).boxed()
    }

    fn supports(&self, feature: Feature) -> bool {
        use Feature::{Fenced, NonReentrant, ReadWrite, Reentrant};
        matches!(feature, Reentrant | NonReentrant | Fenced | ReadWrite)
    }
}

/// The cases that require only these features.
#[tokio::test]
async fn what_it_has_works_as_elsewhere() {
    let count = lock_conformance::run(async || Bare::default()).await;
    assert!(count > 30, "{count}");
}

fn client(store: &Bare) -> LockClient {
    LockClient::builder().store(Arc::new(store.clone()))
}

#[tokio::test(start_paused = true)]
async fn a_kind_that_is_not_supported_is_refused_and_leaves_nothing() {
    let client = client(&Bare::default());
    for wait in [Duration::ZERO, Duration::from_secs(5)] {
        let started = Instant::now();
        let refused = client.fair("k").wait(wait).acquire().await.unwrap_err();
        let AcquireError::Unsupported(what) = refused else { panic!("{refused}") };
        assert_eq!(what.to_string(), "this lock store does not support fair locks");
        assert_eq!(started.elapsed(), Duration::ZERO);
    }
    let refused = client.multi_lock([client.write("a"), client.fair("b")]).acquire().await;
    assert!(matches!(refused, Err(AcquireError::Unsupported(_))), "{refused:?}");
    let refused = client.semaphore("s", 1).permit().acquire().await;
    assert!(matches!(refused, Err(AcquireError::Unsupported(_))), "{refused:?}");
    sleep(Duration::from_secs(1)).await;
    assert_eq!(client.health().await.holds, 0);
    client.write("a").try_acquire().await.unwrap().release().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_mode_that_cannot_be_changed_stays_as_it_is() {
    let store = Bare::default();
    let (here, there) = (client(&store), client(&store));
    let mut reader = here.read("k").acquire().await.unwrap();
    let refused = reader.upgrade().await.unwrap_err();
    assert!(matches!(refused, UpgradeError::Unsupported(_)), "{refused}");
    assert!(reader.is_held() && reader.mode() == Mode::Read);
    there.read("k").try_acquire().await.unwrap().release().await.unwrap();
    reader.release().await.unwrap();
    let mut writer = here.write("k").acquire().await.unwrap();
    let refused = writer.downgrade().await.unwrap_err();
    assert!(matches!(refused, DowngradeError::Unsupported(_)), "{refused}");
    assert!(writer.is_held() && writer.mode() == Mode::Write);
    sleep(Duration::from_secs(60)).await;
    assert!(writer.is_held(), "it is renewed");
    assert!(there.read("k").try_acquire().await.is_err());
    writer.release().await.unwrap();
    there.write("k").try_acquire().await.unwrap().release().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn waiters_without_wake_ups_look_by_themselves() {
    let store = Bare::default();
    let (here, there) = (client(&store), client(&store));
    let guard = here.write("k").acquire().await.unwrap();
    let started = Instant::now();
    let waiter = tokio::spawn(there.write("k").wait(Duration::from_secs(60)).acquire());
    sleep(Duration::from_millis(10)).await;
    guard.release().await.unwrap();
    waiter.await.unwrap().unwrap().release().await.unwrap();
    assert!(started.elapsed() < Duration::from_secs(4), "{:?}", started.elapsed());
}

#[tokio::test(start_paused = true)]
async fn several_locks_are_taken_one_after_the_other() {
    let store = Bare::default();
    let (here, there) = (client(&store), client(&store));
    let all = |client: &LockClient| client.multi_lock([client.write("a"), client.write("b")]);
    let guards = all(&here).acquire().await.unwrap();
    assert!(all(&there).try_acquire().await.is_err());
    guards.release().await.unwrap();
    all(&there).try_acquire().await.unwrap().release().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn inspection_refused_means_no_release_request() {
    let client = client(&Bare::default());
    let guard = client.write("k").acquire().await.unwrap();
    assert!(matches!(client.inspect("k").await, Err(InspectError::Unsupported(_))));
    assert!(matches!(client.list("", 1).await, Err(InspectError::Unsupported(_))));
    assert!(matches!(client.force_release("k").await, Err(InspectError::Unsupported(_))));
    assert!(matches!(client.request_release("k").await, Err(InspectError::Unsupported(_))));
    assert!(matches!(
        client.semaphore("s", 1).free_permits().await,
        Err(InspectError::Unsupported(_))
    ));
    let requested = tokio::time::timeout(Duration::from_secs(60), guard.release_requested()).await;
    assert!(requested.is_err());
    let health = client.health().await;
    assert!(health.is_ready() && health.store == "bare");
    guard.release().await.unwrap();
    client.shutdown(Duration::ZERO).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn the_lease_of_a_session_is_that_of_every_lock() {
    let lease = Duration::from_secs(6);
    let store = Bare { session_lease: Some(lease), ..Bare::default() };
    let client = client(&store);
    let refused = client.write("k").lease(lease * 2).acquire().await.unwrap_err();
    let reported = "this lock store does not support a lease of 12s: every lock has the lease of its \
                session, 6s";
    assert_eq!(refused.to_string(), reported);
    let guard = client.write("k").acquire().await.unwrap();
    assert!(guard.remaining() < lease && guard.remaining() > lease / 2);
    client.write("other").lease(lease).acquire().await.unwrap().release().await.unwrap();

    // Where a lock ends with its process, none outlasts it.
    let least = client.write("least").hold_at_least(lease).acquire().await.map(drop);
    let job = client.write("job").once_per(Slots::every(Duration::from_secs(60)));
    let job = job.run(async |_| -> Result<(), Infallible> { panic!("it must not run") }).await;
    let Err(OnceError::Lock(LockError::Acquire(job))) = job.map(drop) else { panic!("refused") };
    for (refused, what) in [(least.unwrap_err(), "`hold_at_least`"), (job, "`once_per`")] {
        let reported = format!(
            "this lock store does not support {what}: a lock ends with the session of its process"
        );
        assert_eq!(refused.to_string(), reported);
    }
}

/// A store whose pages have one key each, and that records what it is sent.
#[derive(Debug, Default)]
struct Recorder {
    locks: MemoryStore,
    reserves_tokens: bool,
    acquired: Mutex<Vec<AcquireCommand>>,
    /// When each command that renews was sent, and how many locks it was for.
    renewed: Mutex<Vec<(Instant, usize)>>,
    /// How many locks each command that releases was for, the mode of the first, and whether it keeps
    /// the other.
    released: Mutex<Vec<(usize, Mode, bool)>>,
    /// Which holders were requested to release, or lost the lock.
    replaced: Mutex<Vec<Option<String>>>,
    /// How many answers to the first of these commands are missing.
    unanswered: AtomicUsize,
    /// How long a grant takes to arrive.
    granted_after: Duration,
    /// How often locks were inspected. The order of the holders changes each time.
    inspected: AtomicUsize,
    /// Whether it refuses to take locks away, and to request releases.
    forces_nothing: bool,
    requests_nothing: bool,
}

impl LockStore for Recorder {
    fn acquire(&self, command: AcquireCommand) -> StoreFuture<'_, Acquired> {
        self.acquired.lock().unwrap().push(command.clone());
        if self.granted_after.is_zero() {
            return self.locks.acquire(command);
        }
        async {
            let answer = self.locks.acquire(command).await;
            sleep(self.granted_after).await;
            answer
        }
        .boxed()
    }

    fn release(&self, command: ReleaseCommand) -> StoreFuture<'_, Released> {
        self.locks.release(command)
    }

    fn release_all(
        &self,
        commands: Vec<ReleaseCommand>,
    ) -> BoxFuture<'_, Vec<Result<Released, StoreError>>> {
        let first = &commands[0];
        let sent = (commands.len(), first.mode, first.keeps_other_mode);
        self.released.lock().unwrap().push(sent);
        let answered = commands.len().saturating_sub(self.unanswered.swap(0, Ordering::Relaxed));
        self.locks
            .release_all(commands)
            .map(move |mut answers| {
                answers.truncate(answered);
                answers
            })
            .boxed()
    }

    fn renew(&self, mode: Mode, commands: Vec<RenewCommand>) -> StoreFuture<'_, Vec<Renewal>> {
        self.renewed.lock().unwrap().push((Instant::now(), commands.len()));
        self.locks.renew(mode, commands)
    }

    fn health(&self) -> BoxFuture<'_, StoreHealth> {
        self.locks.health()
    }

    fn reserves_tokens(&self) -> bool {
        self.reserves_tokens
    }

    fn admin(&self) -> Option<&dyn StoreAdmin> {
        Some(self)
    }
}

impl StoreAdmin for Recorder {
    fn inspect(&self, key: LockKey) -> StoreFuture<'_, Option<LockSnapshot>> {
        let times = self.inspected.fetch_add(1, Ordering::Relaxed);
        let seen = StoreAdmin::inspect(&self.locks, key);
        async move {
            let mut seen = seen.await?;
            if let Some(LockSnapshot { holders, .. }) = &mut seen
                && !holders.is_empty()
            {
                let first = times % holders.len();
                holders.rotate_left(first);
            }
            Ok(seen)
        }
        .boxed()
    }

    fn list(&self, prefix: String, after: Option<String>, _: usize) -> StoreFuture<'_, KeyPage> {
        StoreAdmin::list(&self.locks, prefix, after, 1)
    }

    fn force_release(
        &self,
        key: LockKey,
        if_held_by: Option<String>,
    ) -> StoreFuture<'_, Option<ForcedRelease>> {
        self.replaced.lock().unwrap().push(if_held_by.clone());
        if self.forces_nothing {
            return std::future::ready(Err(Unavailable::unsent("it is full").into())).boxed();
        }
        self.locks.force_release(key, if_held_by)
    }

    fn request_release(
        &self,
        key: LockKey,
        if_held_by: Option<String>,
    ) -> StoreFuture<'_, Option<u32>> {
        self.replaced.lock().unwrap().push(if_held_by.clone());
        if self.requests_nothing {
            return std::future::ready(Err(Unavailable::unsent("it is full").into())).boxed();
        }
        self.locks.request_release(key, if_held_by)
    }
}

#[tokio::test]
async fn a_list_has_as_many_pages_as_it_needs() {
    let client = LockClient::builder().store(Arc::<Recorder>::default());
    let mut guards = Vec::new();
    for key in ["a", "b", "c"] {
        guards.push(client.write(key).acquire().await.unwrap());
    }
    for limit in 0..5 {
        let listed = client.list("", limit).await.unwrap();
        let keys: String = listed.keys.iter().map(ToString::to_string).collect();
        assert_eq!((keys.as_str(), listed.complete), (&"abc"[..limit.min(3)], limit >= 3));
    }
}

/// The first of three that wait in a process sends how long it has waited, and requests as many
/// tokens as the others may need, if the store reserves any.
#[tokio::test(start_paused = true)]
async fn a_waiter_sends_its_wait_and_requests_tokens_for_those_behind_it() {
    for reserves_tokens in [false, true] {
        let store = Arc::new(Recorder { reserves_tokens, ..Recorder::default() });
        let there = LockClient::builder().in_memory_on(&store.locks);
        let here = LockClient::builder().store(Arc::clone(&store) as _);
        let held = there.write("k").acquire().await.unwrap();
        let long = Duration::from_secs(60);
        let waiting = [0; 3].map(|_| tokio::spawn(here.write("k").wait(long).acquire()));
        sleep(Duration::from_secs(10)).await;
        held.release().await.unwrap();
        for granted in waiting {
            drop(granted.await.unwrap().unwrap());
        }
        let sent = std::mem::take(&mut *store.acquired.lock().unwrap());
        let longest = sent.iter().map(|command| command.waited).max();
        assert!(longest >= Some(Duration::from_secs(10)), "{longest:?}");
        let reserved = sent.iter().map(|command| command.reserved_tokens).max();
        assert_eq!(reserved, Some(if reserves_tokens { 4 } else { 0 }));
    }
}

/// Acquires this many locks at one moment, and returns what renewed each of them once.
async fn renewals(count: usize, lease: Duration) -> (Instant, Vec<(Instant, usize)>) {
    let store = Arc::<Recorder>::default();
    let client = LockClient::builder().store(Arc::clone(&store) as _);
    let due = Instant::now() + lease / 3;
    let mut guards = Vec::new();
    for number in 0..count {
        guards.push(client.write(number.to_string()).lease(lease).acquire().await.unwrap());
    }
    sleep(lease / 2).await;
    assert!(guards.iter().all(|guard| guard.state() == LeaseState::Renewed), "in time");
    (due, std::mem::take(&mut *store.renewed.lock().unwrap()))
}

#[tokio::test(start_paused = true)]
async fn renewals_that_are_due_together_are_sent_one_batch_after_the_other() {
    let (due, renewed) = renewals(1_000, Duration::from_secs(30)).await;
    let sizes: Vec<_> = renewed.iter().map(|(_, size)| *size).collect();
    assert_eq!((sizes.iter().sum(), sizes.iter().max()), (1_000, Some(&32)), "{sizes:?}");
    assert!(sizes.len() <= 32, "whole batches: {sizes:?}");
    let apart = renewed.windows(2).map(|two| two[1].0 - two[0].0).min();
    assert!(apart >= Some(Duration::from_millis(1)), "a burst: {renewed:?}");
    let last = renewed.last().map(|(sent, _)| *sent - due);
    assert!(last <= Some(Duration::from_millis(100)), "late: {last:?}");
}

/// They are spread over no more than a twelfth of the lease, however many there are.
#[tokio::test(start_paused = true)]
async fn renewals_of_very_many_locks_are_in_time() {
    let lease = Duration::from_millis(600);
    let (due, renewed) = renewals(4_000, lease).await;
    let sizes: Vec<_> = renewed.iter().map(|(_, size)| *size).collect();
    assert_eq!((sizes.iter().sum(), sizes.iter().max()), (4_000, Some(&32)));
    let last = renewed.last().map(|(sent, _)| *sent - due).unwrap();
    // A timer may be a moment late.
    assert!(last <= lease / 12 + Duration::from_millis(2), "late: {last:?}");
    assert!(last >= lease / 24, "a burst: {last:?}");
}

/// Drops this many guards at one moment, and returns how many locks each command releases.
async fn releases(store: Recorder, count: usize) -> Vec<usize> {
    let store = Arc::new(store);
    let client = LockClient::builder().store(Arc::clone(&store) as _);
    let mut guards = Vec::new();
    for number in 0..count {
        guards.push(client.write(number.to_string()).acquire().await.unwrap());
    }
    drop(guards);
    client.shutdown(Duration::from_secs(60)).await.unwrap();
    assert!(StoreAdmin::list(&store.locks, String::new(), None, 1).await.unwrap().keys.is_empty());
    store.released.lock().unwrap().iter().map(|(count, ..)| *count).collect()
}

#[tokio::test(start_paused = true)]
async fn locks_that_are_given_up_together_are_released_by_one_command() {
    assert_eq!(releases(Recorder::default(), 1).await, [1]);
    assert_eq!(releases(Recorder::default(), 64).await, [64]);
    assert_eq!(releases(Recorder::default(), 150).await, [64, 64, 22]);
}

#[tokio::test(start_paused = true)]
async fn a_release_without_an_answer_is_sent_again() {
    let store = Recorder { unanswered: AtomicUsize::new(1), ..Recorder::default() };
    assert_eq!(releases(store, 3).await, [3, 1]);
}

/// With the write first the lock would be a read lock for a moment, and readers elsewhere would enter.
#[tokio::test(start_paused = true)]
async fn a_read_inside_a_write_is_released_first() {
    let store = Arc::new(Recorder::default());
    let client = LockClient::builder().store(Arc::clone(&store) as _);
    let scope = client.scope();
    let write = client.write("k").in_scope(&scope).acquire().await.unwrap();
    let read = client.read("k").in_scope(&scope).acquire().await.unwrap();
    drop((write, read));
    client.shutdown(Duration::from_secs(60)).await.unwrap();
    let sent = [(1, Mode::Read, true), (1, Mode::Write, false)];
    assert_eq!(*store.released.lock().unwrap(), sent);
}

/// The holder may have gone since it was seen: the next one may be the newer caller itself.
#[tokio::test(start_paused = true)]
async fn a_holder_is_replaced_by_its_name() {
    let store = Arc::new(Recorder::default());
    let client = || LockClient::builder().store(Arc::clone(&store) as _);
    let (here, there) = (client(), client());
    let _holder = here.write("k").acquire().await.unwrap();
    let newer = there.write("k").replace_after(Duration::from_secs(1)).acquire();
    newer.await.unwrap().release().await.unwrap();
    let replaced = store.replaced.lock().unwrap();
    assert_eq!(replaced.len(), 2, "a request, and later the lock is taken away");
    assert!(replaced.iter().all(Option::is_some), "{replaced:?}");
}

/// The store shows it as the holder before its answer has arrived.
#[tokio::test(start_paused = true)]
async fn a_newer_caller_does_not_replace_itself() {
    let granted_after = Duration::from_millis(100);
    let store = Arc::new(Recorder { granted_after, ..Recorder::default() });
    let client = LockClient::builder().store(Arc::clone(&store) as _);
    let newer = client.write("k").replace_after(Duration::from_millis(10)).acquire();
    newer.await.unwrap().release().await.unwrap();
    assert_eq!(*store.replaced.lock().unwrap(), []);
}

/// The store lists readers in any order, and each of them would have its time anew.
#[tokio::test(start_paused = true)]
async fn readers_that_ignore_a_newer_caller_are_replaced() {
    let store = Arc::new(Recorder::default());
    let client = || LockClient::builder().store(Arc::clone(&store) as _);
    let readers = [client(), client(), client()];
    let mut guards = Vec::new();
    for reader in &readers {
        guards.push(reader.read("k").acquire().await.unwrap());
    }
    let newer = client();
    let newer = newer.write("k").replace_after(Duration::from_secs(1)).wait(Duration::ZERO);
    newer.acquire().await.unwrap().release().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_store_that_replaces_nothing_is_tried_four_times_a_second() {
    for requests_nothing in [false, true] {
        let forces_nothing = true;
        let store = Recorder { forces_nothing, requests_nothing, ..Recorder::default() };
        let store = Arc::new(store);
        let client = || LockClient::builder().store(Arc::clone(&store) as _);
        let (here, there) = (client(), client());
        let _holder = here.write("k").acquire().await.unwrap();
        let _other = there.write("other").acquire().await.unwrap();
        let newer = there.write("k").replace_after(Duration::ZERO).wait(Duration::from_secs(2));
        newer.acquire().await.unwrap_err();
        let replaced = store.replaced.lock().unwrap().len();
        assert!((3..=14).contains(&replaced), "{replaced}");
        assert!(store.renewed.lock().unwrap().is_empty(), "none of its locks was taken away");
    }
}

#[tokio::test(start_paused = true)]
async fn tries_for_permits_are_refused_by_the_store_alone() {
    let granted_after = Duration::from_millis(50);
    let store = Arc::new(Recorder { granted_after, ..Recorder::default() });
    let client = LockClient::builder().store(store);
    let tries = (0..200).map(|_| client.semaphore("s", 1_000).permit().try_acquire());
    for granted in join_all(tries).await {
        drop(granted.unwrap());
    }
    let without_waiters = (0..20).map(|_| {
        let permit = client.semaphore("t", 1_000).permit();
        permit.max_waiters(0).wait(Duration::from_secs(60)).acquire()
    });
    for granted in join_all(without_waiters).await {
        drop(granted.unwrap());
    }
    let reads = (0..200).map(|_| client.read("r").kind(Kind::FairReadWrite).try_acquire());
    for granted in join_all(reads).await {
        drop(granted.unwrap());
    }
}
