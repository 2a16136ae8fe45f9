//! Two clients of one store: one behind a link that the test controls, one that is always answered.

use std::{sync::Arc, time::Duration};

use lock_conformance::{ConstantFaults, Delivery, FaultPlan, faulty};
use lock_core::{LockClient, LockClientBuilder, MemoryStore, RedLock, test_util::red_lock_of};
use tokio::time::Instant;

pub(crate) const fn ms(count: u64) -> Duration {
    Duration::from_millis(count)
}

/// Of every client here.
pub(crate) const LEASE: Duration = ms(3_000);
pub(crate) const COMMAND_TIMEOUT: Duration = ms(500);
/// Far longer than anything takes.
pub(crate) const LONG: Duration = ms(60_000);

pub(crate) struct TwoClients {
    delivery: Delivery,
    link: Arc<ConstantFaults>,
    store: MemoryStore,
    pub(crate) here: LockClient,
    pub(crate) there: LockClient,
}

fn builder() -> LockClientBuilder {
    LockClient::builder().lease(LEASE).command_timeout(COMMAND_TIMEOUT).ticket_key([7; 32])
}

impl TwoClients {
    /// Creates a world in which `delivery` is the fate of the commands of `here` once the test
    /// [begins](Self::begin).
    pub(crate) fn new(delivery: Delivery) -> Self {
        let (store, link) = (MemoryStore::new(), Arc::<ConstantFaults>::default());
        let script: Arc<dyn FaultPlan> = Arc::clone(&link) as _;
        let here = faulty(builder(), &store, script);
        let there = builder().in_memory_on(&store);
        Self { delivery, link, store, here, there }
    }

    /// One more client that is always answered.
    pub(crate) fn another(&self) -> LockClient {
        builder().in_memory_on(&self.store)
    }

    pub(crate) fn begin(&self) {
        self.set(self.delivery);
    }

    pub(crate) fn set(&self, delivery: Delivery) {
        self.link.set(delivery);
    }

    /// From now on everything is answered at once.
    pub(crate) fn end(&self) {
        self.set(Delivery::AT_ONCE);
    }

    /// A majority of three servers behind the same link, and another client on each of them.
    pub(crate) async fn red_lock(&self) -> (RedLock, Vec<LockClient>) {
        let stores: Vec<_> = std::iter::repeat_with(MemoryStore::new).take(3).collect();
        let behind = |store| faulty(builder(), store, Arc::clone(&self.link) as _);
        let red_lock = red_lock_of(stores.iter().map(behind).collect()).await;
        let beside = stores.iter().map(|store| builder().in_memory_on(store)).collect();
        (red_lock.unwrap(), beside)
    }

    /// Waits until nothing is held or waited for, in the store and in both clients; returns how
    /// long it took. Panics if that never happens.
    pub(crate) async fn free(&self, what: &str) -> Duration {
        free(what, &[&self.here, &self.there], &[&self.there]).await
    }
}

/// The keys that are used here.
pub(crate) const KEYS: [&str; 8] = ["a", "b", "k", "s", "x", "y", "z", "majority"];

/// The holders and waiters in the store.
pub(crate) async fn left(client: &LockClient) -> Vec<String> {
    let mut left = Vec::new();
    for key in KEYS {
        let seen = client.inspect(key).await.unwrap();
        if !seen.holders.is_empty() || !seen.waiters.is_empty() {
            left.push(format!("{key}: {seen:?}"));
        }
    }
    left
}

/// Waits until these clients and their stores have no holders and no waiters; returns how long it
/// took. Panics if that never happens.
pub(crate) async fn free(what: &str, clients: &[&LockClient], stores: &[&LockClient]) -> Duration {
    let started = Instant::now();
    loop {
        let mut found = Vec::new();
        for store in stores {
            found.extend(left(store).await);
        }
        // Last, and only then: a client may report it late.
        for client in clients {
            if !found.is_empty() {
                break;
            }
            let health = client.health().await;
            if (health.holds, health.waiting) != (0, 0) {
                found.push(format!("{} holds, {} waiters", health.holds, health.waiting));
            }
        }
        if found.is_empty() {
            return started.elapsed();
        }
        assert!(started.elapsed() < LONG * 3, "{what}: left {found:?}");
        // To the millisecond where it may matter.
        let pause = if started.elapsed() < ms(50) { ms(1) } else { ms(10) };
        tokio::time::sleep(pause).await;
    }
}
