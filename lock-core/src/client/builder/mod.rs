#[cfg(any(feature = "redis", feature = "zookeeper"))]
mod connect;
#[cfg(feature = "redis")]
mod redis;
#[cfg(any(feature = "redis", feature = "zookeeper"))]
mod store_url;

use std::{sync::Arc, time::Duration};

#[cfg(any(feature = "redis", feature = "zookeeper"))]
use lock_store::connect::ConnectOptions;
use lock_store::{ClientId, InvalidOptions, LockStore, MemoryStore, Owners, runtime::Tasks};

#[cfg(feature = "redis")]
use crate::redis::connect::RedisOptions;
use crate::{
    client::{LockClient, red_lock::RedLock},
    hold,
    types::{ClientConfig, LockObserver, Observer, TicketKey},
};

/// No timeout is longer: it would be none.
const LONGEST_TIMEOUT: Duration = Duration::from_secs(60 * 60);

/// Builds a client with other settings than the defaults: from [`LockClient::builder`].
///
/// ```
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// use std::time::Duration;
/// use lock_core::LockClient;
///
/// let locks = LockClient::builder()
///     .client_name("orders", "orders-7f9c")
///     .lease(Duration::from_secs(15))
///     .connect("redis://127.0.0.1/")
///     .await?;
/// # Ok(()) }
/// ```
///
/// The client lives on the Tokio runtime on which it is built: see [`LockClient`].
#[must_use = "a builder does nothing until it connects"]
#[derive(Debug, Clone, Default)]
pub struct LockClientBuilder {
    settings: ClientConfig,
    #[cfg(any(feature = "redis", feature = "zookeeper"))]
    connect: ConnectOptions,
    #[cfg(feature = "redis")]
    redis: RedisOptions,
}

impl LockClientBuilder {
    /// With the settings of a client that is there already.
    pub(crate) fn of(settings: ClientConfig) -> Self {
        Self {
            settings,
            #[cfg(any(feature = "redis", feature = "zookeeper"))]
            connect: ConnectOptions::default(),
            #[cfg(feature = "redis")]
            redis: RedisOptions::default(),
        }
    }

    /// Sets the lease of acquisitions that set none. Default: 30 s.
    pub fn lease(mut self, lease: Duration) -> Self {
        self.settings.lease = lease;
        self
    }

    /// Sets the wait of acquisitions that set none. Default: 1 s.
    pub fn wait(mut self, wait: Duration) -> Self {
        self.settings.wait = wait;
        self
    }

    /// Sets how long one command may take before the store counts as unavailable, at most an hour.
    /// Default: 500 ms; on ZooKeeper half of the lease, because a busy disk or an election takes seconds
    /// there.
    pub fn command_timeout(mut self, timeout: Duration) -> Self {
        self.settings.command_timeout = timeout.min(LONGEST_TIMEOUT);
        #[cfg(feature = "zookeeper")]
        {
            self.settings.has_command_timeout = true;
        }
        self
    }

    /// Sets for how long an acquisition for reading yields, while others read, to a writer of
    /// another process that has waited longer. It keeps a stream of readers from starving writers,
    /// if one hold is shorter than this. It also bounds how long a reader waits for a writer that
    /// waits itself. Default: 1 s.
    pub fn fairness_timeout(mut self, timeout: Duration) -> Self {
        self.settings.fairness_timeout = timeout.min(LONGEST_TIMEOUT);
        self
    }

    /// Limits how many acquisitions of this process may wait for one key; others are refused as
    /// [`Overloaded`](crate::AcquireError::Overloaded). With zero no acquisition waits. For a single
    /// acquisition see [`Acquire::max_waiters`](crate::Acquire::max_waiters). Default: 1,024.
    pub fn max_waiters(mut self, max_waiters: usize) -> Self {
        self.settings.max_waiters = max_waiters;
        self
    }

    /// Limits how many acquisitions of this process may wait for all keys together; others are
    /// refused as [`Overloaded`](crate::AcquireError::Overloaded) at once. It bounds the memory
    /// that many requests for many keys can take, where [`max_waiters`](Self::max_waiters) bounds
    /// those for one. An acquisition that has already waited for others of this process is not
    /// refused. Default: 65,536.
    pub fn max_waiters_total(mut self, max_waiters: usize) -> Self {
        self.settings.max_waiters_total = max_waiters;
        self
    }

    /// Limits how often a lock may go from one waiter of this process to the next before others get
    /// it, unless an acquisition sets its own: see
    /// [`Acquire::max_local_handoffs`](crate::Acquire::max_local_handoffs). Default: 63, which is
    /// the most.
    pub fn max_local_handoffs(mut self, max_local_handoffs: u32) -> Self {
        self.settings.max_local_handoffs = max_local_handoffs;
        self
    }

