//! The stores of lock-core, as the conformance cases have them.

use std::time::Duration;

use futures_util::{FutureExt, future::BoxFuture};
use lock_core::{
    LockClient, LockClientBuilder, LockKey, MemoryStore,
    test_util::conformance::{Feature, Fixture},
};
use lock_tests::{LIMIT, RedisCluster, RedisServer, Wire, ZooKeeperServer};

/// The lease of a session that a case waits for. The session itself is five thirds of it.
const SESSION_LEASE: Duration = Duration::from_millis(1_500);

pub(crate) enum Deployment {
    Memory(MemoryStore),
    Redis(RedisServer),
    Cluster(RedisCluster),
    Native(RedisServer),
    NativeCluster(RedisCluster),
    ZooKeeper(ZooKeeperServer),
}

impl Deployment {
    pub(crate) async fn memory() -> Self {
        Self::Memory(MemoryStore::new())
    }

    pub(crate) async fn redis() -> Self {
        Self::Redis(RedisServer::start().await)
    }

    pub(crate) async fn cluster() -> Self {
        Self::Cluster(RedisCluster::start().await)
    }

    pub(crate) async fn native() -> Self {
        Self::Native(RedisServer::start().await)
    }

    pub(crate) async fn native_cluster() -> Self {
        Self::NativeCluster(RedisCluster::start().await)
    }

    pub(crate) async fn zookeeper() -> Self {
        Self::ZooKeeper(ZooKeeperServer::start().await)
    }

    /// Deletes a name from the server on which the lock of a key is.
    async fn delete(&self, key: &LockKey, name: &str) -> bool {
        let server = match self {
            Self::Memory(_) | Self::ZooKeeper(_) => return false,
            Self::Redis(server) | Self::Native(server) => server,
            Self::Cluster(cluster) | Self::NativeCluster(cluster) => {
                cluster.primary_of(&format!("lock:{key}")).await
            }
        };
        server.cli().await.del(name).await
    }
}

impl Fixture for Deployment {
    fn client(&self, builder: LockClientBuilder) -> BoxFuture<'_, LockClient> {
        // A busy machine keeps an answer back; how long one may take is not the subject here.
        let patient = builder.clone().command_timeout(LIMIT);
        let url = match self {
            Self::Memory(store) => {
                return std::future::ready(builder.in_memory_on(store)).boxed();
            }
            Self::Redis(server) | Self::Native(server) => server.url(),
            Self::Cluster(cluster) | Self::NativeCluster(cluster) => cluster.url(),
            Self::ZooKeeper(server) => server.url(),
        };
        let patient = match self {
            Self::Redis(_) | Self::Cluster(_) => Wire::Redisson.on(patient),
            Self::ZooKeeper(_) => patient.lease(SESSION_LEASE).connect_timeout(LIMIT),
            _ => patient,
        };
        async move { patient.connect(&url).await.unwrap() }.boxed()
    }

    fn tells_kinds_apart(&self) -> bool {
        matches!(self, Self::Native(_) | Self::NativeCluster(_))
    }

    fn remove(&self, key: LockKey) -> BoxFuture<'_, ()> {
        async move {
            match self {
                Self::Memory(store) => store.remove(&key),
                Self::ZooKeeper(server) => remove_holders(server, &key).await,
                _ => assert!(self.delete(&key, &format!("lock:{key}")).await),
            }
        }
        .boxed()
    }

    fn forget(&self, key: LockKey) -> BoxFuture<'_, ()> {
        async move {
            self.delete(&key, &format!("redisson_lock_token:{{lock:{key}}}")).await;
        }
        .boxed()
    }

    fn supports(&self, feature: Feature) -> bool {
        use Feature::{
            AtomicMulti, EveryKey, LeasePerLock, ModeChanges, StoredCounts, StoredPermits,
        };
        // Each is a rule of Curator's recipes: no upgrade, no lease but the session's, counts and
        // numbers of permits in the process, a key that is a path.
        let missing =
            [AtomicMulti, EveryKey, LeasePerLock, ModeChanges, StoredCounts, StoredPermits];
        !matches!(self, Self::ZooKeeper(_)) || !missing.contains(&feature)
    }

    fn tells_fair_read_write_apart(&self) -> bool {
        !matches!(self, Self::ZooKeeper(_))
    }

    fn session_lease(&self) -> Option<Duration> {
        matches!(self, Self::ZooKeeper(_)).then_some(SESSION_LEASE)
    }
}

/// Deletes every contender of a lock, as an operator would.
async fn remove_holders(server: &ZooKeeperServer, key: &LockKey) {
    let znodes = server.znodes().await;
    for folder in [format!("/lock/{key}"), format!("/lock/{key}/leases")] {
        for child in znodes.children(&folder).await {
            let path = format!("{folder}/{child}");
            if znodes.children(&path).await.is_empty() {
                znodes.delete(&path).await;
            }
        }
    }
}
