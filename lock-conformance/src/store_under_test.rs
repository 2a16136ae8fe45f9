//! Shared setup of the cases.

use std::{fmt, mem::ManuallyDrop, sync::Arc, time::Duration};

use lock_core::{Acquire, Kind, LockClient, LockClientBuilder, LockKey, Mode};
use tokio::{runtime::Runtime, sync::oneshot};

use super::fixture::{Feature, Fixture};
use crate::{LIMIT, bounded, eventually};

/// The kinds of locks that can be written: all except the semaphore.
const LOCKS: [Kind; 6] = [
    Kind::ReadWrite,
    Kind::FairReadWrite,
    Kind::Reentrant,
    Kind::NonReentrant,
    Kind::Fair,
    Kind::Fenced,
];

pub(super) fn written(client: &LockClient, kind: Kind, key: &str) -> Acquire {
    client.lock(Mode::Write, key).kind(kind)
}

/// A store of locks on which any number of clients meet, each like a separate process.
pub(super) struct StoreUnderTest(Arc<dyn Fixture>);

impl fmt::Debug for StoreUnderTest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("StoreUnderTest(..)")
    }
}

impl StoreUnderTest {
    pub(super) fn new(store: Arc<dyn Fixture>) -> Self {
        Self(store)
    }

    pub(super) fn supports(&self, kind: Kind) -> bool {
        self.0.supports(kind.into())
    }

    pub(super) fn takes_every_key(&self) -> bool {
        self.0.supports(Feature::EveryKey)
    }

    /// Whether the first client's number of permits counts for all.
    pub(super) fn stores_permits(&self) -> bool {
        self.0.supports(Feature::StoredPermits)
    }

    pub(super) fn tells_kinds_apart(&self) -> bool {
        self.0.tells_kinds_apart()
    }

    /// Whether locks of both kinds exclude each other; others refuse each other.
    pub(super) fn is_same_shape(&self, one: Kind, other: Kind) -> bool {
        let are_apart = match (one.has_readers(), other.has_readers()) {
            (false, false) => self.0.tells_kinds_apart(),
            (true, true) => self.0.tells_fair_read_write_apart(),
            _ => true,
        };
        one == other || !are_apart
    }

    /// A lease that a case waits for.
    pub(super) fn short(&self) -> Duration {
        self.0.session_lease().unwrap_or(SHORT)
    }

    /// How long after the death of a process the store may keep its locks with a
    /// [short](Self::short) lease. The client of a session relies on a part of its time only.
    pub(super) fn expiry(&self) -> Duration {
        const A_MOMENT: Duration = Duration::from_millis(250);
        self.0.session_lease().map_or(SHORT, |lease| lease * 2) + A_MOMENT
    }

    /// The longest time from a release to its grant when a message wakes the waiter: less than the
    /// time after which it polls at the earliest, or a waiter that receives no message would be
    /// granted the lock as quickly.
    pub(super) fn woken(&self) -> Duration {
        const A_POLL: Duration = Duration::from_millis(500);
        // Without a lease of the lock that could end, waiters poll every second.
        let poll = self.0.session_lease().map_or(A_POLL, |_| A_POLL * 2);
        poll - Duration::from_millis(100)
    }

    /// The kinds that the store supports and that can be written.
    pub(super) fn locks(&self) -> Vec<Kind> {
        LOCKS.into_iter().filter(|kind| self.supports(*kind)).collect()
    }

    pub(super) async fn client(&self) -> LockClient {
        self.client_with(LockClient::builder().lease(NEVER)).await
    }

    pub(super) async fn client_with(&self, builder: LockClientBuilder) -> LockClient {
        self.0.client(builder).await
    }

    /// Takes a lock away from its holder.
    pub(super) async fn remove(&self, key: &str) {
        self.0.remove(LockKey::try_from(key).unwrap()).await;
    }

    /// Removes the store's memory of a key beside its lock.
    pub(super) async fn forget(&self, key: &str) {
        self.0.forget(LockKey::try_from(key).unwrap()).await;
    }

    /// The number of known waiters.
    pub(super) async fn waiters(&self, client: &LockClient, key: &str) -> usize {
        client.inspect(key).await.unwrap().waiters.len()
    }

    pub(super) async fn until_waiters(&self, client: &LockClient, key: &str, count: usize) {
        let what = format!("{count} wait for {key}");
        eventually(&what, LIMIT, async || self.waiters(client, key).await == count).await;
    }

    /// A process waits for `key` and dies without releasing anything.
    pub(super) async fn crash_waiting(
        &self,
        ask: impl FnOnce(LockClient) -> Acquire + Send + 'static,
        looking: &LockClient,
        key: &str,
    ) {
        let count = self.waiters(looking, key).await + 1;
        let life = self.life(|client| async move { ask(client).wait(LONG).acquire().await });
        self.until_waiters(looking, key, count).await;
        life.shutdown_background();
    }

    /// A process acquires the given locks and dies without releasing them.
    pub(super) async fn crash_holding<F>(&self, take: impl FnOnce(LockClient) -> F + Send + 'static)
    where
        F: Future<Output: Send> + Send + 'static,
    {
        let (taken, reported) = oneshot::channel();
        let life = self.life(|client| async move {
            // A process that dies runs no drop handlers.
            let _held = ManuallyDrop::new(take(client).await);
            taken.send(()).unwrap();
        });
        soon(reported).await.unwrap();
        life.shutdown_background();
    }

    /// Creates a separate process with one client.
    fn life<F>(&self, live: impl FnOnce(LockClient) -> F + Send + 'static) -> Runtime
    where
        F: Future<Output: Send> + Send + 'static,
    {
        let life = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        let store = Arc::clone(&self.0);
        life.spawn(async move { live(store.client(LockClient::builder()).await).await });
        life
    }
}

/// Returns when the first tries of the waiters of `client`, which holds nothing else, have certainly
/// been refused: from then on only a message lets them in within [`woken`](StoreUnderTest::woken).
pub(super) async fn refused(client: &LockClient) {
    eventually("it stands before the lock", LIMIT, async || client.health().await.holds > 0).await;
    tokio::time::sleep(Duration::from_millis(50)).await;
}

pub(super) async fn soon<F: Future>(work: F) -> F::Output {
    bounded(LIMIT, work).await
}

/// A lease that does not end in a test: a lock that is free earlier was released.
pub(super) const NEVER: Duration = Duration::from_secs(3_600);

pub(super) const LONG: Duration = Duration::from_secs(20);

/// A lease that a test waits for. Machines pause for half a second, and it must be renewed all the
/// same.
const SHORT: Duration = Duration::from_secs(1);
