//! The functions that the code of `#[distributed_lock]` calls. Not part of the public interface.

use std::{num::NonZeroU32, sync::Arc, time::Duration};

use lock_store::{IntoLockKey, LockKey};

pub use lock_key::{KeyPart, KeyWriter, PlaceholderType, ValueError};

use crate::{
    client::{Acquire, LockClientBuilder, MultiGuard, MultiLock, Scope, SingleLock},
    guard::LockGuard,
    types::{LogHash, Lost},
};
pub use crate::{
    client::{LockClient, OneOrMany, Slots},
    types::{AcquireError, AcquireOptions, LockError, LockName},
};
pub use lock_store::{
    Kind, Mode, misleads,
    runtime::{Mutex, RwLock},
    time_text, visible,
};

/// The options of the acquisitions of one policy: of a layer, an attribute or a rule.
#[derive(Debug, Clone)]
pub struct PolicyOptions {
    /// `None`: the client's.
    pub wait: Option<Duration>,
    /// All others.
    pub options: AcquireOptions,
}

/// Which lock a key of a policy has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LockSpec {
    /// The kind.
    pub kind: Kind,
    /// The mode.
    pub mode: Mode,
    /// How many permits a semaphore has.
    pub permits: u32,
    /// How many of them are acquired at once; one for every other kind.
    pub weight: u32,
}

impl LockSpec {
    /// A lock that is not a semaphore.
    #[must_use]
    pub const fn new(kind: Kind, mode: Mode) -> Self {
        Self { kind, mode, permits: 0, weight: 1 }
    }

    /// Whether a lock on the same key is this one or, of a key that is read and written, the writer's.
    #[must_use]
    pub fn is_covered_by(self, other: Self) -> bool {
        let differs_in_mode = Self { mode: other.mode, ..self } == other;
        differs_in_mode && (self.mode == other.mode || other.mode == Mode::Write)
    }

    fn lock(self, client: &LockClient, key: impl IntoLockKey) -> SingleLock {
        let Self { kind, mode, permits, weight } = self;
        let (client, key) = (client.clone(), key.into_lock_key());
        SingleLock { client, kind, key, mode, permits, wanted_permits: weight }
    }
}

impl PolicyOptions {
    /// A policy has one setting for both modes. A reader replaces no holder, and can be replaced.
    fn of_mode(&self, mode: Mode) -> AcquireOptions {
        let mut options = self.options.clone();
        options.replace = options.replace.filter(|_| mode == Mode::Write);
        options
    }
}

/// Returns a future that resolves when work under the locks must stop: they are lost, or a newer caller
/// replaces their holder.
pub fn stopped(guard: &MultiGuard) -> impl Future<Output = Lost> + Send + 'static + use<> {
    guard.stopped()
}

/// Returns the acquisition of a lock on each of these keys. Keys that are made from values may turn out
/// equal: each is locked once, in the stronger mode.
#[track_caller]
pub fn acquire<K: IntoLockKey + Ord>(
    client: &LockClient,
    keys: impl IntoIterator<Item = (K, LockSpec)>,
    options: &PolicyOptions,
    scope: Option<Scope>,
) -> Acquire<OneOrMany> {
    let mut keys = keys.into_iter();
    let (target, mode) = match (keys.next(), keys.next()) {
        (Some((key, spec)), None) => (OneOrMany::One(spec.lock(client, key)), spec.mode),
        (first, second) => {
            let mut all: Vec<_> = first.into_iter().chain(second).chain(keys).collect();
            // Of equal keys the first one stays.
            all.sort_by(|(one, of_one), (other, of_other)| {
                let reads = |spec: &LockSpec| spec.mode == Mode::Read;
                one.cmp(other).then_with(|| reads(of_one).cmp(&reads(of_other)))
            });
            all.dedup_by(|(key, spec), (kept, of_kept)| {
                key == kept && spec.is_covered_by(*of_kept)
            });
            let writes = all.iter().any(|(_, spec)| spec.mode == Mode::Write);
            let locks = all.into_iter().map(|(key, spec)| spec.lock(client, key));
            let mode = if writes { Mode::Write } else { Mode::Read };
            (OneOrMany::Many(MultiLock::new(client, locks)), mode)
        }
    };
    let wait = options.wait.unwrap_or(client.inner().settings.wait);
    Acquire { target, scope, wait, options: options.of_mode(mode) }
}

