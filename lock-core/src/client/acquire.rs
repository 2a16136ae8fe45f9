use std::{future::Future, pin::pin, time::Duration};

use super::{
    lockable::{Lockable, SingleLock},
    scope::Scope,
};
use crate::types::{AcquireError, AcquireOptions, CallSite, Kind, LockError};

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
    asked: AcquireOptions,
}

impl<T: Lockable> Acquire<T> {
    #[track_caller]
    pub(crate) fn new(target: T) -> Self {
        let wait = target.client().engine().settings.wait;
        Self { target, scope: Scope::current(), wait, asked: AcquireOptions::at(CallSite::here()) }
    }

    /// How long [`acquire`](Self::acquire) waits for other holders, from the call, on this process'
    /// clock. Zero waits for nobody, as [`try_acquire`](Self::try_acquire). Default: the client's,
    /// which is 1 s unless set.
    pub fn wait(mut self, wait: Duration) -> Self {
        self.wait = wait;
        self
    }

    /// Shortens the wait to `limit` where it is longer: for a caller whose own time is limited.
    pub fn wait_at_most(mut self, limit: Duration) -> Self {
        self.wait = self.wait.min(limit);
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

    /// How often the lock may go from one waiter of this process to the next, without the store,
    /// before others get it. A lock that is written (or has one holder; not a fair one) does so twice
    /// as often as waiters stood behind the first when it was granted, at most this many times, and
    /// for a third of the lease at most. Each hold is a lock of its own, with its own guard and
    /// fencing token.
    ///
    /// Zero: every acquisition asks the store. Default: the client's
    /// [`max_local_handoffs`](crate::LockClientBuilder::max_local_handoffs), which is 63, the most,
    /// unless set.
    pub fn max_local_handoffs(mut self, max_local_handoffs: u32) -> Self {
        self.asked.max_local_handoffs = Some(max_local_handoffs);
        self
    }

    /// How many readers of this process may read under one hold of the store, with guards of their
    /// own and one fencing token: those who come while the first of them asks or reads, with the same
    /// lease and renewed, for a third of it and the client's
    /// [`fairness_timeout`](crate::LockClientBuilder::fairness_timeout) at most. A writer of another process waits
    /// for one read and one more at the most. A fair read/write lock is never shared.
    ///
    /// One: every reader asks the store. Default: the client's
    /// [`max_shared_readers`](crate::LockClientBuilder::max_shared_readers), which is 64, the most,
    /// unless set.
    pub fn max_shared_readers(mut self, max_shared_readers: u32) -> Self {
        self.asked.max_shared_readers = Some(max_shared_readers);
        self
    }

    /// How many acquisitions of this process may wait for this key, or for one of these keys, before
    /// this one is refused at once as [`Overloaded`](AcquireError::Overloaded), instead of becoming
    /// one more. With zero it waits for nobody: what is free is still granted, and so is what this
    /// process is about to release. Waiters of other processes do not count. Default: the client's
    /// [`max_waiters`](crate::LockClientBuilder::max_waiters).
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # use lock_core::AcquireError;
    /// # let locks = lock_core::LockClient::in_memory();
    /// let _guard = locks.write("report").max_waiters(0).acquire().await?;
    /// let refused = locks.write("report").max_waiters(0).acquire().await;
    /// assert!(matches!(refused, Err(AcquireError::Overloaded(_))));
    /// # Ok(()) }
    /// ```
    pub fn max_waiters(mut self, max_waiters: usize) -> Self {
        self.asked.max_waiters = Some(max_waiters);
        self
    }

    /// Whether this acquisition fails as [`Unavailable`](AcquireError::Unavailable) at once, and not
    /// after the command timeout, while the store is known not to answer: from the first acquisition
    /// of this client that was not answered until a probe in the background is, every 250 ms. In a
    /// cluster that is known slot by slot. Default: `false`, every acquisition asks.
    pub fn fail_fast(mut self, fail_fast: bool) -> Self {
        self.asked.fail_fast = fail_fast;
        self
    }

    /// Acquires in `scope` instead of the ambient one.
    pub fn in_scope(mut self, scope: &Scope) -> Self {
        self.scope = Some(scope.clone());
        self
    }

    /// Names the place that asks, instead of where this was made in the source: for code that asks
    /// on behalf of an attribute or a policy. See [`LockClient::lock_order_inversions`].
    ///
    /// [`LockClient::lock_order_inversions`]: crate::LockClient::lock_order_inversions
    #[doc(hidden)]
    pub fn called_from(mut self, name: &str) -> Self {
        self.asked.site = CallSite::named(name);
        self
    }

    /// Says nothing of the order of locks: for code that goes on while this waits, and has said in
    /// which order it is asked for before.
    #[doc(hidden)]
    pub fn out_of_order(mut self) -> Self {
        self.asked.in_order = false;
        self
    }

    /// Acquires it, waiting for other holders for as long as [`wait`](Self::wait) says.
    ///
    /// Waiters of one process for one key are served first come first served, and only the first
    /// of them asks Redis, if the holder does not leave it the lock as it is (see
    /// [`max_local_handoffs`](Self::max_local_handoffs)). Between processes one may be overtaken; but of those who are refused the
    /// one that has waited longest is next, so neither readers nor writers starve, as long as single
    /// holds are shorter than the client's [`fairness_timeout`](crate::LockClientBuilder::fairness_timeout). The fair
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
    pub fn acquire(self) -> impl Future<Output = Result<T::Guard, AcquireError>> + Send {
        // No async function, which would have room for all of this twice.
        self.target.acquire(self.asked, self.scope, self.wait)
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
    pub fn try_acquire(self) -> impl Future<Output = Result<T::Guard, AcquireError>> + Send {
        self.target.acquire(self.asked, self.scope, Duration::ZERO)
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
        let work = pin!(scope.run(work));
        Ok(T::protect(&guard, work).await?)
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
