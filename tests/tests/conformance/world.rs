use std::time::Duration;

use lock_core::{LockClient, LockClientBuilder, LockKey, MemoryStore};
use lock_tests::{LIMIT, RedisServer, bounded};

/// A store of locks on which any number of clients meet, each like a process of its own.
pub(crate) enum World {
    Memory(MemoryStore),
    Redis(RedisServer),
}

impl World {
    pub(crate) async fn memory() -> Self {
        Self::Memory(MemoryStore::new())
    }

    pub(crate) async fn redis() -> Self {
        Self::Redis(RedisServer::start().await)
    }

    pub(crate) async fn client(&self) -> LockClient {
        self.client_with(LockClient::builder()).await
    }

    pub(crate) async fn client_with(&self, builder: LockClientBuilder) -> LockClient {
        match self {
            Self::Memory(store) => builder.in_memory_on(store),
            Self::Redis(server) => builder.connect(&server.url()).await.unwrap(),
        }
    }

    /// Takes a lock away from under its holder.
    pub(crate) async fn remove(&self, key: &str) {
        match self {
            Self::Memory(store) => store.remove(&LockKey::try_from(key).unwrap()),
            Self::Redis(server) => assert!(server.cli().await.del(&format!("lock:{key}")).await),
        }
    }
}

pub(crate) async fn soon<F: Future>(work: F) -> F::Output {
    bounded(LIMIT, work).await
}

pub(crate) const LONG: Duration = Duration::from_secs(20);

/// Runs each case on every backend.
macro_rules! on_every_backend {
    ($($case:ident)*) => {
        mod memory {
            $(#[tokio::test] async fn $case() { super::$case(super::World::memory().await).await; })*
        }
        mod redis {
            $(#[tokio::test] async fn $case() { super::$case(super::World::redis().await).await; })*
        }
    };
}
pub(crate) use on_every_backend;