/// Checks these options as every acquisition does, before it sends anything.
///
/// # Errors
///
/// What each acquisition would end as.
pub fn check(
    client: &LockClient,
    spec: LockSpec,
    options: &PolicyOptions,
) -> Result<(), AcquireError> {
    let lock = spec.lock(client, "checked");
    lock.request(options.of_mode(spec.mode), None).map(drop)
}

/// Whether locks on these keys are acquired in one step, and not one after the other.
#[must_use]
pub fn acquires_in_one_step(client: &LockClient, keys: &[LockKey]) -> bool {
    let all: Vec<&LockKey> = keys.iter().collect();
    all.len() < 2 || client.inner().store.supports_atomic_multi(&all)
}

/// Leaves an acquisition out of the check of the lock order: for code that continues while the
/// acquisition waits, and whose order was recorded before.
pub fn out_of_order<T>(mut acquire: Acquire<T>) -> Acquire<T> {
    acquire.options.in_order = false;
    acquire
}

/// An acquisition that replaces no holder: a measurement must not cancel what it measures.
pub fn without_replacing<T>(mut acquire: Acquire<T>) -> Acquire<T> {
    acquire.options.replace = None;
    acquire
}

/// An acquisition that is refused at once if it would wait in vain behind others that hold the lock for at
/// least this number of milliseconds, which callers like it did lately.
pub fn refused_early<T>(mut acquire: Acquire<T>, shortest_hold: Option<NonZeroU32>) -> Acquire<T> {
    acquire.options.shortest_hold = shortest_hold;
    acquire
}

/// Shortens the wait to `limit` if it is longer.
pub fn wait_at_most<T>(mut acquire: Acquire<T>, limit: Duration) -> Acquire<T> {
    acquire.wait = acquire.wait.min(limit);
    if let Some(replace) = &mut acquire.options.replace {
        replace.most = Some(limit);
    }
    acquire
}

/// Whether the holder before, in this process, passed on any of these locks.
#[must_use]
pub fn handed_off(guard: &MultiGuard) -> bool {
    guard.guards().iter().any(|guard| guard.hold().handed_off)
}

/// The closest call of all their renewals so far: see [`LockGuard::least_remaining`].
#[must_use]
pub fn least_remaining(guard: &MultiGuard) -> Option<Duration> {
    guard.guards().iter().filter_map(LockGuard::least_remaining).min()
}

/// Whether the store failed. If the wait ended before the last try was answered, that shows nothing
/// about the store: another client may hold the lock.
#[must_use]
pub fn store_is_down(error: &AcquireError) -> bool {
    matches!(error, AcquireError::Unavailable(why) if !why.is_late())
}

/// Returns a client for locks of this process alone, always the same one and with the settings of
/// `client`. Used by services that continue while the store of `client` does not answer. It ends
/// with `client`.
#[must_use]
pub fn local(client: &LockClient) -> LockClient {
    let inner = client.inner();
    let local = inner.local.get_or_init(|| {
        let client = LockClientBuilder::of(inner.settings.clone()).in_memory();
        Arc::clone(client.inner())
    });
    LockClient::from_inner(Arc::clone(local))
}

/// Whether another scope of this process still holds the lock of the store on this key, in a way
/// that excludes `mode`. Searches all holds.
#[must_use]
pub fn held_beside(client: &LockClient, scope: &Scope, key: &LockKey, mode: Mode) -> bool {
    let inner = client.inner();
    let own = scope.holds().held(inner.owners.client());
    if own.iter().any(|(held, _)| held == key) {
        return false;
    }
    let now = lock_store::runtime::LeaseInstant::now();
    inner.schedule.leases_on(key).iter().any(|lease| {
        lease.expire(now);
        let desired = lease.state().desired();
        desired.write > 0 || desired.read > 0 && mode == Mode::Write
    })
}

