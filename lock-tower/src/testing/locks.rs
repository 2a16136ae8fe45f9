use std::time::Duration;

use lock_core::{
    __private::Mutex, IntoLockKey, LockClient, LockGuard, MemoryStore, Mode, test_util::lose,
};

/// Locks in memory, with methods that cause each failure a service may meet.
#[derive(Debug)]
pub struct TestLocks {
    store: MemoryStore,
    client: LockClient,
    /// All clients of the store, needed to take their holds away.
    clients: Mutex<Vec<LockClient>>,
}

impl TestLocks {
    /// Creates a store and a client of it for the service under test.
    #[must_use]
    pub fn new() -> Self {
        let store = MemoryStore::new();
        let client = LockClient::builder().in_memory_on(&store);
        Self { store, clients: Mutex::new(vec![client.clone()]), client }
    }

    /// Returns the client for the service under test, the same one at each call.
    #[must_use]
    pub fn client(&self) -> LockClient {
        self.client.clone()
    }

    /// Returns a client for another replica of the service: on the same store, with its own gate.
    #[must_use]
    pub fn another_replica(&self) -> LockClient {
        let client = LockClient::builder().in_memory_on(&self.store);
        self.clients.lock().push(client.clone());
        client
    }

    /// Acquires the write lock on `key` as another process, until the guard is dropped. Waits while
    /// the lock is held.
    ///
    /// # Panics
    ///
    /// If the lock cannot be acquired: `key` is not a valid key, another holder keeps it for longer
    /// than a minute, or the store is down.
    pub async fn hold(&self, key: impl IntoLockKey) -> LockGuard {
        self.held(Mode::Write, key).await
    }

    /// Acquires the read lock, otherwise like [`hold`](Self::hold).
    ///
    /// # Panics
    ///
    /// See [`hold`](Self::hold).
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

    /// Removes all holders of `key`, as if the store had lost them. Their loss is signalled at once
    /// and their handlers are cancelled. Returns the number of holders.
    ///
    /// # Panics
    ///
    /// If `key` is not a valid key.
    pub fn lose(&self, key: impl IntoLockKey) -> usize {
        let key = match key.into_lock_key() {
            Ok(key) => key,
            Err(error) => panic!("no lock to lose: {error}"),
        };
        self.clients().iter().map(|client| lose(client, &key)).sum()
    }

    /// Makes every store call fail from now on. Holders continue until their leases expire.
    pub fn store_down(&self) {
        self.store.set_down(true);
    }

    /// Makes the store available again, with its contents unchanged, and waits until the clients
    /// have noticed.
    pub async fn store_up(&self) {
        self.store.set_down(false);
        for client in self.clients() {
            while client.health().await.breaker_open {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        }
    }

    /// Lets `time` pass, so that leases are renewed and waits end. Takes no real time under a
    /// paused clock.
    pub async fn pass(&self, time: Duration) {
        tokio::time::sleep(time).await;
    }

    /// Panics if locks were taken in contradictory orders, so that two requests could wait for each
    /// other: see [`LockClient::lock_order_inversions`].
    ///
    /// # Panics
    ///
    /// If there are such orders; the message lists the places.
    #[track_caller]
    pub fn assert_lock_order(&self) {
        let inversions =
            self.clients().into_iter().flat_map(|client| client.lock_order_inversions());
        let found: Vec<_> = inversions.map(|inversion| inversion.to_string()).collect();
        assert!(found.is_empty(), "{}", found.join("\n"));
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
