//! One lock on a majority of independent servers.
//!
//! The algorithm is Redlock (<https://redis.io/docs/latest/develop/clients/patterns/distributed-locks/>),
//! corrected where it is weak: servers are told apart by their run ids, one that has restarted is
//! not counted until every lease that it may have forgotten is over, and every server's own lease
//! is renewed, believed in and given back by itself.

use std::{
    collections::HashSet,
    future::{Future, poll_fn},
    pin::pin,
    sync::Arc,
    task::Poll,
    time::Duration,
};

use futures_util::{
    future::{join_all, select_all},
    stream::{FuturesUnordered, StreamExt},
};
use tokio::time::Instant;

use crate::{
    Acquire, AcquireError, IntoLockKey, InvalidOptions, KeyError, Kind, LockClient, LockGuard,
    LockKey, Lost, LostCause, Mode, Overloaded, ReleaseError, Scope, ShutdownError, Unavailable,
    backend::{Identity, Topic, Wakeups},
    gate::{Access, Entry, Gate, Permit},
    request::{Patience, Request},
    target::{SingleLock, Target, sealed},
    terms::Asked,
};

/// With fewer, not one server may fail.
const LEAST_SERVERS: usize = 3;
/// What the slower servers get once a majority has granted, at the least.
const LEAST_GRACE: Duration = Duration::from_millis(10);
/// How long a refused acquisition stands back, at random up to this, so that two that split the
/// servers between them do not do so again. It also bounds how often one wakes itself by giving back
/// what a minority had granted.
const STAND_BACK: Duration = Duration::from_millis(40);
/// How long it waits for news then.
const RETRY: Duration = Duration::from_millis(200);

/// A lock service on several independent Redis servers, of which a majority must grant: from
/// [`LockClientBuilder::red_lock`](crate::LockClientBuilder::red_lock).
///
/// It outlives the loss of a minority of the servers, where a single Redis with replicas may grant a
/// lock twice in a failover. It costs a command on every server, has no read locks and no fencing
/// tokens (no server knows all grants), is not reentrant and not fair. **Like every lease it does not
/// protect from a process that pauses**, and it trusts that the servers' clocks run at nearly the
/// same speed.
///
/// On each server it is a [plain lock](Kind::NonReentrant), as the members of Redisson's `RedissonRedLock`.
#[derive(Debug, Clone)]
pub struct RedLock(Arc<Servers>);

#[derive(Debug)]
struct Servers {
    clients: Vec<LockClient>,
    gate: Arc<Gate>,
}

impl RedLock {
    pub(crate) fn new(clients: Vec<LockClient>) -> Result<Self, InvalidOptions> {
        let count = clients.len();
        if count < LEAST_SERVERS {
            return Err(InvalidOptions(format!(
                "a lock on a majority of {count} servers survives the loss of none: use \
                 {LEAST_SERVERS} or more, or a LockClient"
            )));
        }
        let gate = Gate::new(clients[0].engine().settings.max_waiters);
        Ok(Self(Arc::new(Servers { clients, gate })))
    }

    /// Refuses two addresses of one server. Who does not answer now is found out when it grants.
    pub(crate) async fn check_distinct(&self) -> Result<(), InvalidOptions> {
        let identities = self.0.clients.iter().map(|client| client.engine().backend.identity());
        let mut ids = HashSet::new();
        for identity in join_all(identities).await.into_iter().flatten() {
            if !ids.insert(identity.id.clone()) {
                return Err(InvalidOptions(format!(
                    "two of the servers are one, of run id {}: a majority of independent servers \
                     needs independent servers",
                    identity.id
                )));
            }
        }
        Ok(())
    }

    /// Asks for the lock on `key`: exclusive.
    pub fn lock(&self, key: impl IntoLockKey) -> Acquire<RedLockOn> {
        Acquire::new(RedLockOn { servers: Arc::clone(&self.0), key: key.into_lock_key() })
    }

    /// How many servers must grant.
    #[must_use]
    pub fn majority(&self) -> usize {
        self.0.majority()
    }

