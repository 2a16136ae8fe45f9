use std::time::Duration;

use lock_core::{
    __private::Mutex, IntoLockKey, LockClient, LockGuard, MemoryStore, Mode, test_util::lose,
};

/// Locks in memory, and everything that can go wrong with them.
#[derive(Debug)]
pub struct TestLocks {
    store: MemoryStore,
    client: LockClient,
    /// All clients of the store, whose holds can be lost.
    clients: Mutex<Vec<LockClient>>,
}

impl TestLocks {
    /// A store of its own, and a client of it for the service under test.
    #[must_use]
    pub fn new() -> Self {
        let store = MemoryStore::new();
        let client = LockClient::builder().in_memory_on(&store);
        Self { store, clients: Mutex::new(vec![client.clone()]), client }
    }

    /// The client for the service under test: always the same one.
    #[must_use]
    pub fn client(&self) -> LockClient {
        self.client.clone()
    }

    /// A client as another replica of the service has it: on the same store, with a gate of its own.
    #[must_use]
    pub fn another_replica(&self) -> LockClient {
        let client = LockClient::builder().in_memory_on(&self.store);
        self.clients.lock().push(client.clone());
        client
    }

    /// Has another process hold the write lock on `key`, until the guard is dropped. It waits for
    /// whoever holds it now.
    ///
    /// # Panics
    ///
    /// When that is not possible: `key` is no key, somebody holds it for longer than a minute, or the
    /// store is down.
    pub async fn hold(&self, key: impl IntoLockKey) -> LockGuard {
        self.held(Mode::Write, key).await
    }

    /// As [`hold`](Self::hold), the read lock.
    ///
    /// # Panics
    ///
    /// As [`hold`](Self::hold).
    pub async fn hold_reading(&self, key: impl IntoLockKey) -> LockGuard {
        self.held(Mode::Read, key).await
    }

    async fn held(&self, mode: Mode, key: impl IntoLockKey) -> LockGuard {
        let acquire = self.another_replica().lock(mode, key).wait(Duration::from_secs(60));
        match acquire.acquire().await {
            Ok(guard) => guard,
            Err(error) => panic!("a test cannot hold this lock: {error}"),
        }
    }

    /// Takes `key` away from everybody who holds it, as if the store had lost it: holders learn of
    /// it at once, and their handlers are cancelled. Says how many there were.
    ///
    /// # Panics
    ///
    /// When `key` is no key.
    pub fn lose(&self, key: impl IntoLockKey) -> usize {
        let key = match key.into_lock_key() {
            Ok(key) => key,
            Err(error) => panic!("no lock to lose: {error}"),
        };
        self.clients().iter().map(|client| lose(client, &key)).sum()
    }

    /// From now on the store answers nobody. Holders go on until their leases are over.
    pub fn store_down(&self) {
        self.store.set_down(true);
    }

    /// The store answers again, and has what it had; and the clients have noticed.
    pub async fn store_up(&self) {
        self.store.set_down(false);
        for client in self.clients() {
            while client.health().await.breaker_open {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        }
    }

    /// Lets so much time pass: leases are renewed, waits end. Under a paused clock that takes none.
    pub async fn pass(&self, time: Duration) {
        tokio::time::sleep(time).await;
    }

    /// Panics if locks were taken in orders that contradict each other, so that two requests could
    /// wait for each other: see [`LockClient::lock_order_inversions`].
    ///
    /// # Panics
    ///
    /// When they were, with the places.
    #[track_caller]
    pub fn assert_lock_order(&self) {
        let inversions =
            self.clients().into_iter().flat_map(|client| client.lock_order_inversions());
        let told: Vec<_> = inversions.map(|inversion| inversion.to_string()).collect();
        assert!(told.is_empty(), "{}", told.join("\n"));
    }

    fn clients(&self) -> Vec<LockClient> {
        self.clients.lock().clone()
    }
}

impl Default for TestLocks {
    fn default() -> Self {
        Self::new()
    }
}
