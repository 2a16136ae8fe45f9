//! The stores of lock-core, as the conformance cases have them.

use futures_util::{FutureExt, future::BoxFuture};
use lock_core::{
    LockClient, LockClientBuilder, LockKey, MemoryStore, test_util::conformance::Fixture,
};
use lock_tests::{LIMIT, RedisCluster, RedisServer, Wire};

pub(crate) enum Deployment {
    Memory(MemoryStore),
    Redis(RedisServer),
    Cluster(RedisCluster),
    Native(RedisServer),
    NativeCluster(RedisCluster),
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

    /// Deletes a name from the server on which the lock of a key is.
    async fn delete(&self, key: &LockKey, name: &str) -> bool {
        let server = match self {
            Self::Memory(_) => return false,
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
        };
        let patient = match self {
            Self::Redis(_) | Self::Cluster(_) => Wire::Redisson.on(patient),
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
}
