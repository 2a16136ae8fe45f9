use std::{future::Future, pin::pin, time::Duration};

use lock_store::Kind;

use super::{
    lockable::{Lockable, SingleLock},
    scope::Scope,
};
use crate::types::{AcquireError, AcquireOptions, CallSite, LockError};

/// An acquisition that is being prepared. It is for one lock ([`LockClient::read`],
/// [`LockClient::write`] ..), several at once ([`LockClient::multi_lock`]), a semaphore's permit
/// ([`Semaphore::permit`]) or a lock on most servers ([`RedLock::lock`]).
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
/// // ... no other caller, in any process, holds "order:42" ...
/// guard.release().await?;
/// # Ok(()) }
/// ```
///
/// [`LockClient::read`]: crate::LockClient::read
/// [`LockClient::write`]: crate::LockClient::write
/// [`LockClient::multi_lock`]: crate::LockClient::multi_lock
/// [`Semaphore::permit`]: crate::Semaphore::permit
/// [`RedLock::lock`]: crate::RedLock::lock
#[must_use = "options do nothing until `acquire`, `try_acquire` or `run` is awaited"]
#[derive(Debug, Clone)]
pub struct Acquire<T = SingleLock> {
    pub(crate) target: T,
    pub(crate) scope: Option<Scope>,
    pub(crate) wait: Duration,
    pub(crate) options: AcquireOptions,
}

impl<T: Lockable> Acquire<T> {
    #[track_caller]
    pub(crate) fn new(target: T) -> Self {
        let wait = target.client().inner().settings.wait;
        Self {
            target,
            scope: Scope::current(),
            wait,
            options: AcquireOptions::at(CallSite::here()),
        }
    }

    /// Sets how long [`acquire`](Self::acquire) waits for other holders, from the call, on this process'
    /// clock. With zero it does not wait, as [`try_acquire`](Self::try_acquire). Default: the client's,
    /// which is 1 s unless set.
    pub fn wait(mut self, wait: Duration) -> Self {
        self.wait = wait;
        self
    }

    /// Sets how long Redis keeps the lock after the last renewal, on Redis' clock, from 100 ms to a
    /// year. The lease bounds how long others are shut out when this process dies, not how long the
    /// work may take: the lease is renewed until the guard is released. Default: the client's, which is 30 s unless set.
    pub fn lease(mut self, lease: Duration) -> Self {
        self.options.lease = Some(lease);
        self
    }

    /// Sets whether the lease is renewed while the guard lives. Without it the lock is lost when the
    /// lease ends. Default: `true`.
    pub fn renew(mut self, renew: bool) -> Self {
        self.options.renew = Some(renew);
        self
    }

    /// Limits how long the lock may be held, from the grant, on this process' clock. When that time
    /// is over, the lock is lost and released at once. Default: no limit.
    pub fn max_hold(mut self, max_hold: Duration) -> Self {
        self.options.max_hold = Some(max_hold);
        self
    }

    /// Keeps the lock for at least this long from the grant, on this process' clock, although the work
    /// ends earlier and the guard is dropped: for work that is done in a moment, and that a replica
    /// whose clock is a second behind must not repeat.
    ///
    /// When the guard is dropped earlier, the lease in the store is set to exactly the rest of that time,
    /// and the lock ends there by itself, whether this process lives or not.
    /// [`release`](crate::LockGuard::release) and [`shutdown`](crate::LockClient::shutdown) wait until the
    /// store has confirmed that; a drop does not. A process that is killed before it leaves the lock until
    /// the lease ends: a lease that is shorter than this time is lengthened to it. Waiters are not woken:
    /// they know when the lock ends. Unsupported on ZooKeeper, where a lock ends with its process, and for
    /// RedLock. Default: the lock is free when the work is done.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let locks = lock_core::LockClient::in_memory();
    /// # async fn send_reports() {}
    /// let nightly = locks.write("nightly-reports").hold_at_least(Duration::from_secs(60));
    /// nightly.run(send_reports()).await?;
    /// assert!(locks.write("nightly-reports").try_acquire().await.is_err());
    /// # Ok(()) }
    /// ```
    pub fn hold_at_least(mut self, time: Duration) -> Self {
        self.options.set_hold_at_least(Some(time));
        self
    }

