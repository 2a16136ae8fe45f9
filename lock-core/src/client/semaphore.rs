//! A number of permits, each with a lease.

use std::{future::Future, time::Duration};

use lock_key::MAX_PERMITS;
use lock_store::{KeyError, Kind, LockKey, Mode, Unsupported};

use super::{
    LockClient,
    acquire::Acquire,
    lockable::{Lockable, SingleLock, sealed},
    scope::Scope,
};
use crate::{
    guard::{LockGuard, LostSignal},
    types::{
        AcquireError, AcquireOptions, EnsureError, InspectError, Lost, ReleaseError, WrongKind,
    },
};

/// A number of permits that all processes share: from [`LockClient::semaphore`].
///
/// A permit is a lease: that of a process that died returns when the lease ends. Permits are not
/// reentrant, go to the caller that has waited longest, and have no fencing token.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let locks = lock_core::LockClient::in_memory();
/// let printers = locks.semaphore("printers", 3);
/// let permit = printers.permit().acquire().await?;
/// assert_eq!(printers.free_permits().await?, 2);
/// permit.release().await?;
/// # Ok(()) }
/// ```
#[derive(Debug, Clone)]
pub struct Semaphore(SingleLock);

impl Semaphore {
    pub(crate) fn new(client: &LockClient, key: Result<LockKey, KeyError>, permits: u32) -> Self {
        let (client, kind, mode) = (client.clone(), Kind::Semaphore, Mode::Write);
        Self(SingleLock { client, kind, key, mode, permits, wanted_permits: 1 })
    }

    /// Prepares to acquire one permit.
    #[track_caller]
    pub fn permit(&self) -> Acquire<Semaphore> {
        Acquire::new(self.clone())
    }

    /// Prepares to acquire several permits at once: all of them, or none. Waiters are granted in the
    /// order of how long they have waited, and one that wants many is not passed by those behind it
    /// that want few: permits that are free meanwhile are kept for it.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let locks = lock_core::LockClient::in_memory();
    /// let memory_gb = locks.semaphore("worker:memory", 8);
    /// let large = memory_gb.permits(5).acquire().await?;
    /// assert_eq!(memory_gb.free_permits().await?, 3);
    /// # drop(large);
    /// # Ok(()) }
    /// ```
    ///
    /// Zero permits, or more than the semaphore has, are refused as
    /// [`AcquireError::InvalidOptions`]. More than one is unsupported on ZooKeeper, and more than 10,000 on
    /// Redisson's wire, where Redis keeps each by itself and answers no other client meanwhile.
    #[track_caller]
    pub fn permits(&self, permits: u32) -> Acquire<Semaphore> {
        Acquire::new(Self(SingleLock { wanted_permits: permits, ..self.0.clone() }))
    }

    /// Sets the number of permits on Redisson's wire, where Redis keeps it, including those in use. If
    /// more are in use, the next is granted when enough have been released. Returns the number of free
    /// permits, which is negative while too many are in use.
    ///
    /// # Errors
    ///
    /// See [`InspectError`]. On every other store this is [`InspectError::Unsupported`]: the number is
    /// each client's own. So are more than 1,000,000 permits, which no acquisition can name. After [`InspectError::Unavailable`] it may have been done.
    pub async fn set_permits(&self, permits: u32) -> Result<i64, InspectError> {
        if permits > MAX_PERMITS {
            let what = format!("{permits} permits of a semaphore: it has at most {MAX_PERMITS}");
            return Err(Unsupported::new(what).into());
        }
        let key = self.0.key.clone()?;
        let inner = self.0.client.inner();
        inner.tasks.attach_runtime()?;
        let free = inner.store.set_permits(key.clone(), permits).await?;
        Ok(free.ok_or(WrongKind { key, kind: Kind::Semaphore })?)
    }

    /// Returns the number of permits that are free in the store at the time of the call: this
    /// semaphore's permits less those in use, which is negative where other clients give a greater
    /// number. On Redisson's wire the number in Redis counts.
    ///
    /// # Errors
    ///
    /// See [`InspectError`].
    pub async fn free_permits(&self) -> Result<i64, InspectError> {
        let key = self.0.key.clone()?;
        let inner = self.0.client.inner();
        inner.tasks.attach_runtime()?;
        let free = inner.store.free_permits(key.clone(), self.0.permits).await?;
        Ok(free.ok_or(WrongKind { key, kind: Kind::Semaphore })?)
    }

