use std::{future::Future, time::Duration};

use crate::{
    AcquireError, Kind, LockError, Scope,
    request::Patience,
    target::{SingleLock, Target},
    terms::Asked,
};

/// Something lockable that is asked for: one lock (from [`LockClient::read`],
/// [`LockClient::write`] and the like), several at once ([`LockClient::multi_lock`]), a permit of a
/// semaphore ([`Semaphore::permit`]) or a lock on a majority of servers ([`RedLock::lock`]).
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
///
/// [`LockClient::read`]: crate::LockClient::read
/// [`LockClient::write`]: crate::LockClient::write
/// [`LockClient::multi_lock`]: crate::LockClient::multi_lock
/// [`Semaphore::permit`]: crate::Semaphore::permit
/// [`RedLock::lock`]: crate::RedLock::lock
#[must_use = "nothing is asked for until acquire, try_acquire or run is awaited"]
#[derive(Debug, Clone)]
pub struct Acquire<T = SingleLock> {
    pub(crate) target: T,
    scope: Option<Scope>,
    wait: Duration,
    asked: Asked,
}

impl<T: Target> Acquire<T> {
    pub(crate) fn new(target: T) -> Self {
        let wait = target.client().engine().settings.wait;
        Self { target, scope: Scope::current(), wait, asked: Asked::default() }
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

    /// Acquires it, waiting for other holders for as long as [`wait`](Self::wait) says.
    ///
    /// Waiters of one process for one key are served first come first served, and only the first
    /// of them asks Redis. Between processes one may be overtaken; but of those who are refused the
    /// one that has waited longest is next, so neither readers nor writers starve, as long as single
    /// holds are shorter than the client's [`yielding`](crate::LockClientBuilder::yielding). The fair
    /// kinds serve all waiters of all processes in order of their arrival at Redis.
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
    pub async fn acquire(self) -> Result<T::Guard, AcquireError> {
        let patience = Patience::of(self.wait);
        self.target.acquire(self.asked, self.scope, patience).await
    }

    /// Acquires it if nobody else holds it and nobody who waits is next, and never waits for
    /// another holder. (It does wait for the answer, and for a release of this very process that is
    /// on its way.)
    ///
    /// # Errors
    ///
    /// See [`AcquireError`]: after all of them but [`Unavailable`](AcquireError::Unavailable)
    /// nothing is held.
    ///
    /// # Cancel safety
    ///
    /// As for [`acquire`](Self::acquire).
    pub async fn try_acquire(self) -> Result<T::Guard, AcquireError> {
        let patience = Patience::of(Duration::ZERO);
        self.target.acquire(self.asked, self.scope, patience).await
    }

    /// Acquires it, runs `work` for as long as it is held, and releases it in the background.
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
        let scope = self.scope.take().unwrap_or_else(|| self.target.client().scope());
        let guard = self.in_scope(&scope).acquire().await?;
        Ok(T::protect(&guard, scope.run(work)).await?)
    }
}

impl Acquire<SingleLock> {
    /// What kind of lock it is: for code in which that is known at run time only. Default:
    /// [`Kind::ReadWrite`], or what the method that made this says.
    pub fn kind(mut self, kind: Kind) -> Self {
        self.target.kind = kind;
        self
    }
}