    /// Limits how many readers of this process may read under one hold of the store, unless an
    /// acquisition sets its own: see
    /// [`Acquire::max_shared_readers`](crate::Acquire::max_shared_readers). Default: 64, which is
    /// the most.
    pub fn max_shared_readers(mut self, max_shared_readers: u32) -> Self {
        self.settings.max_shared_readers = max_shared_readers;
        self
    }

    /// Sets whether keys are named in log lines at the levels `info`, `warn` and `error`: leave it
    /// off where they carry personal data. At `debug` they are named in any case. Default: off.
    pub fn log_keys(mut self, log_keys: bool) -> Self {
        self.settings.log_keys = log_keys;
        self
    }

    /// Sets the key with which this client signs and checks the tickets of parked holds: at least 32
    /// random bytes, the same in all processes that park and resume for each other, kept as secret as a
    /// password. Default: none, and nothing can be [parked](crate::LockGuard::park) or
    /// [resumed](LockClient::resume).
    ///
    /// May be called several times, newest key first: the first signs, and tickets of all are accepted.
    /// So a key is changed without a ticket that is refused: deploy the new one as the second, then as
    /// the first, and remove the old one when its last ticket has ended.
    pub fn ticket_key(mut self, key: impl AsRef<[u8]>) -> Self {
        self.settings.ticket_keys.push(TicketKey::new(key.as_ref()));
        self
    }

    /// Sets whether the work of long holds and long waits is recorded in the store, so that
    /// [`inspect`](LockClient::inspect) and `lockctl` can show it: see
    /// [`WorkInfo`](crate::WorkInfo). Anyone that can read the store can read it. Default: on.
    pub fn record_work(mut self, record_work: bool) -> Self {
        self.settings.record_work = record_work;
        self
    }

    /// Sets whether an acquisition that would wait forever is refused, unless it sets its own: see
    /// [`Acquire::refuse_deadlock`](crate::Acquire::refuse_deadlock). Default: off.
    pub fn refuse_deadlocks(mut self, refuse_deadlocks: bool) -> Self {
        self.settings.refuse_deadlocks = refuse_deadlocks;
        self
    }

    /// Reports the events of the client's locks to `observer`: grants, refusals, losses, releases,
    /// and reconnections. There is one observer; a later one replaces it. Default: none.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use lock_core::{LockClient, LockEvent};
    ///
    /// let locks = LockClient::builder()
    ///     .observer(|event: LockEvent<'_>| {
    ///         if let LockEvent::Lost(lost) = event {
    ///             eprintln!("{:?} is lost after {:?}: {}", lost.lock.name, lost.held_for, lost.cause);
    ///         }
    ///     })
    ///     .in_memory();
    /// locks.write("report:7").name("report").acquire().await?.release().await?;
    /// # Ok(()) }
    /// ```
    pub fn observer(mut self, observer: impl LockObserver + 'static) -> Self {
        self.settings.observer = Observer::new(observer);
        self
    }

    /// Creates a client with a new store in memory: see [`LockClient::in_memory`].
    #[must_use]
    pub fn in_memory(self) -> LockClient {
        self.in_memory_on(&MemoryStore::new())
    }

    /// Creates a client on a store in memory that it shares with others.
    #[must_use]
    pub fn in_memory_on(self, store: &MemoryStore) -> LockClient {
        self.store(Arc::new(store.clone()))
    }

    /// Creates a client on a store of your own: see [`store`](crate::store), which may still
    /// change. Options of Redis alone, such as the prefix, mean nothing to it, and it limits the
    /// time of its commands itself: the [command timeout](Self::command_timeout) only bounds the
    /// client's other work.
    #[must_use]
    pub fn store(self, store: Arc<dyn LockStore>) -> LockClient {
        let (owners, tasks) = beginnings();
        self.start(owners, store, tasks)
    }

    #[cfg(feature = "test-util")]
    pub(crate) fn settings(&self) -> &ClientConfig {
        &self.settings
    }

    /// Creates a lock service as [`red_lock`](Self::red_lock) does, on stores in memory: for tests
    /// of a service.
    ///
    /// # Errors
    ///
    /// When there are fewer than three stores, or two are the same one.
    pub async fn red_lock_in_memory(
        self,
        stores: &[MemoryStore],
    ) -> Result<RedLock, InvalidOptions> {
        let clients = stores.iter().map(|store| self.clone().in_memory_on(store)).collect();
        RedLock::of_distinct(clients).await
    }

    fn start(mut self, owners: Owners, store: Arc<dyn LockStore>, tasks: Arc<Tasks>) -> LockClient {
        self.settings.lease = store.session_lease().unwrap_or(self.settings.lease);
        self.settings.command_timeout =
            store.command_timeout().unwrap_or(self.settings.command_timeout);
        LockClient::from_inner(hold::start(owners, store, self.settings, tasks))
    }
}

fn beginnings() -> (Owners, Arc<Tasks>) {
    (Owners::new(ClientId::random()), Tasks::new())
}