    pub(crate) fn into_target(self) -> SingleLock {
        self.0
    }
}

impl sealed::Sealed for Semaphore {}

impl Lockable for Semaphore {
    type Guard = PermitGuard;

    fn client(&self) -> &LockClient {
        &self.0.client
    }

    async fn acquire(
        self,
        options: AcquireOptions,
        _scope: Option<Scope>,
        wait: Duration,
    ) -> Result<PermitGuard, AcquireError> {
        // Never in a scope: every permit is one more.
        let permits = self.0.wanted_permits;
        self.0.acquire(options, None, wait).await.map(|guard| PermitGuard { guard, permits })
    }

    async fn protect<F: Future>(guard: &PermitGuard, work: F) -> Result<F::Output, Lost> {
        guard.protect(work).await
    }
}

/// One permit of a [`Semaphore`], or several, until this is dropped, released or lost.
///
/// As a [`LockGuard`], but without a mode and without a fencing token: others hold permits at the
/// same time.
#[must_use = "the permit is returned as soon as the guard is dropped"]
#[derive(Debug)]
pub struct PermitGuard {
    guard: LockGuard,
    permits: u32,
}

impl PermitGuard {
    /// Returns how many permits it holds.
    #[must_use]
    pub fn permits(&self) -> u32 {
        self.permits
    }

    /// Returns the semaphore's key.
    #[must_use]
    pub fn key(&self) -> &LockKey {
        self.guard.key()
    }

    /// Returns for how long the permit may still be relied upon: see [`LockGuard::remaining`].
    #[must_use]
    pub fn remaining(&self) -> Duration {
        self.guard.remaining()
    }

    /// Returns whether the permit is still held at this moment.
    #[must_use]
    pub fn is_held(&self) -> bool {
        self.guard.is_held()
    }

    /// Makes sure that the permit can be relied upon for `wanted` at least: see
    /// [`LockGuard::ensure`].
    ///
    /// # Errors
    ///
    /// [`EnsureError`]: the permit is lost, the store did not answer, or it is too long.
    ///
    /// # Cancel safety
    ///
    /// Dropping this leaves the permit as it is; the renewal may have been executed.
    pub async fn ensure(&self, wanted: Duration) -> Result<(), EnsureError> {
        self.guard.ensure(wanted).await
    }

    /// Lets the permit last for at least `by` from now on: see [`LockGuard::extend_max_hold`].
    ///
    /// # Errors
    ///
    /// [`Lost`] when the permit was lost before.
    pub fn extend_max_hold(&self, by: Duration) -> Result<(), Lost> {
        self.guard.extend_max_hold(by)
    }

    /// Returns a future that resolves when the permit is lost. It does not borrow the guard.
    pub fn lost(&self) -> LostSignal {
        self.guard.lost()
    }

    /// Runs `work` for as long as the permit is held: see [`LockGuard::protect`].
    ///
    /// # Errors
    ///
    /// [`Lost`] when the permit was lost first.
    ///
    /// # Cancel safety
    ///
    /// Dropping this drops the work. The guard stays.
    pub async fn protect<F: Future>(&self, work: F) -> Result<F::Output, Lost> {
        self.guard.protect(work).await
    }

    /// Resolves when the release of the permits is requested: see [`LockGuard::release_requested`].
    ///
    /// # Cancel safety
    ///
    /// Dropping this stops listening. The guard stays.
    pub async fn release_requested(&self) {
        self.guard.release_requested().await;
    }

    /// Returns the permit and waits until the store has confirmed it.
    ///
    /// # Errors
    ///
    /// As for [`LockGuard::release`].
    ///
    /// # Cancel safety
    ///
    /// The release continues in the background, as if the guard had been dropped.
    pub async fn release(self) -> Result<(), ReleaseError> {
        self.guard.release().await
    }
}
