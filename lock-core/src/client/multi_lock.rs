//! Several locks at once, all or nothing.

use std::{future::Future, pin::pin, slice, time::Duration};

use futures_util::{
    FutureExt, TryFutureExt,
    future::{Either, join_all, select_all, try_join_all},
};
use lock_store::{FencingToken, InvalidOptions, LockKey};

use super::{
    LockClient,
    acquire::Acquire,
    lockable::{Lockable, SingleLock, sealed},
    scope::Scope,
    semaphore::Semaphore,
    several_clients::{self, ClientGroup},
};
use crate::{
    acquire,
    guard::{LockGuard, LockView, run_while_held},
    hold::WaitDeadline,
    types::{AcquireError, AcquireOptions, EnsureError, Lost, ReleaseError},
};

/// One of the locks of a [multi-lock](LockClient::multi_lock): made from the [`Acquire`] of a
/// single lock.
#[derive(Debug, Clone)]
pub struct Member(pub(crate) SingleLock);

impl From<Acquire> for Member {
    fn from(lock: Acquire) -> Self {
        Self(lock.target)
    }
}

impl From<Acquire<Semaphore>> for Member {
    fn from(permit: Acquire<Semaphore>) -> Self {
        Self(permit.target.into_target())
    }
}

/// Several locks that are acquired all or nothing: from [`LockClient::multi_lock`].
#[derive(Debug, Clone)]
pub struct MultiLock {
    client: LockClient,
    members: Vec<SingleLock>,
}

impl MultiLock {
    pub(crate) fn new(client: &LockClient, members: impl Iterator<Item = SingleLock>) -> Self {
        Self { client: client.clone(), members: members.collect() }
    }

    /// Returns the requests of each client, the first of which has the first member, in the order of
    /// their keys.
    fn groups(
        self,
        options: &AcquireOptions,
        scope: Option<&Scope>,
    ) -> Result<Vec<ClientGroup>, AcquireError> {
        if self.members.is_empty() {
            let why = "a multi-lock without members locks nothing";
            return Err(InvalidOptions::new(why.to_owned()).into());
        }
        if options.replace.is_some() {
            let why = "a holder is replaced under one key, and a multi-lock has several";
            return Err(InvalidOptions::new(why.to_owned()).into());
        }
        let mut groups: Vec<ClientGroup> = Vec::with_capacity(1);
        for member in self.members {
            let client = member.client.clone();
            let request = member.request(options.clone(), scope)?;
            let id = client.inner().owners.client();
            match groups.iter_mut().find(|group| group.client.inner().owners.client() == id) {
                Some(group) => group.requests.push(request),
                None => groups.push(ClientGroup { client, requests: vec![request] }),
            }
        }
        for ClientGroup { requests, .. } in &mut groups {
            requests.sort_by(|one, other| one.key.cmp(&other.key));
            if requests.windows(2).any(|pair| pair[0].key == pair[1].key) {
                // Without the key: this error is logged.
                return Err(InvalidOptions::new("a multi-lock names one key twice").into());
            }
        }
        Ok(groups)
    }
}

impl sealed::Sealed for MultiLock {}

impl Lockable for MultiLock {
    type Guard = MultiGuard;

    fn client(&self) -> &LockClient {
        &self.client
    }

    async fn acquire(
        self,
        options: AcquireOptions,
        scope: Option<Scope>,
        wait: Duration,
    ) -> Result<MultiGuard, AcquireError> {
        let wait_deadline = WaitDeadline::of(wait);
        let groups = self.groups(&options, scope.as_ref())?;
        let entered = match groups.as_slice() {
            [ClientGroup { client, requests }] => {
                acquire::enter_all(client.inner(), requests, wait_deadline).await
            }
            groups => several_clients::enter(groups, wait_deadline).await,
        };
        let guards = entered.inspect_err(|error| {
            for ClientGroup { client, requests } in &groups {
                for request in requests {
                    client.inner().report_refused(request, &wait_deadline, error);
                }
            }
        })?;
        Ok(MultiGuard(Guards::Many(guards)))
    }

    async fn protect<F: Future>(guard: &MultiGuard, work: F) -> Result<F::Output, Lost> {
        guard.protect(work).await
    }
}

/// One lock, or several that are acquired all or nothing: for code that knows how many at run time
/// only. One is acquired as such: nothing is collected or sorted for it.
#[derive(Debug, Clone)]
pub enum OneOrMany {
    /// One.
    One(SingleLock),
    /// Several, or none.
    Many(MultiLock),
}

impl sealed::Sealed for OneOrMany {}

impl Lockable for OneOrMany {
    type Guard = MultiGuard;

    fn client(&self) -> &LockClient {
        match self {
            Self::One(lock) => lock.client(),
            Self::Many(locks) => locks.client(),
        }
    }

    fn acquire(
        self,
        options: AcquireOptions,
        scope: Option<Scope>,
        wait: Duration,
    ) -> impl Future<Output = Result<MultiGuard, AcquireError>> + Send {
        match self {
            Self::One(lock) => Either::Left(lock.acquire(options, scope, wait).map_ok(Into::into)),
            // Rare, and allocated separately: requests for one lock need no room for it.
            Self::Many(locks) => Either::Right(locks.acquire(options, scope, wait).boxed()),
        }
    }

