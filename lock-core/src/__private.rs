//! What the code that `#[distributed_lock]` writes calls. Not part of the public interface.

use std::{future::Future, sync::Arc, time::Duration};

use lock_store::{IntoLockKey, InvalidOptions, LockKey};

pub use lock_key::{KeyPart, KeyWriter, PlaceholderType, ValueError};

use crate::{
    client::{Acquire, LockClientBuilder, MultiGuard, MultiLock, Scope},
    guard::LockGuard,
    types::{CallSite, LogHash},
};
pub use crate::{
    client::{LockClient, OneOrMany},
    types::{AcquireError, LockError, LockName},
};
pub use lock_store::{
    Kind, Mode, misleads,
    runtime::{Mutex, RwLock},
    visible,
};

/// The settings of an attribute.
#[derive(Debug, Clone)]
pub struct Spec {
    /// Names the function in logs and problem documents.
    pub name: &'static str,
    /// The keys, from the function's arguments: all of them, or none.
    pub keys: Result<Vec<String>, ValueError>,
    /// Which kind of lock.
    pub kind: Kind,
    /// Read or write.
    pub mode: Mode,
    /// `None`: the client's.
    pub wait: Option<Duration>,
    /// `None`: the client's.
    pub lease: Option<Duration>,
    /// `None`: no limit.
    pub max_hold: Option<Duration>,
    /// `None`: no longer than the work.
    pub hold_at_least: Option<Duration>,
    /// `None`: renewed.
    pub renew: Option<bool>,
    /// How many permits a semaphore has. `None`: it is another kind of lock.
    pub permits: Option<u32>,
    /// How many of them are acquired at once. `None`: one.
    pub weight: Option<u32>,
}

impl Spec {
    /// Returns the acquisition that the attribute describes.
    ///
    /// # Errors
    ///
    /// A value that cannot be part of a key.
    pub fn acquire(self, client: &LockClient) -> Result<Acquire<OneOrMany>, ValueError> {
        let mut acquire = of_policy(lock_keys(client, self.kind, self.mode, self.keys?), self.name);
        if let Some(wait) = self.wait {
            acquire = acquire.wait(wait);
        }
        if let Some(lease) = self.lease {
            acquire = acquire.lease(lease);
        }
        if let Some(max_hold) = self.max_hold {
            acquire = acquire.max_hold(max_hold);
        }
        if let Some(hold_at_least) = self.hold_at_least {
            acquire = acquire.hold_at_least(hold_at_least);
        }
        if let Some(renew) = self.renew {
            acquire = acquire.renew(renew);
        }
        Ok(with_permits(acquire, self.permits, self.weight))
    }
}

/// One lock on each of these keys, in one mode and kind. Keys that are made from values may turn out
/// equal: each is locked once.
#[track_caller]
pub fn lock_keys<K: IntoLockKey + Ord>(
    client: &LockClient,
    kind: Kind,
    mode: Mode,
    keys: impl IntoIterator<Item = K>,
) -> Acquire<OneOrMany> {
    let lock = |key| client.lock(mode, key).kind(kind).target;
    let mut keys = keys.into_iter();
    let mut all: Vec<K> = match (keys.next(), keys.next()) {
        (Some(only), None) => return Acquire::new(OneOrMany::One(lock(only))),
        (first, second) => first.into_iter().chain(second).chain(keys).collect(),
    };
    all.sort();
    all.dedup();
    Acquire::new(OneOrMany::Many(MultiLock::new(client, all.into_iter().map(lock))))
}

/// Sets how many permits each semaphore among the locks has, and how many are acquired of each.
pub fn with_permits(
    mut acquire: Acquire<OneOrMany>,
    permits: Option<u32>,
    weight: Option<u32>,
) -> Acquire<OneOrMany> {
    for lock in acquire.target.locks_mut() {
        lock.permits = permits.unwrap_or(lock.permits);
        lock.wanted_permits = weight.unwrap_or(lock.wanted_permits);
    }
    acquire
}

/// Gives an acquisition the name of the layer, the attribute or the rule that makes it. Observers see it,
/// and [`LockClient::lock_order_inversions`] reports it instead of the place in the source.
pub fn of_policy<T>(mut acquire: Acquire<T>, name: impl Into<LockName>) -> Acquire<T> {
    let name = name.into();
    acquire.options.site = CallSite::named(&name);
    (acquire.options.name, acquire.options.by_policy) = (Some(name), true);
    acquire
}

/// Leaves an acquisition out of the check of the lock order: for code that continues while the
/// acquisition waits, and whose order was recorded before.
pub fn out_of_order<T>(mut acquire: Acquire<T>) -> Acquire<T> {
    acquire.options.in_order = false;
    acquire
}

/// Shortens the wait to `limit` if it is longer.
pub fn wait_at_most<T>(mut acquire: Acquire<T>, limit: Duration) -> Acquire<T> {
    acquire.wait = acquire.wait.min(limit);
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

/// An error of the layers above.
#[must_use]
pub fn invalid_options(why: impl Into<String>) -> InvalidOptions {
    InvalidOptions::new(why.into())
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

/// Whether the ambient scope holds this key, in this mode or a stronger one, through any client, as
/// far as this process knows without contacting the store. False outside a scope.
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

/// Runs a function's body under its locks.
///
/// # Errors
///
/// See [`LockError`].
pub async fn run<F: Future>(
    client: &LockClient,
    spec: Spec,
    body: F,
) -> Result<F::Output, LockError> {
    spec.acquire(client)?.run(body).await
}