/// Whether the ambient scope holds this key in this mode or a stronger one, through any client.
/// This process answers without contacting the store. False outside a scope.
#[must_use]
pub fn held(key: &str, mode: Mode) -> bool {
    Scope::current().is_some_and(|scope| scope.holds().holds(key, mode))
}

/// Texts of a client in the form in which a log may have them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogHashes {
    /// The hash of each key, in their order.
    pub keys: Vec<String>,
    /// The hash of the request's path.
    pub path: Option<String>,
    /// The same for all hashes that can be compared with these.
    pub hashed_by: String,
    /// The same for all requests of one client.
    pub client: String,
}

/// Hashes keys and a path for the log, with a key of the service: its `ticket_key`, or a random one of this
/// process.
#[must_use]
pub fn log_hashes(client: &LockClient, keys: &[LockKey], path: Option<&str>) -> LogHashes {
    let inner = client.inner();
    let hash = LogHash::of(inner.settings.ticket_keys.first());
    LogHashes {
        keys: keys.iter().map(|key| hash.hex(&format!("key {key}"))).collect(),
        path: path.map(|path| hash.hex(&format!("path {path}"))),
        hashed_by: hash.hex("hashed by"),
        client: hash.hex(&format!("client {}", inner.owners.client().as_str())),
    }
}

/// Whether another holder has the lock.
#[must_use]
pub fn is_busy(error: &LockError) -> bool {
    matches!(error, LockError::Acquire(AcquireError::Busy(_)))
}

pub mod slot {
    //! The steps of a job that runs once per slot, for an attribute, which acquires the job's lock itself.

    use std::future::Future;

    pub use crate::client::SlotMark;
    use crate::{
        client::{OncePer, within_attempt},
        types::{AcquireError, Lost},
    };

    /// Acquires the mark of the job's slot; `None` if the job is being run, or has run.
    ///
    /// # Errors
    ///
    /// Why the mark was not acquired.
    pub async fn acquire_mark(job: &OncePer) -> Result<Option<SlotMark>, AcquireError> {
        Ok(SlotMark::acquire(job).await?.ok())
    }

    /// Runs `work` as the next attempt, under the job's lock in the ambient scope.
    ///
    /// # Errors
    ///
    /// The attempt was not counted.
    pub async fn run_attempt<F: Future>(
        mark: &SlotMark,
        work: F,
    ) -> Result<F::Output, AcquireError> {
        let attempt = mark.begin_attempt(mark.ambient_lock()).await?;
        Ok(within_attempt(attempt, work).await)
    }

    /// Runs `work` for as long as the mark is held.
    ///
    /// # Errors
    ///
    /// [`Lost`] when the mark was lost first.
    pub async fn protect<F: Future>(mark: &SlotMark, work: F) -> Result<F::Output, Lost> {
        mark.protect(work).await
    }

    /// Releases the mark: the work has failed.
    pub async fn release(mark: SlotMark) {
        mark.release().await;
    }

    /// Keeps the slot marked: the work has succeeded.
    pub async fn keep(mark: SlotMark) {
        mark.keep().await;
    }
}

/// Returns the slots of a cron expression, for an attribute.
#[cfg(feature = "cron")]
#[must_use]
pub const fn cron_slots(expression: &'static str) -> Slots {
    Slots::cron_text(expression)
}

/// The return type of a function under an attribute with `on_busy = "skip"` or `once_per`.
#[diagnostic::on_unimplemented(
    message = "a function under `on_busy = \"skip\"` or `once_per` cannot return `{Self}`",
    label = "a `Result<Option<_>, _>` is needed here: it returns `Ok(None)` when its body is skipped"
)]
pub trait SkippedOutput {
    /// Returns the value for a lock that is busy.
    fn skipped() -> Self;
}

impl<T, E> SkippedOutput for Result<Option<T>, E> {
    fn skipped() -> Self {
        Ok(None)
    }
}

/// Returns what a function returns when its lock is busy.
#[must_use]
pub fn skipped<Output: SkippedOutput>() -> Output {
    Output::skipped()
}
