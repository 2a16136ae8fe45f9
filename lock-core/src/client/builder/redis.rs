//! The settings that only clients of Redis have, and connecting.

use std::time::Duration;

use futures_util::future::join_all;
use lock_store::{ConnectError, InvalidOptions, Tls};

use super::{LONGEST_TIMEOUT, LockClientBuilder};
use crate::{
    client::red_lock::{RedLock, majority},
    redis::{
        connect::{AddressMap, Credentials, RedisOptions},
        protocol::Replicas,
    },
    types::check_lease,
};

/// Redisson's default for `lockWatchdogTimeout`.
const REDISSON_WATCHDOG: Duration = Duration::from_secs(30);

impl LockClientBuilder {
    /// Chooses Redisson's wire: locks are stored in Redis as Redisson stores them, so that a Rust
    /// and a Java service can share them. All clients of a lock should use the same wire: a lock of
    /// the other one is busy, and is waited for by polling. Default: the native wire, which costs
    /// Redis about a third and leaves no key per lock behind.
    ///
    /// It also makes the settings that sharing needs: no [prefix](Self::prefix), so that
    /// `client.write("x")` and Java's `getReadWriteLock("x")` are one lock; a
    /// [watchdog](Self::redisson_watchdog) of 30 s; and [permanent tokens](Self::permanent_tokens).
    /// A setting that differs comes after it.
    ///
    /// Earlier versions had this wire by default, with the prefix `lock:` and tokens that expire. A
    /// service that stays on it writes:
    ///
    /// ```
    /// # use lock_core::LockClient;
    /// LockClient::builder().redisson().prefix("lock:").permanent_tokens(false)
    /// # ;
    /// ```
    pub fn redisson(mut self) -> Self {
        self.redis.redissons_wire = true;
        self.prefix("").redisson_watchdog(REDISSON_WATCHDOG).permanent_tokens(true)
    }

    /// Shares locks with programs that take them by `SET key text NX PX ttl` and release them by
    /// compare and delete: hand-rolled locks, redis-py's `Lock`, Pottery, node-redlock, rslock,
    /// redsync, and python-redis-lock, whose waiters have to poll then.
    ///
    /// A text of another program that has a TTL is then a holder like any other. It is never
    /// touched: waiters keep their line beside it, and the first of them polls every 50 ms. While
    /// clients of this library wait, they leave the lock free for 200 ms at least once a second,
    /// after a release, for the other programs. A program that tries less often may miss that time.
    /// A text without a TTL is a [wrong kind](crate::AcquireError::WrongKind), as every such text
    /// is without this option.
    ///
    /// Both must use one name: the [prefix](Self::prefix) and the key together are the other
    /// program's key. Every kind but semaphores is shared, and to another program all are one lock with one
    /// holder. It has no [fencing token](crate::FencingToken): a resource that checks them is safe
    /// from late writes of this library's holders alone. [`inspect`](crate::LockClient::inspect) shows such
    /// a holder with its text as the owner, and
    /// [`force_release`](crate::LockClient::force_release) deletes the text.
    ///
    /// A free lock costs a script instead of a plain command. Not on
    /// [Redisson's wire](Self::redisson), which is an error when connecting. Default: off.
    pub fn beside_set_nx(mut self) -> Self {
        self.redis.beside_set_nx = true;
        self
    }

    /// Keeps fencing tokens in Redis forever instead of for an hour after the last grant of their
    /// key: tokens then grow even if Redis' clock is set back by more than an hour. The price is
    /// one key per lock that is never removed.
    ///
    /// Of [Redisson's wire](Self::redisson) alone. On the native wire it changes nothing: the one
    /// counter of all tokens is never removed. Default: off, on with [`redisson`](Self::redisson).
    pub fn permanent_tokens(mut self, permanent: bool) -> Self {
        self.redis.permanent_tokens = permanent;
        self
    }

    /// Sets the `lockWatchdogTimeout` of Redisson clients that read the same locks. Their watchdog
    /// cuts the shared lock to its own timeout, so a read is believed in for no longer, and renewed
    /// accordingly.
    ///
    /// Of [Redisson's wire](Self::redisson) alone: on the native wire, whose locks no client of Redisson
    /// shares, it changes nothing. Default: no such clients, 30 s with [`redisson`](Self::redisson).
    pub fn redisson_watchdog(mut self, timeout: Duration) -> Self {
        self.settings.redisson_watchdog = Some(timeout);
        self
    }

