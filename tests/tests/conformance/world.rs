use std::{mem::ManuallyDrop, time::Duration};

use lock_core::{Acquire, Kind, LockClient, LockClientBuilder, LockKey, MemoryStore, Mode};
use lock_tests::{LIMIT, RedisCluster, RedisServer, bounded, eventually};
use tokio::{runtime::Runtime, sync::oneshot};

/// The kinds of locks that can be written: all but the semaphore.
pub(crate) const LOCKS: [Kind; 6] = [
    Kind::ReadWrite,
    Kind::FairReadWrite,
    Kind::Reentrant,
    Kind::NonReentrant,
    Kind::Fair,
    Kind::Fenced,
];

pub(crate) fn written(client: &LockClient, kind: Kind, key: &str) -> Acquire {
    client.lock(Mode::Write, key).kind(kind)
}

/// A store of locks on which any number of clients meet, each like a process of its own.
pub(crate) enum World {
    Memory(MemoryStore),
    Redis(RedisServer),
    Cluster(RedisCluster),
}

impl World {
    pub(crate) async fn memory() -> Self {
        Self::Memory(MemoryStore::new())
    }

    pub(crate) async fn redis() -> Self {
        Self::Redis(RedisServer::start().await)
    }

    pub(crate) async fn cluster() -> Self {
        Self::Cluster(RedisCluster::start().await)
    }

    /// The server on which the lock of a key is.
    async fn server(&self, key: &str) -> Option<&RedisServer> {
        match self {
            Self::Memory(_) => None,
            Self::Redis(server) => Some(server),
            Self::Cluster(cluster) => Some(cluster.primary_of(&format!("lock:{key}")).await),
        }
    }

    fn url(&self) -> String {
        match self {
            Self::Memory(_) => unreachable!("memory has no URL"),
            Self::Redis(server) => server.url(),
            Self::Cluster(cluster) => cluster.url(),
        }
    }

    pub(crate) async fn client(&self) -> LockClient {
        self.client_with(LockClient::builder().lease(NEVER)).await
    }

    pub(crate) async fn client_with(&self, builder: LockClientBuilder) -> LockClient {
        match self {
            Self::Memory(store) => builder.in_memory_on(store),
            _ => patient(builder).connect(&self.url()).await.unwrap(),
        }
    }

    /// Takes a lock away from under its holder.
    pub(crate) async fn remove(&self, key: &str) {
        if let Self::Memory(store) = self {
            store.remove(&LockKey::try_from(key).unwrap());
        }
        if let Some(server) = self.server(key).await {
            assert!(server.cli().await.del(&format!("lock:{key}")).await);
        }
    }

    /// Takes away what is remembered of a key beside its lock.
    pub(crate) async fn forget(&self, key: &str) {
        if let Some(server) = self.server(key).await {
            server.cli().await.del(&format!("redisson_lock_token:{{lock:{key}}}")).await;
        }
    }

    /// How many are known to wait.
    pub(crate) async fn waiters(&self, client: &LockClient, key: &str) -> usize {
        client.inspect(key).await.unwrap().waiters.len()
    }

    pub(crate) async fn until_waiters(&self, client: &LockClient, key: &str, count: usize) {
        let what = format!("{count} wait for {key}");
        eventually(&what, LIMIT, async || self.waiters(client, key).await == count).await;
    }

    /// A process waits for `key` and dies there without a word.
    pub(crate) async fn crash_waiting(
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

    /// A process takes what it wants and dies with it without a word.
    pub(crate) async fn crash_holding<F>(&self, take: impl FnOnce(LockClient) -> F + Send + 'static)
    where
        F: Future<Output: Send> + Send + 'static,
    {
        let (taken, told) = oneshot::channel();
        let life = self.life(|client| async move {
            // Whoever dies drops nothing.
            let _held = ManuallyDrop::new(take(client).await);
            taken.send(()).unwrap();
        });
        soon(told).await.unwrap();
        life.shutdown_background();
    }

    /// A process of its own with one client.
    fn life<F>(&self, live: impl FnOnce(LockClient) -> F + Send + 'static) -> Runtime
    where
        F: Future<Output: Send> + Send + 'static,
    {
        let life = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        let builder = LockClient::builder();
        match self {
            Self::Memory(store) => {
                let store = store.clone();
                life.spawn(async move {
                    live(builder.in_memory_on(&store)).await;
                });
            }
            _ => {
                let url = self.url();
                life.spawn(async move {
                    live(patient(builder).connect(&url).await.unwrap()).await;
                });
            }
        }
        life
    }
}

/// A busy machine keeps an answer back; how long one may take is not the subject here.
fn patient(builder: LockClientBuilder) -> LockClientBuilder {
    builder.command_timeout(LIMIT)
}

/// From an ask to its grant when a message wakes the waiter. A waiter looks by itself 500 ms after it
/// was refused at the earliest, so one that no message reaches comes later than this.
pub(crate) const WOKEN: Duration = Duration::from_millis(400);

/// Returns when the first tries of the waiters of `client`, which holds nothing else, have certainly
/// been refused: from then on only a message lets them in within [`WOKEN`].
pub(crate) async fn refused(client: &LockClient) {
    eventually("it stands before the lock", LIMIT, async || client.health().await.holds > 0).await;
    tokio::time::sleep(Duration::from_millis(50)).await;
}

pub(crate) async fn soon<F: Future>(work: F) -> F::Output {
    bounded(LIMIT, work).await
}

/// A lease that does not end in a test: what is free before was released.
pub(crate) const NEVER: Duration = Duration::from_secs(3_600);

pub(crate) const LONG: Duration = Duration::from_secs(20);

/// A lease that a test waits out. Machines stand still for half a second, and it is renewed all the
/// same.
pub(crate) const SHORT: Duration = Duration::from_secs(1);

/// Runs each case on every backend. Most of them have real leases.
macro_rules! on_every_backend {
    ($($case:ident)*) => {
        mod memory {
            $crate::world::on_one_backend!(memory $($case)*);
        }
        mod redis {
            $crate::world::on_one_backend!(redis $($case)*);
        }
        mod cluster {
            $crate::world::on_one_backend!(cluster $($case)*);
        }
    };
}
pub(crate) use on_every_backend;

macro_rules! on_one_backend {
    ($backend:ident $($case:ident)*) => {
        $(
            #[tokio::test]
            async fn $case() {
                lock_tests::unless_stalled(async || {
                    super::$case(super::World::$backend().await).await;
                })
                .await;
            }
        )*
    };
}
pub(crate) use on_one_backend;
