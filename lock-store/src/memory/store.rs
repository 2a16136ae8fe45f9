use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, MutexGuard},
    time::Duration,
};

use super::{
    lock::{KeyEntry, Lock},
    rules::StepContext,
    subscribers::Subscribers,
};
use crate::{
    outcome::StoreIdentity,
    runtime::{LeaseInstant, Mutex},
    types::{Kind, LockKey, Unavailable},
};

/// Locks in memory that several clients share, each of them like a separate process.
///
/// For tests of services with more than one replica. `LockClient::in_memory` gives a client with a
/// new store.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use lock_core::{LockClient, MemoryStore};
///
/// let store = MemoryStore::new();
/// let here = LockClient::builder().in_memory_on(&store);
/// let there = LockClient::builder().in_memory_on(&store);
///
/// let guard = here.write("order:42").acquire().await?;
/// assert!(there.write("order:42").try_acquire().await.is_err());
/// # Ok(()) }
/// ```
#[derive(Debug, Clone, Default)]
pub struct MemoryStore(Arc<Mutex<Keys>>);

#[derive(Debug, Default)]
pub(crate) struct Keys {
    entries: HashMap<LockKey, KeyEntry>,
    pub(crate) subscribers: Subscribers,
    last_token: u64,
    /// The work of owners.
    pub(super) work: HashMap<String, String>,
    /// When it lost everything, if ever.
    restarted: Option<LeaseInstant>,
    down: bool,
}

impl MemoryStore {
    /// Creates an empty store.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes a lock away from its holders, as deleting the key in Redis would. For tests of a
    /// service that loses a lock. The holder learns of it at its next renewal.
    pub fn remove(&self, key: &LockKey) {
        self.keys().with(key, None, |entry, context| entry.lock.shape().take_away(context));
    }

    /// Loses every lock, as a Redis that restarts without its data would. For tests of a service,
    /// or a `RedLock`, after that.
    pub fn restart(&self) {
        let mut keys = self.keys();
        let held: Vec<_> = keys.entries.keys().cloned().collect();
        for key in held {
            keys.with(&key, None, |entry, context| entry.lock.shape().take_away(context));
        }
        keys.restarted = Some(LeaseInstant::now());
    }

    /// Sets whether the store is down: while it is, every acquisition, renewal and release fails as
    /// [`Unavailable`] at once and changes nothing. For tests of a service during an outage of
    /// Redis. Held locks expire by their own clocks, in the store as well as at their holders.
    /// Default: `false`.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # use lock_core::{AcquireError, LockClient, MemoryStore};
    /// let store = MemoryStore::new();
    /// let locks = LockClient::builder().in_memory_on(&store);
    /// store.set_down(true);
    /// let refused = locks.write("order:42").acquire().await;
    /// assert!(matches!(refused, Err(AcquireError::Unavailable(_))));
    /// store.set_down(false);
    /// locks.write("order:42").acquire().await?;
    /// # Ok(()) }
    /// ```
    pub fn set_down(&self, down: bool) {
        self.keys().down = down;
    }

    /// Returns the store's identity, as [`LockStore::identity`](crate::LockStore::identity)
    /// does. A store counts as always up until it is restarted.
    pub(crate) fn identity(&self) -> StoreIdentity {
        let restarted = self.keys().restarted;
        StoreIdentity {
            id: format!("memory:{:p}:{restarted:?}", Arc::as_ptr(&self.0)),
            up: restarted.map_or(Duration::MAX, |moment| LeaseInstant::now().since(moment)),
        }
    }

    pub(crate) fn keys(&self) -> MutexGuard<'_, Keys> {
        self.0.lock()
    }
}

impl Keys {
    /// Whether it answers.
    pub(crate) fn up(&self) -> Result<(), Unavailable> {
        if self.down {
            return Err(Unavailable::unsent("the store in memory is set down").silence());
        }
        Ok(())
    }

    /// The keys that have any state, sorted.
    pub(crate) fn begin_with(&self, prefix: &str) -> Vec<LockKey> {
        let begin = self.entries.keys().filter(|key| key.as_str().starts_with(prefix));
        let mut keys: Vec<_> = begin.cloned().collect();
        keys.sort();
        keys
    }

    /// Applies `work` to a key's lock as of now, and notifies the waiters that it returns. `None`
    /// if there is no lock, and none is to be made.
    pub(crate) fn with<T>(
        &mut self,
        key: &LockKey,
        make: Option<Kind>,
        work: impl FnOnce(&mut KeyEntry, &mut StepContext<'_>) -> T,
    ) -> Option<T> {
        let now = LeaseInstant::now();
        let mut context =
            StepContext { now, last_token: &mut self.last_token, given: None, woken: Vec::new() };
        if let Some(entry) = self.entries.get_mut(key) {
            entry.lock.shape().expire(now);
            if entry.lock.shape().is_over() {
                self.entries.remove(key);
            }
        }
        if let Some(kind) = make
            && !self.entries.contains_key(key)
        {
            let lock = Lock::new(kind);
            self.entries.insert(
                key.clone(),
                KeyEntry { lock, token: None, release_requests: HashSet::new() },
            );
        }
        let entry = self.entries.get_mut(key)?;
        let answer = work(entry, &mut context);
        entry.token = context.given.or(entry.token);
        let woken = context.woken;
        if entry.lock.shape().is_over() {
            self.entries.remove(key);
        }
        for channel in woken {
            self.subscribers.wake(key, channel);
        }
        Some(answer)
    }
}