    /// Limits how often the lock may be handed from one waiter of this process to the next, without
    /// the store, before other processes get it. A write lock, or another exclusive lock that is
    /// not fair, is handed on up to twice for each waiter at the grant. It is handed on at most
    /// this many times, and for at most a third of the lease. Each hold is a separate lock, with
    /// its own guard and fencing token.
    ///
    /// Zero: every acquisition goes to the store. Default: the client's
    /// [`max_local_handoffs`](crate::LockClientBuilder::max_local_handoffs), which is 63, the most,
    /// unless set.
    pub fn max_local_handoffs(mut self, max_local_handoffs: u32) -> Self {
        self.options.max_local_handoffs = Some(max_local_handoffs);
        self
    }

    /// Limits how many readers of this process may share one hold of the store, with separate
    /// guards and one fencing token. A reader joins if it arrives while the first reader acquires
    /// or reads, has the same lease, and renews it. Readers may join for a third of the lease, and
    /// at most for the client's [`fairness_timeout`](crate::LockClientBuilder::fairness_timeout). A
    /// writer of another process waits for at most one read and one more. A fair read/write lock is
    /// never shared.
    ///
    /// One: every reader goes to the store. Default: the client's
    /// [`max_shared_readers`](crate::LockClientBuilder::max_shared_readers), which is 64, the most,
    /// unless set.
    pub fn max_shared_readers(mut self, max_shared_readers: u32) -> Self {
        self.options.max_shared_readers = Some(max_shared_readers);
        self
    }