    /// The client of each server, to look at its [`health`](LockClient::health).
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
    /// Nothing more is granted; call it again to go on waiting.
    pub async fn shutdown(&self, deadline: Duration) -> Result<(), ShutdownError> {
        let ends = join_all(self.0.clients.iter().map(|client| client.shutdown(deadline))).await;
        let left = ends.into_iter().filter_map(Result::err).max_by_key(|error| error.held);
        left.map_or(Ok(()), Err)
    }
}

impl Servers {
    fn majority(&self) -> usize {
        self.clients.len() / 2 + 1
    }

    /// The longest lease that may be asked for, which is how long a server that has restarted
    /// may have forgotten one.
    fn longest_lease(&self) -> Duration {
        self.clients[0].engine().settings.lease
    }
}

/// A lock on a majority of servers under one key: see [`RedLock::lock`].
#[derive(Debug, Clone)]
pub struct RedLockOn {
    servers: Arc<Servers>,
    key: Result<LockKey, KeyError>,
}

impl sealed::Sealed for RedLockOn {}

impl Target for RedLockOn {
    type Guard = RedLockGuard;

    fn client(&self) -> &LockClient {
        &self.servers.clients[0]
    }

    async fn acquire(
        self,
        asked: Asked,
        scope: Option<Scope>,
        patience: Patience,
    ) -> Result<RedLockGuard, AcquireError> {
        let servers = self.servers;
        let on = |client: &LockClient| SingleLock {
            client: client.clone(),
            kind: Kind::NonReentrant,
            key: self.key.clone(),
            mode: Mode::Write,
            permits: 0,
        };
        let request = on(&servers.clients[0]).request(asked)?;
        if request.terms.lease > servers.longest_lease() {
            return Err(InvalidOptions(format!(
                "a lease of {:?} is longer than the {:?} of this RedLock, for which servers that \
                 restarted are not counted: set a longer one where it is built",
                request.terms.lease,
                servers.longest_lease()
            ))
            .into());
        }
        if let Some(scope) = &scope
            && servers.clients.iter().any(|client| {
                let place = scope.place(client.engine().owners.client(), &request.key);
                place.hold().is_some_and(|hold| !hold.state().guards.none())
            })
        {
            return Err(AcquireError::AlreadyHeld { key: request.key });
        }
        let members: Vec<_> = servers.clients.iter().map(on).collect();
        let round = Round { servers: &servers, members: &members, asked, scope: &scope };
        let mut draining = servers.clients[0].engine().draining.subscribe();
        let granted = tokio::select! {
            biased;
            _ = draining.wait_for(|draining| *draining) => Err(AcquireError::Draining),
            granted = async {
                let permit = pass_gate(&servers, &request, patience).await?;
                Ok((permit, round.until_granted(&request, patience).await?))
            } => granted,
        };
        let (permit, guards) = granted?;
        let majority = servers.majority();
        Ok(RedLockGuard { key: request.key, guards, majority, _permit: permit })
    }

    async fn protect<F: Future>(guard: &RedLockGuard, work: F) -> Result<F::Output, Lost> {
        guard.protect(work).await
    }
}

async fn pass_gate(
    servers: &Servers,
    request: &Request,
    patience: Patience,
) -> Result<Permit, AcquireError> {
    let key = &request.key;
    match servers.gate.enter(key, Access::Write, patience.deadline.is_some()) {
        Entry::Admitted(permit) => Ok(permit),
        Entry::Busy => Err(patience.busy(request, None)),
        Entry::Full(waiters) => {
            Err(AcquireError::Overloaded(Overloaded { key: key.clone(), waiters }))
        }
        Entry::Queued(mut place) => {
            let limit = patience.or_within(Duration::ZERO);
            let admitted = tokio::time::timeout_at(limit, place.admitted()).await;
            admitted.map_err(|_| patience.busy(request, None))
        }
    }
}

/// What is asked of every server, again and again.
struct Round<'a> {
    servers: &'a Servers,
    members: &'a [SingleLock],
    asked: Asked,
    scope: &'a Option<Scope>,
}

/// What the servers said to one round.
#[derive(Default)]
struct Answers {
    granted: Vec<(LockGuard, Identity)>,
    refused: usize,
    unavailable: Option<Unavailable>,
    other: Option<AcquireError>,
}

