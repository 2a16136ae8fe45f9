use std::{sync::Arc, time::Duration};

use futures_util::future::join_all;

use crate::{
    ConnectError, InvalidOptions, LockClient, MemoryStore, RedLock,
    engine::Engine,
    owner::{ClientId, Owners},
    redis::{self, Credentials, RedisOptions, Replicas, Tls},
    settings::{Settings, check_lease},
    store::LockStore,
    tasks::Tasks,
};

/// No timeout is longer: it would be none.
const LONGEST_TIMEOUT: Duration = Duration::from_secs(60 * 60);
/// Redisson's default for `lockWatchdogTimeout`.
const REDISSON_WATCHDOG: Duration = Duration::from_secs(30);

/// A client with other settings than the defaults: from [`LockClient::builder`].
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
#[must_use = "a builder does nothing until it connects"]
#[derive(Debug, Clone, Default)]
pub struct LockClientBuilder {
    settings: Settings,
    redis: RedisOptions,
}

impl LockClientBuilder {
    /// With the settings of a client that is there already.
    pub(crate) fn of(settings: Settings) -> Self {
        Self { settings, redis: RedisOptions::default() }
    }

    /// What stands before every lock's key in Redis, so that a lock never meets the application's
    /// own data. At most 64 bytes, without braces and control characters. Default: `lock:`.
    pub fn prefix(mut self, prefix: impl Into<String>) -> Self {
        self.redis.prefix = prefix.into();
        self
    }

    /// The lease of acquisitions that ask for none. Default: 30 s.
    pub fn lease(mut self, lease: Duration) -> Self {
        self.settings.lease = lease;
        self
    }

    /// The wait of acquisitions that ask for none. Default: 1 s.
    pub fn wait(mut self, wait: Duration) -> Self {
        self.settings.wait = wait;
        self
    }

    /// How long one command may take before the store counts as unavailable, at most an hour.
    /// Default: 500 ms.
    pub fn command_timeout(mut self, timeout: Duration) -> Self {
        self.settings.command_timeout = timeout.min(LONGEST_TIMEOUT);
        self.redis.command_timeout = timeout.min(LONGEST_TIMEOUT);
        self
    }

    /// How long each step of connecting may take, at first and again later: to reach a server (or
    /// a Sentinel, or a node) and log in, to load the scripts, to ask for its role. So
    /// [`connect`](Self::connect) as a whole may take a few times that. Default: 2 s.
    pub fn connect_timeout(mut self, timeout: Duration) -> Self {
        self.redis.connect_timeout = timeout.min(LONGEST_TIMEOUT);
        self
    }

    /// Who this process is, for the engineer who asks which instance holds a lock: kept in Redis
    /// under `lock_client:<uuid>` and as the connections' names. Control characters and spaces
    /// become `-`, in the connections' names all that is not ASCII. Default: the program's name, and the
    /// host's with the process' number.
    pub fn client_name(mut self, service: impl Into<String>, instance: impl Into<String>) -> Self {
        self.redis.service = Some(service.into());
        self.redis.instance = Some(instance.into());
        self
    }

    /// For how long an acquisition for reading stands back, while others read, behind a writer of
    /// another process that has waited longer. It keeps a stream of readers from starving writers, as
    /// long as one hold is shorter than this; and it bounds how long a reader waits for a writer that
    /// waits itself. Default: 1 s.
    pub fn yielding(mut self, yielding: Duration) -> Self {
        self.settings.yielding = yielding.min(LONGEST_TIMEOUT);
        self
    }

    /// How many acquisitions of this process may wait for one key before others are refused as
    /// [`Overloaded`](crate::AcquireError::Overloaded); with zero nobody waits. For a single
    /// acquisition see [`Acquire::max_waiters`](crate::Acquire::max_waiters). Default: 1,024.
    pub fn max_waiters(mut self, max_waiters: usize) -> Self {
        self.settings.max_waiters = max_waiters;
        self
    }

    /// How many acquisitions of this process may wait before all keys together; others are refused
    /// as [`Overloaded`](crate::AcquireError::Overloaded) at once. It bounds the memory that many
    /// requests for many keys can take, where [`max_waiters`](Self::max_waiters) bounds those for
    /// one. Who has waited for others of this process already is not sent away. Default: 65,536.
    pub fn max_waiters_in_all(mut self, max_waiters: usize) -> Self {
        self.settings.max_waiters_in_all = max_waiters;
        self
    }

