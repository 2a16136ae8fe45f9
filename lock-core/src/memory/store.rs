use std::{
    collections::HashMap,
    future::ready,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, SystemTime},
};

use futures_util::{FutureExt, future::BoxFuture};
use tokio::sync::watch;

use super::state::LockState;
use crate::{
    FencingToken, LockKey, Mode,
    backend::{
        AcquireStep, Acquired, Answer, Backend, ConvertStep, Downgraded, News, ReleaseStep,
        Released, RenewStep, Renewal, Standing, StoreHealth, Upgraded, Wakeups,
    },
    clock::Moment,
    error::Unavailable,
    owner::OwnerId,
};

/// Locks in memory that several clients share, each of them like a process of its own.
///
/// For tests of services with more than one replica. [`LockClient::in_memory`] gives a client with
/// a store of its own.
///
/// [`LockClient::in_memory`]: crate::LockClient::in_memory
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
struct Keys {
    locks: HashMap<LockKey, LockState>,
    /// As long as somebody listens.
    ears: HashMap<LockKey, watch::Sender<News>>,
    last_token: u64,
}

impl MemoryStore {
    /// An empty store.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes a lock away from whoever holds it, as a deleted key in Redis would: for tests of what
    /// a service does when it loses a lock. The holder learns of it at its next renewal.
    pub fn remove(&self, key: &LockKey) {
        self.with(key, |lock, _, _| {
            *lock = LockState::default();
            ((), true)
        });
    }

    fn keys(&self) -> MutexGuard<'_, Keys> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Works on one key's lock as it stands now, and tells the waiters if the work says so.
    fn with<T>(
        &self,
        key: &LockKey,
        work: impl FnOnce(&mut LockState, Moment, &mut u64) -> (T, bool),
    ) -> T {
        let mut keys = self.keys();
        let Keys { locks, ears, last_token } = &mut *keys;
        let now = Moment::now();
        let lock = locks.entry(key.clone()).or_default();
        lock.expire(now);
        let (answer, wakes) = work(lock, now, last_token);
        if lock.is_free() {
            locks.remove(key);
        }
        if wakes && let Some(news) = ears.get(key) {
            news.send_modify(|news| news.count += 1);
            if news.receiver_count() == 0 {
                ears.remove(key);
            }
        }
        answer
    }
}

/// One sequence of tokens for all keys: more than each of them needs, and it never forgets.
fn next_token(last: &mut u64) -> FencingToken {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    *last = (*last + 1).max(u64::try_from(now.as_micros()).unwrap_or(0));
    FencingToken::new(*last)
}

fn answer<'a, T: Send + 'a>(answer: T) -> Answer<'a, T> {
    ready(Ok(answer)).boxed()
}

impl Backend for MemoryStore {
    fn acquire<'a>(&'a self, step: &'a AcquireStep<'a>) -> Answer<'a, Acquired> {
        answer(self.with(step.key, |lock, now, last| {
            (lock.acquire(step, now, || next_token(last)), false)
        }))
    }

    fn release<'a>(&'a self, step: &'a ReleaseStep<'a>) -> Answer<'a, Released> {
        answer(self.with(step.holder.key, |lock, _, _| {
            let owner = step.holder.owner.as_str();
            let outcome = lock.release(owner, step.mode, step.holds, step.marked);
            (outcome.answer, outcome.wakes)
        }))
    }

    fn renew<'a>(&'a self, mode: Mode, steps: &'a [RenewStep<'a>]) -> Answer<'a, Vec<Renewal>> {
        let renewed = steps.iter().map(|step| {
            self.with(step.holder.key, |lock, now, _| {
                (lock.renew(step.holder.owner.as_str(), mode, now.after(step.lease)), false)
            })
        });
        answer(renewed.collect())
    }

    fn upgrade<'a>(&'a self, step: &'a ConvertStep<'a>) -> Answer<'a, Upgraded> {
        answer(self.with(step.holder.key, |lock, now, last| {
            (lock.upgrade(step, now, || next_token(last)), false)
        }))
    }

    fn downgrade<'a>(&'a self, step: &'a ConvertStep<'a>) -> Answer<'a, Downgraded> {
        answer(self.with(step.holder.key, |lock, now, _| {
            let outcome = lock.downgrade(step, now);
            (outcome.answer, outcome.wakes)
        }))
    }

    fn inspect<'a>(
        &'a self,
        key: &'a LockKey,
        owner: Option<&'a OwnerId>,
    ) -> Answer<'a, Option<Standing>> {
        answer(Some(self.with(key, |lock, _, _| {
            let own = owner.map(|owner| lock.holds(owner.as_str())).unwrap_or_default();
            let readers = u32::try_from(lock.readers()).unwrap_or(u32::MAX);
            (Standing { mode: lock.mode(), readers, own }, false)
        })))
    }

    fn wakeups(&self, key: &LockKey) -> Wakeups {
        let mut keys = self.keys();
        let heard = News { subscribed: true, count: 0 };
        if keys.ears.len() == keys.ears.capacity() {
            // Before it grows: nobody may be left to listen for keys that ended by themselves.
            keys.ears.retain(|_, news| news.receiver_count() > 0);
        }
        let news = keys.ears.entry(key.clone()).or_insert_with(|| watch::Sender::new(heard));
        Wakeups(news.subscribe())
    }

    fn link(&self) -> Result<(), Unavailable> {
        Ok(())
    }

    fn health(&self) -> BoxFuture<'_, StoreHealth> {
        let health =
            StoreHealth { kind: "memory", round_trip: Ok(Duration::ZERO), warnings: Vec::new() };
        ready(health).boxed()
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        ready(()).boxed()
    }
}