impl Round<'_> {
    async fn until_granted(
        &self,
        request: &Request,
        patience: Patience,
    ) -> Result<Vec<LockGuard>, AcquireError> {
        let mut ears: Vec<Wakeups> = Vec::new();
        loop {
            let answers = self.ask_all().await;
            let held: Vec<_> = answers.granted.into_iter().map(|(guard, _)| guard).collect();
            if remaining(&held, self.servers.majority()) > Duration::ZERO {
                return Ok(held);
            }
            // Given back before anything else is tried.
            drop(held);
            if let Some(other) = answers.other {
                return Err(other);
            }
            if patience.is_over() {
                return Err(match answers.unavailable {
                    Some(unavailable) if answers.refused == 0 => unavailable.into(),
                    _ => patience.busy(request, None),
                });
            }
            if ears.is_empty() {
                ears = self.listen(request);
            }
            let limit = patience.or_within(Duration::ZERO);
            tokio::time::sleep_until(limit.min(Instant::now() + jittered(STAND_BACK))).await;
            let woken = select_all(ears.iter_mut().map(|ears| Box::pin(ears.woken())));
            let again = limit.min(Instant::now() + jittered(RETRY));
            let _ = tokio::time::timeout_at(again, woken).await;
            ears.iter_mut().for_each(Wakeups::listen);
        }
    }

    fn listen(&self, request: &Request) -> Vec<Wakeups> {
        let owner = crate::owner::OwnerId::permit();
        let kind = Kind::NonReentrant;
        let holder = crate::backend::Holder { kind, key: &request.key, owner: &owner };
        let wakeups = |member: &SingleLock| {
            let mut ears = member.client.engine().backend.wakeups(Topic::Turn(holder));
            ears.listen();
            ears
        };
        self.members.iter().map(wakeups).collect()
    }

    /// Asks all servers at once, and waits until it is clear what comes of it. Whoever has not
    /// answered then, or answers that it was restarted, is given back what it may have granted.
    async fn ask_all(&self) -> Answers {
        let started = Instant::now();
        let mut answers = Answers::default();
        let mut ids = HashSet::new();
        let mut asked: FuturesUnordered<_> =
            self.members.iter().map(|member| self.ask(member.clone())).collect();
        let mut enough_at = None;
        loop {
            let limit = enough_at.unwrap_or(started + crate::lease::MAX_LEASE);
            let Ok(Some(answer)) = tokio::time::timeout_at(limit, asked.next()).await else {
                return answers;
            };
            match answer {
                // Two addresses of one server are one server.
                Ok((guard, identity)) if ids.insert(identity.id.clone()) => {
                    answers.granted.push((guard, identity));
                }
                Ok((_, identity)) => {
                    tracing::warn!(
                        run_id = identity.id,
                        "two of the servers are one: counted once"
                    );
                    answers.refused += 1;
                }
                Err(AcquireError::Unavailable(why)) => answers.unavailable = Some(why),
                Err(AcquireError::Busy(_)) => answers.refused += 1,
                Err(other) => answers.other = Some(other),
            }
            if answers.granted.len() >= self.servers.majority() && enough_at.is_none() {
                enough_at = Some(Instant::now() + started.elapsed().max(LEAST_GRACE));
            }
            let lost = self.members.len() - asked.len() - answers.granted.len();
            if self.members.len() - lost < self.servers.majority() {
                return answers;
            }
        }
    }

    async fn ask(&self, member: SingleLock) -> Result<(LockGuard, Identity), AcquireError> {
        let backend = Arc::clone(&member.client.engine().backend);
        let at_once = Patience::of(Duration::ZERO);
        let guard = member.acquire(self.asked, self.scope.clone(), at_once).await?;
        // After the grant: a server that was up for so long now was up when it granted.
        let identity = backend.identity().await?;
        let longest = self.servers.longest_lease();
        if identity.up < longest {
            let (up, id) = (identity.up, &identity.id);
            return Err(Unavailable::unsent(format!(
                "server {id} started {up:?} ago and may have forgotten leases of up to {longest:?}"
            ))
            .into());
        }
        Ok((guard, identity))
    }
}

/// For how long a majority can be relied upon: `lease - elapsed - drift` of the one among them that
/// ends first.
fn remaining(guards: &[LockGuard], majority: usize) -> Duration {
    let mut left: Vec<_> = guards.iter().map(LockGuard::remaining).collect();
    left.sort_unstable_by(|one, other| other.cmp(one));
    left.get(majority - 1).copied().unwrap_or_default()
}

