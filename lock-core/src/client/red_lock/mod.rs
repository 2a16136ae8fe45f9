//! One lock on a majority of independent servers.
//!
//! The algorithm is Redlock
//! (<https://redis.io/docs/latest/develop/clients/patterns/distributed-locks/>), corrected where it
//! is weak. Servers are distinguished by their run ids. A server that has restarted is not counted
//! until every lease that it may have forgotten is over. Each server's lease is renewed, checked
//! and released separately.

mod guard;
mod members;
mod retake;
mod round;

use std::{collections::HashSet, sync::Arc, time::Duration};

use futures_util::future::join_all;
use lock_store::{IntoLockKey, InvalidOptions, KeyError, Kind, LockKey, Mode, Unsupported};

use crate::{
    client::{Acquire, LockClient, Lockable, Scope, SingleLock, lockable::sealed},
    gate::{Access, Admission, Gate, Permit},
    hold::{Entered, LockRequest, WaitDeadline},
    types::{AcquireError, AcquireOptions, Lost, ShutdownError},
};
pub use guard::RedLockGuard;
use members::Members;
use round::Round;

/// With fewer, not one server may fail.
const LEAST_SERVERS: usize = 3;

/// How many of these servers must grant.
pub(crate) fn majority(servers: usize) -> usize {
    servers / 2 + 1
}

/// A lock service on several independent Redis servers, of which a majority must grant: from
/// [`LockClientBuilder::red_lock`](crate::LockClientBuilder::red_lock).
///
/// It outlives the loss of a minority of the servers, where a single Redis with replicas may grant
/// a lock twice in a failover. A server that returns during a hold is taken back: see
/// [`RedLockGuard`]. It costs two commands on every server: the lock, and then the server's
/// identity. It has no read locks and no fencing tokens, since no server knows all grants. It is
/// neither reentrant nor fair. **Like every lease it does not protect from a process that pauses**,
/// and it trusts that the servers' clocks run at nearly the same speed.
///
/// On each server it is a [plain lock](Kind::NonReentrant), as the members of Redisson's `RedissonRedLock`.
#[derive(Debug, Clone)]
pub struct RedLock(Arc<Servers>);

#[derive(Debug)]
struct Servers {
    clients: Vec<LockClient>,
    gate: Arc<Gate<()>>,
}

impl RedLock {
    pub(crate) fn new(clients: Vec<LockClient>) -> Result<Self, InvalidOptions> {
        let count = clients.len();
        if count < LEAST_SERVERS {
            return Err(InvalidOptions::new(format!(
                "with {count} servers none may fail, because a lock needs a majority: use \
                 {LEAST_SERVERS} or more, or a LockClient"
            )));
        }
        let settings = &clients[0].inner().settings;
        let gate = Gate::new(settings.max_waiters, settings.max_waiters_total);
        Ok(Self(Arc::new(Servers { clients, gate })))
    }

    /// On clients of different servers.
    pub(crate) async fn of_distinct(clients: Vec<LockClient>) -> Result<Self, InvalidOptions> {
        let red_lock = Self::new(clients)?;
        red_lock.check_distinct().await?;
        Ok(red_lock)
    }

    /// Refuses two addresses of one server. A server that does not answer now is checked when it grants.
    pub(crate) async fn check_distinct(&self) -> Result<(), InvalidOptions> {
        let identities = self.0.clients.iter().map(|client| client.inner().store.identity());
        let mut ids = HashSet::new();
        for identity in join_all(identities).await.into_iter().flatten() {
            if !ids.insert(identity.id.clone()) {
                return Err(InvalidOptions::new(format!(
                    "two of the addresses lead to the same server, with the run id {}: a RedLock needs \
                     independent servers",
                    identity.id
                )));
            }
        }
        Ok(())
    }

    /// Prepares to acquire the lock on `key`: exclusive.
    #[track_caller]
    pub fn lock(&self, key: impl IntoLockKey) -> Acquire<RedLockTarget> {
        Acquire::new(RedLockTarget { servers: Arc::clone(&self.0), key: key.into_lock_key() })
    }

    /// Returns the client of each server, for its [`health`](LockClient::health).
    #[must_use]
    pub fn servers(&self) -> &[LockClient] {
        &self.0.clients
    }

