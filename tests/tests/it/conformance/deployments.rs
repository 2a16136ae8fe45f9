//! The stores of lock-core, as the conformance cases have them.

use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::{FutureExt, future::BoxFuture};
use lock_conformance::{Feature, Fixture};
use lock_core::{LockClient, LockClientBuilder, LockKey, MemoryStore};
use lock_tests::{LIMIT, RedisCluster, RedisServer, Wire};
use tokio::sync::OnceCell;

/// A store, and the prefix by which one case has it for itself.
pub(crate) struct Deployment {
    store: Store,
    wire: Wire,
    prefix: String,
}

enum Store {
    Memory(MemoryStore),
    /// Of one case: it starts in a moment.
    Server(RedisServer),
    /// Of all cases on its wire: nodes need two seconds to agree that they are a cluster.
    Cluster(&'static RedisCluster),
}

impl Deployment {
    pub(crate) async fn memory() -> Self {
        Self::whole(Store::Memory(MemoryStore::new()), Wire::Native)
    }

    pub(crate) async fn redis() -> Self {
        Self::whole(Store::Server(RedisServer::start().await), Wire::Redisson)
    }

    pub(crate) async fn native() -> Self {
        Self::whole(Store::Server(RedisServer::start().await), Wire::Native)
    }

    pub(crate) async fn cluster() -> Self {
        static CLUSTER: OnceCell<RedisCluster> = OnceCell::const_new();
        Self::part_of(&CLUSTER, Wire::Redisson).await
    }

    pub(crate) async fn native_cluster() -> Self {
        static CLUSTER: OnceCell<RedisCluster> = OnceCell::const_new();
        Self::part_of(&CLUSTER, Wire::Native).await
    }

    fn whole(store: Store, wire: Wire) -> Self {
        Self { store, wire, prefix: "lock:".to_owned() }
    }

    /// All names of a lock begin with the prefix or have it inside, and lists show what begins with it. So
    /// cases that share a cluster do not meet. It has no braces, so that the slot depends on it: each
    /// case has its keys in other slots, and several keys on several nodes.
    async fn part_of(cluster: &'static OnceCell<RedisCluster>, wire: Wire) -> Self {
        static CASES: AtomicUsize = AtomicUsize::new(0);
        let start = || RedisCluster::builder().outlives_its_test().start();
        let store = Store::Cluster(cluster.get_or_init(start).await);
        let case = CASES.fetch_add(1, Ordering::Relaxed);
        Self { store, wire, prefix: format!("case-{case}:") }
    }

    /// Deletes a name from the server on which the lock of a key is.
    async fn delete(&self, key: &LockKey, name: &str) -> bool {
        let server = match &self.store {
            Store::Memory(_) => return false,
            Store::Server(server) => server,
            Store::Cluster(cluster) => cluster.primary_of(&self.lock(key)).await,
        };
        server.cli().await.del(name).await
    }

    /// The name of a lock.
    fn lock(&self, key: &LockKey) -> String {
        format!("{}{key}", self.prefix)
    }
}

impl Fixture for Deployment {
    fn client(&self, builder: LockClientBuilder) -> BoxFuture<'_, LockClient> {
        let url = match &self.store {
            Store::Memory(store) => {
                return std::future::ready(builder.in_memory_on(store)).boxed();
            }
            Store::Server(server) => server.url(),
            Store::Cluster(cluster) => cluster.url(),
        };
        // A busy machine keeps an answer back; how long one may take is not the subject here.
        let builder = self.wire.on(builder).prefix(&self.prefix).command_timeout(LIMIT);
        async move { builder.connect(&url).await.unwrap() }.boxed()
    }

    fn tells_kinds_apart(&self) -> bool {
        self.wire == Wire::Native && !matches!(self.store, Store::Memory(_))
    }

    fn supports(&self, feature: Feature) -> bool {
        feature != Feature::StoredPermits
            || self.wire == Wire::Redisson && !matches!(self.store, Store::Memory(_))
    }

    fn remove(&self, key: LockKey) -> BoxFuture<'_, ()> {
        async move {
            match &self.store {
                Store::Memory(store) => store.remove(&key),
                _ => assert!(self.delete(&key, &self.lock(&key)).await),
            }
        }
        .boxed()
    }

    fn forget(&self, key: LockKey) -> BoxFuture<'_, ()> {
        async move {
            let token = format!("redisson_lock_token:{{{}}}", self.lock(&key));
            self.delete(&key, &token).await;
        }
        .boxed()
    }
}