    /// Sets how connections to a URL that begins with `rediss` are encrypted. Default: the
    /// certificate authorities of the operating system, no client certificate.
    pub fn tls(mut self, tls: Tls) -> Self {
        self.redis.tls = tls;
        self
    }

    /// Sets the user and password for the Sentinels of a `redis+sentinel://` URL; those in the URL are
    /// for the servers that the Sentinels monitor. Default: none.
    pub fn sentinel_credentials(mut self, user: Option<&str>, password: impl Into<String>) -> Self {
        let user = user.map(ToOwned::to_owned);
        self.redis.sentinel_credentials = Some(Credentials { user, password: password.into() });
        self
    }

    /// Maps the addresses that a cluster or a Sentinel announces to addresses that this host
    /// reaches, for servers behind NAT or in containers. `map` is called with each announced host
    /// and port, and returns those to connect to. Under TLS the certificate must be for the host
    /// that it returns. Addresses in the URL are used as they are. Default: as announced.
    ///
    /// ```
    /// # use lock_core::LockClient;
    /// // Each node's port is published on this host.
    /// LockClient::builder().map_address(|_, port| ("127.0.0.1".to_owned(), port))
    /// # ;
    /// ```
    pub fn map_address(
        mut self,
        map: impl Fn(&str, u16) -> (String, u16) + Send + Sync + 'static,
    ) -> Self {
        self.redis.addresses = AddressMap::new(map);
        self
    }

    /// Sets whether a connection is refused if its user lacks a right that the lock scripts need.
    /// Without this check, a script that Redis refuses halfway may leave a lock that is never released.
    /// Turn it off for a client that only inspects locks, such as an operator's. Default: `true`.
    pub fn check_rights(mut self, check: bool) -> Self {
        self.redis.check_rights = check;
        self
    }

    /// Grants a lock, and the upgrade of one, only when this many replicas have confirmed within
    /// `timeout` that they have it. With fewer, the acquisition fails as
    /// [`Unavailable`](crate::AcquireError::Unavailable), and the lock is released. The time comes
    /// on top of the [command timeout](Self::command_timeout).
    ///
    /// It makes it less likely that a failover forgets a lock, and does not make it impossible: the
    /// replica that is promoted need not be one that confirmed, and later renewals are not
    /// confirmed. A resource that checks the [`FencingToken`](crate::FencingToken) is safe either
    /// way. Default: no replica is waited for.
    pub fn wait_for_replicas(mut self, count: u32, timeout: Duration) -> Self {
        let timeout = timeout.min(LONGEST_TIMEOUT);
        self.redis.replicas = Some(Replicas { count, timeout });
        self
    }

    /// Connects to several independent Redis servers, for locks that a majority of them must grant.
    /// A minority may be out of reach; they are connected to in the background.
    ///
    /// The [lease](Self::lease) set here is the longest that an acquisition can have: a server that has
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
    /// Dropping the future closes every connection that was opened.
    pub async fn red_lock<U: AsRef<str>>(
        mut self,
        urls: impl IntoIterator<Item = U>,
    ) -> Result<RedLock, ConnectError> {
        self.checked_options()?;
        let urls: Vec<U> = urls.into_iter().collect();
        if urls.iter().any(|url| url.as_ref().starts_with("zookeeper")) {
            let reason = "RedLock is for independent Redis servers; the servers of a ZooKeeper \
                          ensemble agree on every lock, so connect a LockClient to the ensemble";
            return Err(ConnectError::InvalidUrl { reason: reason.to_owned() });
        }
        let connected = urls.iter().map(|url| self.clone().connect(url.as_ref()));
        let (mut clients, mut failed) = (Vec::new(), Vec::new());
        for (url, connected) in urls.iter().zip(join_all(connected).await) {
            clients.push(match connected {
                Ok(client) => client,
                // A server that hangs fails during the TLS handshake, without a source.
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
            && urls.len() - failed.len() - 1 < majority(urls.len())
        {
            return Err(why);
        }
        red_lock.check_distinct().await?;
        Ok(red_lock)
    }

    /// The options of Redis, if every setting is within its bounds.
    pub(super) fn checked_options(&mut self) -> Result<RedisOptions, InvalidOptions> {
        check_lease("lease", self.settings.lease)?;
        if let Some(watchdog) = self.settings.redisson_watchdog {
            check_lease("redisson_watchdog", watchdog)?;
        }
        if !self.redis.redissons_wire {
            // No client of Redisson reads these locks.
            self.settings.redisson_watchdog = None;
        }
        let options = RedisOptions { common: self.connect_options(), ..self.redis.clone() };
        options.check()?;
        Ok(options)
    }
}