    /// How often a lock may go from one waiter of this process to the next before others get it,
    /// unless an acquisition says otherwise: see
    /// [`Acquire::max_local_handoffs`](crate::Acquire::max_local_handoffs). Default: 63, which is the
    /// most.
    pub fn max_local_handoffs(mut self, max_local_handoffs: u32) -> Self {
        self.settings.max_local_handoffs = max_local_handoffs;
        self
    }

    /// How many readers of this process may read under one hold of the store, unless an acquisition
    /// says otherwise: see [`Acquire::max_shared_readers`](crate::Acquire::max_shared_readers).
    /// Default: 64, which is the most.
    pub fn max_shared_readers(mut self, max_shared_readers: u32) -> Self {
        self.settings.max_shared_readers = max_shared_readers;
        self
    }

    /// Whether keys are named in what is logged at the levels `info`, `warn` and `error`: leave it
    /// off where they carry personal data. At `debug` they are named in any case. Default: off.
    pub fn log_keys(mut self, log_keys: bool) -> Self {
        self.settings.log_keys = log_keys;
        self
    }

    /// Keeps fencing tokens in Redis for ever instead of for an hour after the last grant of their
    /// key: for tokens that grow even if Redis' clock is set back by more than an hour, at the
    /// price of one key per lock that is never removed. Default: off.
    pub fn permanent_tokens(mut self, permanent: bool) -> Self {
        self.redis.permanent_tokens = permanent;
        self
    }

    /// The `lockWatchdogTimeout` of Redisson clients that read the same locks. Their watchdog cuts
    /// the shared lock to its own timeout, so a read is believed in for no longer, and renewed
    /// accordingly. Default: no such clients.
    pub fn redisson_watchdog(mut self, timeout: Duration) -> Self {
        self.settings.redisson_watchdog = Some(timeout);
        self
    }

    /// What sharing locks with Redisson needs: no prefix, so that `client.write("x")` and Java's
    /// `getReadWriteLock("x")` are one lock; a [watchdog](Self::redisson_watchdog) of 30 s; and
    /// [permanent tokens](Self::permanent_tokens).
    pub fn redisson(self) -> Self {
        self.prefix("").redisson_watchdog(REDISSON_WATCHDOG).permanent_tokens(true)
    }

    /// How connections to a URL that begins with `rediss` are encrypted. Default: the certificate
    /// authorities of the operating system, no client certificate.
    pub fn tls(mut self, tls: Tls) -> Self {
        self.redis.tls = tls;
        self
    }

    /// Who this client is to the Sentinels of a `redis+sentinel://` URL; user and password in the
    /// URL are those for the servers they watch over. Default: nobody.
    pub fn sentinel_credentials(mut self, user: Option<&str>, password: impl Into<String>) -> Self {
        let user = user.map(ToOwned::to_owned);
        self.redis.sentinel_credentials = Some(Credentials { user, password: password.into() });
        self
    }

    /// Whether a connection is refused whose user lacks a right that the lock scripts need. Without
    /// it a command that Redis refuses halfway may leave a lock behind that nobody frees. Turn it off
    /// for a client that only looks, such as an operator's. Default: `true`.
    pub fn check_rights(mut self, check: bool) -> Self {
        self.redis.check_rights = check;
        self
    }

    /// Grants a lock, and the upgrade of one, only when this many replicas have confirmed within
    /// `timeout` that they have it; with fewer the acquisition ends as
    /// [`Unavailable`](crate::AcquireError::Unavailable) and is taken back. The time comes on top
    /// of the [command timeout](Self::command_timeout).
    ///
    /// It makes it less likely that a failover forgets a lock, and does not make it impossible: the
    /// replica that is promoted need not be one that confirmed, and what is renewed later is not
    /// confirmed. A resource that checks the [`FencingToken`](crate::FencingToken) is safe either
    /// way. Default: no replica is waited for.
    pub fn wait_for_replicas(mut self, count: u32, timeout: Duration) -> Self {
        let timeout = timeout.min(LONGEST_TIMEOUT);
        self.redis.replicas = Some(Replicas { count, timeout });
        self
    }

    /// Connects to a Redis server: see [`LockClient::connect`].
    ///
    /// # Errors
    ///
    /// See [`LockClient::connect`]; also when a setting is out of bounds.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future closes what was opened.
    pub async fn connect(self, url: &str) -> Result<LockClient, ConnectError> {
        self.check()?;
        let (owners, tasks) = beginnings();
        let store = redis::connect(url, self.redis.clone(), owners.client(), &tasks).await?;
        Ok(self.start(owners, Arc::new(store), tasks))
    }

