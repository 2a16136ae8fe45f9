use std::{future::Future, sync::Arc, time::Duration};

use tokio::time::Instant;

use crate::{
    AcquireError, KeyError, LockClient, LockError, LockGuard, LockKey, Mode, Scope,
    contend::{self, Request},
    reenter::reenter,
    settings::check_terms,
    terms::Asked,
};

/// The longest wait that makes a difference.
const FOREVER: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// A lock that is asked for: from [`LockClient::read`] and [`LockClient::write`].
///
/// ```
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # use std::time::Duration;
/// # let locks = lock_core::LockClient::in_memory();
/// let guard = locks
///     .write("order:42")
///     .wait(Duration::from_secs(2))
///     .lease(Duration::from_secs(10))
///     .acquire()
///     .await?;
/// // ... nobody else, in any process, holds "order:42" ...
/// guard.release().await?;
/// # Ok(()) }
/// ```
#[must_use = "nothing is asked for until acquire, try_acquire or run is awaited"]
#[derive(Debug, Clone)]
pub struct Acquire {
    client: LockClient,
    key: Result<LockKey, KeyError>,
    mode: Mode,
    scope: Option<Scope>,
    wait: Duration,
    asked: Asked,
}

impl Acquire {
    pub(crate) fn new(client: &LockClient, mode: Mode, key: Result<LockKey, KeyError>) -> Self {
        let settings = &client.engine().settings;
        Self {
            key,
            mode,
            scope: Scope::current(),
            wait: settings.wait,
            asked: Asked::default(),
            client: client.clone(),
        }
    }

    /// How long [`acquire`](Self::acquire) waits for other holders, from the call, on this process'
    /// clock. Zero waits for nobody, as [`try_acquire`](Self::try_acquire). Default: the client's,
    /// which is 1 s unless set.
    pub fn wait(mut self, wait: Duration) -> Self {
        self.wait = wait;
        self
    }

    /// How long Redis keeps the lock after the last sign of life, on Redis' clock, from 100 ms to a
    /// year. It says how long others are shut out when this process dies, not how long the work may
    /// take: renewal goes on in any case. Default: the client's, which is 30 s unless set.
    pub fn lease(mut self, lease: Duration) -> Self {
        self.asked.lease = Some(lease);
        self
    }

    /// Whether the lease is renewed while the guard lives. Without it the lock is lost when the
    /// lease ends. Default: `true`.
    pub fn renew(mut self, renew: bool) -> Self {
        self.asked.renew = Some(renew);
        self
    }

    /// The longest that the lock may be held, from the grant, on this process' clock. When it is
    /// over, the lock is lost and released at once. Default: no limit.
    pub fn max_hold(mut self, max_hold: Duration) -> Self {
        self.asked.max_hold = Some(max_hold);
        self
    }

    /// Acquires in `scope` instead of the ambient one.
    pub fn in_scope(mut self, scope: &Scope) -> Self {
        self.scope = Some(scope.clone());
        self
    }

    /// Acquires the lock, waiting for other holders for as long as [`wait`](Self::wait) says.
    ///
    /// Waiters of one process for one key are served first come first served, and only the first
    /// of them asks Redis. Between processes one may be overtaken; but of those who are refused the
    /// one that has waited longest is next, so neither readers nor writers starve, as long as single
    /// holds are shorter than the client's [`yielding`](crate::LockClientBuilder::yielding).
    ///
    /// # Errors
    ///
    /// See [`AcquireError`]: after all of them but [`Unavailable`](AcquireError::Unavailable)
    /// nothing is held.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future at any point gives up the place in the queue. Whatever Redis may have
    /// granted by then is released at once in the background; if Redis cannot be reached, it is
    /// free when the lease ends.
    pub async fn acquire(self) -> Result<LockGuard, AcquireError> {
        let now = Instant::now();
        let deadline = (!self.wait.is_zero()).then(|| now + self.wait.min(FOREVER));
        self.acquire_until(now, deadline).await
    }

    /// Acquires the lock if nobody else holds it and nobody who waits is next, and never waits for
    /// another holder. (It does wait
    /// for the answer, and for a release of this very process that is on its way.)
    ///
    /// # Errors
    ///
    /// See [`AcquireError`]: after all of them but [`Unavailable`](AcquireError::Unavailable)
    /// nothing is held.
    ///
    /// # Cancel safety
    ///
    /// As for [`acquire`](Self::acquire).
    pub async fn try_acquire(self) -> Result<LockGuard, AcquireError> {
        self.acquire_until(Instant::now(), None).await
    }

    /// Acquires the lock, runs `work` for as long as it is held, and releases it in the background.
    ///
    /// Inside, the lock is reentrant: the work runs in the scope of the acquisition, or in one of
    /// its own. When the lock is lost, the work is dropped where it stands.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let locks = lock_core::LockClient::in_memory();
    /// let sum = locks.write("ledger").run(async { 1 + 1 }).await?;
    /// assert_eq!(sum, 2);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    ///
    /// [`LockError::Acquire`]: the work did not start. [`LockError::Lost`]: it was cut short.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future drops the work and releases the lock in the background.
    pub async fn run<F: Future>(mut self, work: F) -> Result<F::Output, LockError> {
        let scope = self.scope.take().unwrap_or_else(|| self.client.scope());
        let guard = self.in_scope(&scope).acquire().await?;
        Ok(guard.protect(scope.run(work)).await?)
    }

    async fn acquire_until(
        self,
        asked_at: Instant,
        deadline: Option<Instant>,
    ) -> Result<LockGuard, AcquireError> {
        let engine = self.client.engine();
        engine.tasks.enter();
        let (key, mode, asked) = (self.key?, self.mode, self.asked);
        let terms = asked.terms(engine.settings.lease);
        check_terms(&terms)?;
        let request = Request { key, mode, asked, terms, asked_at, deadline };
        let Some(scope) = self.scope else {
            let hold = contend::acquire(engine, &request).await?;
            return Ok(Self::granted(hold, mode));
        };

        // Two acquisitions of one scope: the second enters what the first is still acquiring.
        let place = scope.place(engine.owners.client(), &request.key);
        let turn_by = deadline.unwrap_or(asked_at + engine.settings.command_timeout);
        let _turn = tokio::time::timeout_at(turn_by, place.turn.lock())
            .await
            .map_err(|_| request.busy(None))?;
        if let Some(hold) = place.hold()
            && reenter(&hold, &request).await?
        {
            return Ok(LockGuard::new(hold, mode));
        }
        let hold = contend::acquire(engine, &request).await?;
        place.set(&hold);
        Ok(Self::granted(hold, mode))
    }

    fn granted(hold: Arc<crate::hold::Hold>, mode: Mode) -> LockGuard {
        hold.engine.schedule.add(&hold);
        LockGuard::new(hold, mode)
    }
}