    /// Limits how many acquisitions of this process may wait for this key, or for one of these keys:
    /// beyond the limit this one is refused at once as [`Overloaded`](AcquireError::Overloaded). With
    /// zero it does not wait: a lock that is free is still granted, and so is one that this process is
    /// about to release. Waiters of other processes do not count. Default: the client's
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
        self.options.max_waiters = Some(max_waiters);
        self
    }

    /// Sets whether this acquisition fails as [`Unavailable`](AcquireError::Unavailable) at once,
    /// and not after the command timeout, while the store is known not to answer: from the first
    /// acquisition of this client that was not answered until a probe in the background, every 250
    /// ms, is answered. In a cluster this is tracked for each slot. An acquisition that had already
    /// waited for longer than the command timeout continues to wait. Default: `false`, every
    /// acquisition goes to the store.
    pub fn fail_fast(mut self, fail_fast: bool) -> Self {
        self.options.fail_fast = fail_fast;
        self
    }

    /// Sets whether this acquisition is refused as [`Deadlock`](AcquireError::Deadlock) when it
    /// would wait forever: when the lock's holder waits, directly or through others, for a lock
    /// that this scope holds. The holders may be in any process. Of the acquisitions that wait for
    /// each other the one that began last is refused, within about two seconds. The others continue
    /// when its scope releases its holds.
    ///
    /// A deadlock is found from the [records](crate::LockClientBuilder::record_work) of waiters,
    /// and logged as a warning in any case. It is found between locks of one client's store, also
    /// across processes. Default: that of the client
    /// ([`LockClientBuilder::refuse_deadlocks`](crate::LockClientBuilder::refuse_deadlocks)), and
    /// so `false`: all of them wait until their waits end.
    pub fn refuse_deadlock(mut self, refuse_deadlock: bool) -> Self {
        self.options.refuse_deadlock = Some(refuse_deadlock);
        self
    }

    /// Lets the latest win: this acquisition requests the release of the holder, and takes the lock away
    /// from one that has not released it after this time, at most a year, on this process' clock. The time
    /// begins with the first request of this process to that holder, and not anew with each caller. Of the
    /// callers that wait, in any process, only the newest stays, by the order at the store: the others are
    /// refused as [`Replaced`](AcquireError::Replaced) at once. It waits for up to twice this time in
    /// addition to [`wait`](Self::wait).
    ///
    /// Its holder can be replaced too: when a newer caller comes, the work that is
    /// [protected](crate::LockGuard::protect), or under [`run`](Self::run), is dropped at its next
    /// `.await`, as at a loss with the cause [`LostCause::Replaced`](crate::LostCause::Replaced). Work of
    /// another form looks at [`release_requested`](crate::LockGuard::release_requested) by itself. A
    /// holder that ignores the request finds its lock [lost](crate::LockGuard::lost), and its fencing
    /// token stale.
    ///
    /// Holders that were acquired without this are replaced too, all readers at once, but waiters without
    /// it stay. For writers of one key of at most 499 bytes, on stores with requests to release: Redis, in
    /// memory and on ZooKeeper. Each caller acquires a second lock first, `lock-replace:<key>`, so a free
    /// lock takes two round trips, or three if they take longer than 2 ms; a caller that waits looks at the holder four times a second. Default: a
    /// holder is waited for.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # use std::{future::pending, time::Duration};
    /// # use lock_core::{LockError, LostCause};
    /// # let locks = lock_core::LockClient::in_memory();
    /// let turn = || locks.write("chat:42").replace_after(Duration::from_secs(2));
    /// let first = turn().run(pending::<()>());
    /// let second = async { turn().run(async { "the answer to the second message" }).await };
    /// let (first, second) = tokio::join!(first, second);
    /// assert!(matches!(first, Err(LockError::Lost(lost)) if lost.cause() == LostCause::Replaced));
    /// assert_eq!(second?, "the answer to the second message");
    /// # Ok(()) }
    /// ```
    pub fn replace_after(mut self, after: Duration) -> Self {
        self.options.set_replace_after(Some(after));
        self
    }

    /// Names the purpose of the lock, such as `"nightly-report"`: [observers](crate::LockObserver)
    /// see the name, and it is the label `policy` in the metrics of lock-tower. A name is part of
    /// the program and contains no key, so that there are few of them. Default: none.
    pub fn name(mut self, name: &'static str) -> Self {
        self.options.name = Some(name.into());
        self
    }

    /// Acquires in `scope` instead of the ambient one.
    pub fn in_scope(mut self, scope: &Scope) -> Self {
        self.scope = Some(scope.clone());
        self
    }

    /// Acquires it, waiting for other holders for at most [`wait`](Self::wait).
    ///
    /// Waiters of one process for one key are served in order of arrival. Only the first of them
    /// contends in the store, unless the holder hands it the lock (see
    /// [`max_local_handoffs`](Self::max_local_handoffs)). Between processes a waiter may be
    /// overtaken, but of the refused waiters the one that has waited longest is next. So neither
    /// readers nor writers starve while single holds are shorter than the client's
    /// [`fairness_timeout`](crate::LockClientBuilder::fairness_timeout). The fair kinds serve all
    /// waiters of all processes in order of their arrival at Redis.
    ///
    /// # Errors
    ///
    /// See [`AcquireError`]: after all of them except
    /// [`Unavailable`](AcquireError::Unavailable) nothing is held.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future at any point gives up the place in the queue. A lock that the store may
    /// have granted by then is released at once in the background. If the store cannot be reached,
    /// the lock is free when its lease ends.
    pub fn acquire(self) -> impl Future<Output = Result<T::Guard, AcquireError>> + Send {
        // No async function, which would have room for all of this twice.
        self.target.acquire(self.options, self.scope, self.wait)
    }

    /// Acquires it if it is free and no waiter is next, and never waits for another holder. (It does
    /// wait for the store's answer, and for a release by this process that is under way.)
    ///
    /// # Errors
    ///
    /// See [`AcquireError`]: after all of them except
    /// [`Unavailable`](AcquireError::Unavailable) nothing is held.
    ///
    /// # Cancel safety
    ///
    /// As for [`acquire`](Self::acquire).
    pub fn try_acquire(self) -> impl Future<Output = Result<T::Guard, AcquireError>> + Send {
        self.target.acquire(self.options, self.scope, Duration::ZERO)
    }

    /// Acquires it, runs `work` for as long as it is held, and releases it in the background.
    ///
    /// Inside, the lock is reentrant: the work runs in the scope of the acquisition, or in a new
    /// one. When the lock is lost, the work is dropped at its next `.await`.
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
    /// Sets the kind of lock: for code in which it is known at run time only. Default:
    /// [`Kind::ReadWrite`], or the kind of the method that made this.
    pub fn kind(mut self, kind: Kind) -> Self {
        self.target.kind = kind;
        self
    }
}