    /// Connects in the background: see [`LockClient::connect_lazy`].
    ///
    /// # Errors
    ///
    /// When the URL is malformed or a setting is out of bounds.
    pub fn connect_lazy(self, url: &str) -> Result<LockClient, ConnectError> {
        self.check()?;
        let (owners, tasks) = beginnings();
        let store = redis::connect_lazy(url, self.redis.clone(), owners.client(), &tasks)?;
        Ok(self.start(owners, Arc::new(store), tasks))
    }

    /// A client with a store of its own in memory: see [`LockClient::in_memory`].
    #[must_use]
    pub fn in_memory(self) -> LockClient {
        self.in_memory_on(&MemoryStore::new())
    }

    /// A client on a store in memory that it shares with others.
    #[must_use]
    pub fn in_memory_on(self, store: &MemoryStore) -> LockClient {
        self.store(Arc::new(store.clone()))
    }

    /// A client on a store of your own: see [`store`](crate::store), which may still change. Options
    /// of Redis alone, such as the prefix, mean nothing to it, and it limits the time of its commands
    /// itself: the [command timeout](Self::command_timeout) only bounds what the client does besides.
    #[must_use]
    pub fn store(mut self, store: Arc<dyn LockStore>) -> LockClient {
        self.settings.lease = store.session_lease().unwrap_or(self.settings.lease);
        let (owners, tasks) = beginnings();
        self.start(owners, store, tasks)
    }

    #[cfg(feature = "test-util")]
    pub(crate) fn settings(&self) -> &Settings {
        &self.settings
    }

    /// As [`red_lock_in_memory`](Self::red_lock_in_memory), on clients that a test has made, each of
    /// a store of its own.
    #[doc(hidden)]
    pub async fn red_lock_of(clients: Vec<LockClient>) -> Result<RedLock, InvalidOptions> {
        let red_lock = RedLock::new(clients)?;
        red_lock.check_distinct().await?;
        Ok(red_lock)
    }

    /// Connects to several independent Redis servers, for locks that a majority of them must grant.
    /// A minority may be out of reach; they are connected to in the background.
    ///
    /// The [lease](Self::lease) set here is the longest that can be asked for: a server that has
    /// restarted is not counted for as long, since it may have forgotten one. So every process that
    /// shares the locks must set the same. Set it short: with servers that have all just been started,
    /// nothing is granted until it has passed.
    ///
    /// # Errors
    ///
    /// [`ConnectError`] when a setting is out of bounds, there are fewer than three servers, two are
    /// the same one, or the majority cannot be reached.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future closes what was opened.
    pub async fn red_lock<U: AsRef<str>>(
        self,
        urls: impl IntoIterator<Item = U>,
    ) -> Result<RedLock, ConnectError> {
        self.check()?;
        let urls: Vec<U> = urls.into_iter().collect();
        let connected = urls.iter().map(|url| self.clone().connect(url.as_ref()));
        let (mut clients, mut failed) = (Vec::new(), Vec::new());
        for (url, connected) in urls.iter().zip(join_all(connected).await) {
            clients.push(match connected {
                Ok(client) => client,
                // A server that hangs says no more than that of TLS either.
                Err(
                    why @ (ConnectError::Unreachable { .. }
                    | ConnectError::Tls { source: None, .. }),
                ) => {
                    failed.push(why);
                    self.clone().connect_lazy(url.as_ref())?
                }
                Err(why) => return Err(why),
            });
        }
        let red_lock = RedLock::new(clients)?;
        if let Some(why) = failed.pop()
            && urls.len() - failed.len() - 1 < red_lock.majority()
        {
            return Err(why);
        }
        red_lock.check_distinct().await?;
        Ok(red_lock)
    }

    /// As [`red_lock`](Self::red_lock), on stores in memory.
    ///
    /// # Errors
    ///
    /// When there are fewer than three stores, or two are the same one.
    pub async fn red_lock_in_memory(
        self,
        stores: &[MemoryStore],
    ) -> Result<RedLock, InvalidOptions> {
        Self::red_lock_of(stores.iter().map(|store| self.clone().in_memory_on(store)).collect())
            .await
    }

    fn check(&self) -> Result<(), InvalidOptions> {
        check_lease("lease", self.settings.lease)?;
        if let Some(watchdog) = self.settings.redisson_watchdog {
            check_lease("redisson_watchdog", watchdog)?;
        }
        self.redis.check()
    }

    fn start(self, owners: Owners, store: Arc<dyn LockStore>, tasks: Arc<Tasks>) -> LockClient {
        LockClient::from_engine(Engine::start(owners, store, self.settings, tasks))
    }
}

fn beginnings() -> (Owners, Arc<Tasks>) {
    let tasks = Arc::<Tasks>::default();
    tasks.enter();
    (Owners::new(ClientId::random()), tasks)
}