    /// Stops granting and waits until all is released on all servers: see
    /// [`LockClient::shutdown`].
    ///
    /// # Errors
    ///
    /// [`ShutdownError`] with the most that one server may still hold.
    ///
    /// # Cancel safety
    ///
    /// Nothing more is granted; call it again to continue waiting.
    pub async fn shutdown(&self, deadline: Duration) -> Result<(), ShutdownError> {
        let ends = join_all(self.0.clients.iter().map(|client| client.shutdown(deadline))).await;
        let left = ends.into_iter().filter_map(Result::err).max_by_key(|error| error.held);
        left.map_or(Ok(()), Err)
    }
}

impl Servers {
    fn majority(&self) -> usize {
        majority(self.clients.len())
    }

    /// Returns the longest lease that may be requested: a restarted server may have forgotten one
    /// for that long.
    fn longest_lease(&self) -> Duration {
        self.clients[0].inner().settings.lease
    }
}

/// A lock on a majority of servers under one key: see [`RedLock::lock`].
#[derive(Debug, Clone)]
pub struct RedLockTarget {
    servers: Arc<Servers>,
    key: Result<LockKey, KeyError>,
}

impl sealed::Sealed for RedLockTarget {}

impl Lockable for RedLockTarget {
    type Guard = RedLockGuard;

    fn client(&self) -> &LockClient {
        &self.servers.clients[0]
    }

    async fn acquire(
        self,
        options: AcquireOptions,
        scope: Option<Scope>,
        wait: Duration,
    ) -> Result<RedLockGuard, AcquireError> {
        let wait_deadline = WaitDeadline::of(wait);
        if options.at_least.is_some() {
            return Err(Unsupported::new("`hold_at_least` of a RedLock").into());
        }
        if options.replace.is_some() {
            return Err(Unsupported::new("replacing the holder of a RedLock").into());
        }
        let servers = self.servers;
        let on = |client: &LockClient| SingleLock {
            client: client.clone(),
            kind: Kind::NonReentrant,
            key: self.key.clone(),
            mode: Mode::Write,
            permits: 0,
            wanted_permits: 1,
        };
        let request = on(&servers.clients[0]).request(options.clone(), scope.as_ref())?;
        if request.hold_options.lease > servers.longest_lease() {
            return Err(InvalidOptions::new(format!(
                "a lease of {:?} is longer than the {:?} of this RedLock, for which it does not \
                 count restarted servers: set a longer lease where the RedLock is built",
                request.hold_options.lease,
                servers.longest_lease()
            ))
            .into());
        }
        if let Some(scope) = &scope
            && servers.clients.iter().any(|client| {
                let slot = scope.holds().slot(client.inner().owners.client(), &request.key);
                slot.hold().is_some_and(|hold| !hold.state().guards.none())
            })
        {
            return Err(AcquireError::AlreadyHeld { key: request.key });
        }
        let round = Round {
            members: servers.clients.iter().map(on).collect(),
            servers,
            options,
            scope,
            lease: request.hold_options.lease,
        };
        let servers = &round.servers;
        let granted = async {
            let mut permit = admitted(servers, &request, wait_deadline).await?;
            let grants = round.until_granted(&request, wait_deadline, &mut permit).await?;
            permit.wait_no_more();
            Ok((permit, grants))
        };
        let (permit, grants) = servers.clients[0].inner().unless_draining(granted).await?;
        let members = Members::new(request.key, servers.majority(), grants);
        if request.hold_options.renew {
            retake::spawn(round, &members);
        }
        Ok(RedLockGuard::new(members, permit))
    }

    async fn protect<F: Future>(guard: &RedLockGuard, work: F) -> Result<F::Output, Lost> {
        guard.protect(work).await
    }
}

async fn admitted(
    servers: &Servers,
    request: &LockRequest,
    wait_deadline: WaitDeadline,
) -> Result<Permit<()>, AcquireError> {
    let access = Access::of(request.kind, request.mode);
    match wait_deadline.enter(&servers.gate, request, access, None)? {
        Entered::Admitted(permit) => Ok(permit),
        Entered::Queued(mut place) => {
            let limit = wait_deadline.or_within(Duration::ZERO);
            let admitted = tokio::time::timeout_at(limit, place.admitted()).await;
            let turn = admitted.map_err(|_| wait_deadline.busy(request, None))?;
            turn.map(Admission::permit).ok_or(AcquireError::Draining)
        }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_majority_is_more_than_half() {
        for (servers, majority) in [(3, 2), (4, 3), (5, 3), (6, 4), (7, 4)] {
            assert_eq!(super::majority(servers), majority, "of {servers}");
        }
    }
}