/// From half of it up to it.
fn jittered(span: Duration) -> Duration {
    let mut byte = [0_u8];
    let _ = getrandom::fill(&mut byte);
    span.mul_f64(0.5 + f64::from(byte[0]) / 512.0)
}

/// Proof that a majority of servers has granted the lock, until it is dropped, released or lost.
///
/// As a [`LockGuard`], but without a mode and without a fencing token: no server knows of all
/// grants, so none could number them.
#[must_use = "the lock is released as soon as the guard is dropped"]
#[derive(Debug)]
pub struct RedLockGuard {
    key: LockKey,
    guards: Vec<LockGuard>,
    majority: usize,
    _permit: Permit,
}

impl RedLockGuard {
    /// The key, as it was asked for.
    #[must_use]
    pub fn key(&self) -> &LockKey {
        &self.key
    }

    /// For how long the lock may still be relied upon if no renewal gets through, on this process'
    /// clock: until the majority's first lease ends, less a margin of a twentieth of the lease for
    /// clocks that run at different speeds. Zero once it is lost.
    #[must_use]
    pub fn remaining(&self) -> Duration {
        remaining(&self.guards, self.majority)
    }

    /// On how many servers it is held at this moment.
    #[must_use]
    pub fn servers_held(&self) -> usize {
        self.guards.iter().filter(|guard| guard.is_held()).count()
    }

    /// Whether a majority still holds at this moment.
    #[must_use]
    pub fn is_held(&self) -> bool {
        self.servers_held() >= self.majority
    }

    /// A future that resolves when too few servers are left for a majority. It does not borrow the
    /// guard.
    pub fn lost(&self) -> impl Future<Output = Lost> + Send + 'static {
        let mut signals: Vec<_> = self.guards.iter().map(LockGuard::lost).collect();
        let (majority, key) = (self.majority, self.key.clone());
        async move {
            let mut cause = LostCause::Expired;
            while signals.len() >= majority {
                // Polls every one of them: after a pause no timer has told any yet.
                let (lost, _, left) = select_all(signals).await;
                (cause, signals) = (lost.cause(), left);
            }
            Lost { key, cause }
        }
    }

    /// Runs `work` for as long as a majority holds: see [`LockView::protect`](crate::LockView::protect).
    ///
    /// # Errors
    ///
    /// [`Lost`] when the majority was lost first.
    ///
    /// # Cancel safety
    ///
    /// Dropping this drops the work. The guard stays.
    pub async fn protect<F: Future>(&self, work: F) -> Result<F::Output, Lost> {
        let mut lost = pin!(self.lost());
        let mut work = pin!(work);
        poll_fn(|context| {
            if let Poll::Ready(lost) = lost.as_mut().poll(context) {
                return Poll::Ready(Err(lost));
            }
            // After a pause the clock is ahead of every timer.
            if !self.is_held() {
                return Poll::Ready(Err(Lost { key: self.key.clone(), cause: LostCause::Expired }));
            }
            work.as_mut().poll(context).map(Ok)
        })
        .await
    }

    /// Releases the lock on every server and waits until a majority of those that granted it has
    /// confirmed that, which is enough for others to get it.
    ///
    /// # Errors
    ///
    /// [`ReleaseError::Lost`]: the lock had been lost before. [`ReleaseError::Unavailable`]: too few
    /// servers have confirmed; the release goes on in the background.
    ///
    /// # Cancel safety
    ///
    /// The releases go on in the background, as if the guard had been dropped.
    pub async fn release(self) -> Result<(), ReleaseError> {
        if !self.is_held() {
            let cause = LostCause::Expired;
            return Err(Lost { key: self.key.clone(), cause }.into());
        }
        let mut releases: FuturesUnordered<_> =
            self.guards.into_iter().map(LockGuard::release).collect();
        let (mut confirmed, mut failed) = (0, None);
        while let Some(released) = releases.next().await {
            match released {
                Ok(()) => confirmed += 1,
                Err(error) => failed = Some(error),
            }
            if confirmed >= self.majority {
                return Ok(());
            }
        }
        failed.map_or(Ok(()), Err)
    }
}
