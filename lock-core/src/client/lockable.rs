//! The locks that the one builder can acquire.

use std::{fmt, future::Future, time::Duration};

use futures_util::{FutureExt, future::Either};
use lock_key::MAX_PERMITS;
use lock_store::{InvalidOptions, KeyError, Kind, LockKey, Mode, Unsupported};

use super::{LockClient, replace, scope::Scope};
use crate::{
    acquire,
    guard::LockGuard,
    hold::{LockRequest, WaitDeadline},
    types::{AcquireError, AcquireOptions, Lost, check_hold_options},
};

/// A lock, or several, that an [`Acquire`](crate::Acquire) can acquire. Other crates cannot
/// implement it.
pub trait Lockable: Clone + fmt::Debug + Send + Sync + sealed::Sealed {
    /// Proof that it is held.
    type Guard: Send;

    #[doc(hidden)]
    fn client(&self) -> &LockClient;

    #[doc(hidden)]
    fn acquire(
        self,
        options: AcquireOptions,
        scope: Option<Scope>,
        wait: Duration,
    ) -> impl Future<Output = Result<Self::Guard, AcquireError>> + Send;

    #[doc(hidden)]
    fn protect<F: Future>(
        guard: &Self::Guard,
        work: F,
    ) -> impl Future<Output = Result<F::Output, Lost>>;
}

pub(crate) mod sealed {
    pub trait Sealed {}
}

/// One lock under one key.
#[derive(Debug, Clone)]
pub struct SingleLock {
    pub(crate) client: LockClient,
    pub(crate) kind: Kind,
    pub(crate) key: Result<LockKey, KeyError>,
    pub(crate) mode: Mode,
    /// How many a semaphore has.
    pub(crate) permits: u32,
    /// How many of them are wanted; one for every other kind.
    pub(crate) wanted_permits: u32,
}

impl SingleLock {
    /// Checks everything that can be checked before anything is sent.
    pub(crate) fn request(
        self,
        options: AcquireOptions,
        scope: Option<&Scope>,
    ) -> Result<LockRequest, AcquireError> {
        let (kind, mode) = (self.kind, self.mode);
        if !kind.supports(mode) {
            let why = format!(
                "a {kind} lock has no {mode} mode: acquire it in write mode, or use read_write"
            );
            return Err(InvalidOptions::new(why).into());
        }
        if kind == Kind::Semaphore && self.permits == 0 {
            let why = "a semaphore without permits is never granted: set its number of permits";
            return Err(InvalidOptions::new(why.to_owned()).into());
        }
        if kind == Kind::Semaphore && self.permits > MAX_PERMITS {
            let why = format!(
                "a semaphore of {} permits is too large: at most {MAX_PERMITS} are allowed",
                self.permits
            );
            return Err(InvalidOptions::new(why).into());
        }
        if kind == Kind::Semaphore && !(1..=self.permits).contains(&self.wanted_permits) {
            let why = format!(
                "{} permits of a semaphore that has {} are never granted: acquire at least one, \
                 and at most as many as it has",
                self.wanted_permits, self.permits
            );
            return Err(InvalidOptions::new(why).into());
        }
        let hold_options = options.hold_options(&self.client.inner().settings);
        check_hold_options(&options, &hold_options)?;
        if let Some(lease) = self.client.inner().store.session_lease()
            && lease != hold_options.lease
        {
            let longer = hold_options.lease;
            let what = format!(
                "a lease of {longer:?}: every lock has the lease of its session, {lease:?}"
            );
            return Err(Unsupported::new(what).into());
        }
        if options.replace.is_some() && (mode == Mode::Read || kind == Kind::Semaphore) {
            let why = "a holder is replaced by a writer alone: drop replace_after for a reader and for \
                       a permit";
            return Err(InvalidOptions::new(why.to_owned()).into());
        }
        if options.at_least.is_some() && self.client.inner().store.session_lease().is_some() {
            let what = "`hold_at_least`: a lock ends with the session of its process";
            return Err(Unsupported::new(what).into());
        }
        Ok(LockRequest {
            kind,
            key: self.key?,
            mode,
            permits: self.permits,
            wanted_permits: self.wanted_permits,
            options,
            hold_options,
            scope: scope.map(Scope::holds),
        })
    }
}

impl SingleLock {
    /// Acquires it, and waits for other holders.
    pub(super) fn enter(
        self,
        options: AcquireOptions,
        scope: Option<Scope>,
        wait: Duration,
    ) -> impl Future<Output = Result<LockGuard, AcquireError>> + Send {
        let client = self.client.clone();
        // Before the future: an async function would have room for it twice, and thousands wait.
        let request = self.request(options, scope.as_ref());
        async move {
            let wait_deadline = WaitDeadline::of(wait);
            let request = match &request {
                Ok(request) => request,
                Err(refusal) => return Err(refusal.clone()),
            };
            acquire::enter(client.inner(), request, wait_deadline).await
        }
    }
}

impl sealed::Sealed for SingleLock {}

impl Lockable for SingleLock {
    type Guard = LockGuard;

    fn client(&self) -> &LockClient {
        &self.client
    }

    fn acquire(
        self,
        options: AcquireOptions,
        scope: Option<Scope>,
        wait: Duration,
    ) -> impl Future<Output = Result<LockGuard, AcquireError>> + Send {
        match options.replace.as_deref().copied() {
            None => Either::Left(self.enter(options, scope, wait)),
            // Rare, and allocated separately.
            Some(how) => Either::Right(replace::acquire(self, options, scope, wait, how).boxed()),
        }
    }

    async fn protect<F: Future>(guard: &LockGuard, work: F) -> Result<F::Output, Lost> {
        guard.protect(work).await
    }
}