    async fn protect<F: Future>(guard: &MultiGuard, work: F) -> Result<F::Output, Lost> {
        guard.protect(work).await
    }
}

/// Proof that several locks are held, until it is dropped, released or one of them is lost.
#[must_use = "the locks are released as soon as the guard is dropped"]
#[derive(Debug)]
pub struct MultiGuard(Guards);

#[derive(Debug)]
enum Guards {
    One(LockGuard),
    Many(Vec<LockGuard>),
}

/// A lock that is held where several may be.
impl From<LockGuard> for MultiGuard {
    fn from(guard: LockGuard) -> Self {
        Self(Guards::One(guard))
    }
}

impl MultiGuard {
    pub(crate) fn guards(&self) -> &[LockGuard] {
        match &self.0 {
            Guards::One(guard) => slice::from_ref(guard),
            Guards::Many(guards) => guards,
        }
    }

    /// Returns the keys, sorted; those of one client after the other, if there are several.
    pub fn keys(&self) -> impl Iterator<Item = &LockKey> {
        self.guards().iter().map(LockGuard::key)
    }

    /// Returns the fencing token of one of the locks; `None` when it is not one of them, or a
    /// semaphore. If several clients have a lock of this key, that of the first of them: see
    /// [`views`](Self::views).
    #[must_use]
    pub fn fencing_token(&self, key: &str) -> Option<FencingToken> {
        let guard = self.guards().iter().find(|guard| guard.key().as_str() == key)?;
        guard.hold().state().token
    }

    /// Returns views of the single locks, in the order of their keys. A view can be passed around
    /// and keeps nothing held.
    pub fn views(&self) -> impl Iterator<Item = LockView> {
        self.guards().iter().map(LockGuard::view)
    }

    /// Returns for how long all of them may still be relied upon if no renewal gets through: see
    /// [`LockGuard::remaining`].
    #[must_use]
    pub fn remaining(&self) -> Duration {
        self.guards().iter().map(LockGuard::remaining).min().unwrap_or_default()
    }

    /// Returns whether all of them are still held at this moment.
    #[must_use]
    pub fn is_held(&self) -> bool {
        self.guards().iter().all(LockGuard::is_held)
    }

    /// Makes sure that all of them can be relied upon for `wanted` at least, by renewals if need be:
    /// see [`LockView::ensure`].
    ///
    /// # Errors
    ///
    /// The first error. Others may have been renewed.
    ///
    /// # Cancel safety
    ///
    /// Dropping this leaves the locks as they are; renewals may have been executed.
    pub async fn ensure(&self, wanted: Duration) -> Result<(), EnsureError> {
        try_join_all(self.guards().iter().map(|guard| guard.ensure(wanted))).await.map(drop)
    }

    /// Lets all of them last for at least `by` from now on, whatever their `max_hold`: see
    /// [`LockView::extend_max_hold`].
    ///
    /// # Errors
    ///
    /// [`Lost`] when one was lost before.
    pub fn extend_max_hold(&self, by: Duration) -> Result<(), Lost> {
        self.guards().iter().try_for_each(|guard| guard.extend_max_hold(by))
    }

    /// Returns a future that resolves when the first of them is lost. It does not borrow the guard.
    pub fn lost(&self) -> impl Future<Output = Lost> + Send + 'static + use<> {
        match &self.0 {
            Guards::One(guard) => Either::Left(guard.lost()),
            Guards::Many(guards) => {
                Either::Right(select_all(guards.iter().map(LockGuard::lost)).map(|first| first.0))
            }
        }
    }

    /// Returns a future that resolves when work under them must stop: see [`LockView::stopped`].
    pub(crate) fn stopped(&self) -> impl Future<Output = Lost> + Send + 'static + use<> {
        match &self.0 {
            Guards::One(guard) => Either::Left(guard.view().stopped()),
            Guards::Many(_) => Either::Right(self.lost()),
        }
    }

    /// Runs `work` for as long as all of them are held: see [`LockView::protect`].
    ///
    /// # Errors
    ///
    /// [`Lost`] when one of them was lost first.
    ///
    /// # Cancel safety
    ///
    /// Dropping this drops the work. The guard stays.
    pub async fn protect<F: Future>(&self, work: F) -> Result<F::Output, Lost> {
        let work = pin!(work);
        let check = || self.guards().iter().try_for_each(|guard| guard.hold().check_for_work());
        run_while_held(|| self.stopped(), check, work).await
    }

    /// Resolves when the release of one of them is requested: see [`LockGuard::release_requested`].
    ///
    /// # Cancel safety
    ///
    /// Dropping this stops listening. The guard stays.
    pub async fn release_requested(&self) {
        select_all(self.guards().iter().map(|guard| Box::pin(guard.release_requested()))).await;
    }

    /// Releases all of them and waits until the store has confirmed it.
    ///
    /// # Errors
    ///
    /// The first error, when all were released or tried: see [`LockGuard::release`].
    ///
    /// # Cancel safety
    ///
    /// The releases continue in the background, as if the guard had been dropped.
    pub async fn release(self) -> Result<(), ReleaseError> {
        match self.0 {
            Guards::One(guard) => guard.release().await,
            Guards::Many(guards) => {
                join_all(guards.into_iter().map(LockGuard::release)).await.into_iter().collect()
            }
        }
    }
}
