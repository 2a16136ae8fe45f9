//! A leader: of all processes that are candidates for a key one leads, term after term.

use std::{
    pin::pin,
    sync::Arc,
    time::{Duration, SystemTime},
};

use lock_key::MAX_DURATION;
use lock_store::{
    FencingToken, IntoLockKey, LockKey,
    runtime::{Backoff, Mutex},
};
use tokio::{
    sync::watch,
    time::{Instant, sleep},
};
use tracing::field::display;

use super::{LockClient, acquire::Acquire};
use crate::{
    guard::{LockGuard, LockView, run_while_held},
    report::DescribeLeader,
    types::{AcquireError, LeaderStatus},
};

/// The first pause before this process is a candidate again.
const FIRST_PAUSE: Duration = Duration::from_millis(250);
/// The longest pause; a shorter lease limits it too.
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

impl LockClient {
    /// Prepares to lead under `key`: of all processes that [run](Leader::run) a leader of this key one
    /// leads at a time. The others wait, and one of them takes over when it resigns or dies.
    ///
    /// It is the [fenced](crate::Kind::Fenced) lock on `key`, so each term's fencing token is greater than
    /// those of all earlier terms, on every store.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let locks = lock_core::LockClient::in_memory();
    /// # async fn reconcile(_: lock_core::FencingToken) -> bool { true }
    /// let leader = locks.leader("reconciler").name("reconciler");
    /// leader
    ///     .run(async |term| {
    ///         while !reconcile(term.fencing_token()).await {
    ///             tokio::time::sleep(Duration::from_secs(10)).await;
    ///         }
    ///     })
    ///     .await?;
    /// # Ok(()) }
    /// ```
    #[track_caller]
    pub fn leader(&self, key: impl IntoLockKey) -> Leader {
        let mut acquire = self.fenced(key).wait(MAX_DURATION).max_local_handoffs(0);
        // In a scope that holds the key it would lead beside that holder.
        acquire.scope = None;
        Leader { acquire, term: watch::Sender::new(None) }
    }
}

/// A candidate for the leadership of a key: from [`LockClient::leader`].
#[must_use = "it is no candidate until `run` is awaited"]
#[derive(Debug)]
pub struct Leader {
    acquire: Acquire,
    term: watch::Sender<Option<Term>>,
}

impl Leader {
    /// Sets the lease, on the store's clock: for how long nothing leads after a leader's process has died.
    /// Default: the client's, which is 30 s unless set. On ZooKeeper it is the session's.
    pub fn lease(mut self, lease: Duration) -> Self {
        self.acquire = self.acquire.lease(lease);
        self
    }

    /// Names the leader, such as `"reconciler"`: [`Health`](crate::Health), logs and
    /// [observers](crate::LockObserver) show the name, and it is the label `policy` in the metrics of
    /// lock-tower. Default: none.
    pub fn name(mut self, name: &'static str) -> Self {
        self.acquire = self.acquire.name(name);
        self
    }

    /// Returns a receiver of the term that this process leads, for tasks that only observe: `None` while it
    /// does not lead.
    ///
    /// A term is there from the start of the work until the work has ended, and `None` before this process
    /// releases the lock. A process that was stopped may have lost its term before the receiver is
    /// notified, so check [`Term::is_current`] before relying on it. Which process leads is shown by
    /// [`LockClient::inspect`].
    #[must_use]
    pub fn watch(&self) -> watch::Receiver<Option<Term>> {
        self.term.subscribe()
    }

    /// Is a candidate until it leads, and runs `work` with its term for as long as the term lasts. The work
    /// is dropped at its current `.await` when
    ///
    /// - the lock is lost: it is never polled after the lease has ended on this process' clock, even if the
    ///   process was stopped in between;
    /// - an operator [requests its release](LockClient::request_release), and the leader resigns;
    /// - the client [shuts down](LockClient::shutdown), and the leader resigns. This returns
    ///   [`Draining`](AcquireError::Draining) then.
    ///
    /// After a loss or a request it is a candidate again, after a pause at random that doubles from a
    /// quarter of a second up to five seconds, or up to the lease if that is shorter. While the store cannot
    /// be reached it is a candidate again in the same way, and logs that once.
    ///
    /// When the work returns, the leader resigns and this returns its output. Whenever a leader resigns, the
    /// next candidate leads as soon as the release has reached the store.
    ///
    /// To run it as a task, spawn this future itself, with a closure that owns its values (`async move`): of
    /// an async function around it, whose closure borrows, the compiler cannot show that it is `Send`.
    ///
    /// # Errors
    ///
    /// [`AcquireError`], if this process can never lead: the key or the lease is invalid or unsupported, the
    /// key has a lock of another kind, or the client is shutting down.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future drops the work, and the leader resigns.
    pub async fn run<T>(self, work: impl AsyncFnMut(Term) -> T) -> Result<T, AcquireError> {
        let client = self.acquire.target.client.clone();
        client.inner().unless_draining(self.lead(work)).await
    }

    async fn lead<T>(self, mut work: impl AsyncFnMut(Term) -> T) -> Result<T, AcquireError> {
        let Self { acquire, term } = self;
        let client = acquire.target.client.inner();
        let candidate = Arc::new(Candidate {
            name: acquire.options.name.as_deref().map(str::to_owned),
            key: acquire.target.key.clone()?,
            log_key: client.settings.log_keys,
            term,
            since: Mutex::new(SystemTime::now()),
        });
        client.statistics.leaders.add(Arc::downgrade(&candidate) as _);
        let lease = acquire.options.lease.unwrap_or(client.settings.lease);
        let (mut pause, mut reported) = (Backoff::new(FIRST_PAUSE), false);
        loop {
            match acquire.clone().acquire().await {
                Ok(guard) => {
                    reported = false;
                    let granted = Instant::now();
                    let led = Leading::begin(&candidate, guard).run(&mut work).await;
                    if let Some(output) = led {
                        return Ok(output);
                    }
                    if granted.elapsed() >= lease {
                        pause = Backoff::new(FIRST_PAUSE);
                    }
                }
                Err(error) if can_never_lead(&error) => return Err(error),
                Err(error) => {
                    if !std::mem::replace(&mut reported, true) {
                        candidate.log_failure(&error);
                    }
                }
            }
            sleep(pause.next(LONGEST_PAUSE.min(lease))).await;
        }
    }
}

/// Returns whether every later attempt would end in the same way.
fn can_never_lead(error: &AcquireError) -> bool {
    match error {
        AcquireError::Key(_)
        | AcquireError::InvalidOptions(_)
        | AcquireError::Unsupported(_)
        | AcquireError::WrongKind(_)
        | AcquireError::Draining
        | AcquireError::ReadHeld { .. }
        | AcquireError::AlreadyHeld { .. } => true,
        AcquireError::Busy(_)
        | AcquireError::Deadlock(_)
        | AcquireError::Replaced { .. }
        | AcquireError::Overloaded(_)
        | AcquireError::Unavailable(_)
        | AcquireError::Lost(_) => false,
    }
}

/// The state of a running leader, for its receivers and for operators.
#[derive(Debug)]
struct Candidate {
    name: Option<String>,
    key: LockKey,
    /// Keys may carry personal data.
    log_key: bool,
    term: watch::Sender<Option<Term>>,
    since: Mutex<SystemTime>,
}

impl Candidate {
    fn set(&self, term: Option<Term>) {
        let (leader, leads) = (self.name.as_deref(), term.is_some());
        let key = self.log_key.then(|| display(&self.key));
        *self.since.lock() = SystemTime::now();
        let former = self.term.send_replace(term.clone());
        let token = term.or(former).map(|term| display(term.fencing_token()));
        tracing::info!(leader, key, term = token, leads, "leadership changed");
    }

    fn log_failure(&self, error: &AcquireError) {
        let (leader, key) = (self.name.as_deref(), self.log_key.then(|| display(&self.key)));
        // The other errors name the key.
        let error =
            if let AcquireError::Unavailable(why) = error { Some(display(why)) } else { None };
        tracing::warn!(leader, key, error, "cannot become the leader, trying again");
    }
}

impl DescribeLeader for Candidate {
    fn status(&self) -> LeaderStatus {
        // By the clock: after a pause the task that ends the term may not have run yet.
        let term = self.term.borrow().clone().filter(Term::is_current);
        LeaderStatus {
            name: self.name.clone(),
            key: self.key.clone(),
            term: term.map(|term| term.fencing_token()),
            since: *self.since.lock(),
        }
    }
}

/// A term from its start to its end, however that comes: receivers have it exactly as long.
struct Leading<'a> {
    candidate: &'a Candidate,
    // Released after `drop` has cleared the term, so that no two processes show one at a time.
    guard: LockGuard,
}

impl<'a> Leading<'a> {
    fn begin(candidate: &'a Candidate, guard: LockGuard) -> Self {
        candidate.set(Some(Term { lock: guard.view() }));
        Self { candidate, guard }
    }

    /// Returns the output of the work, or `None` if it was cut short.
    async fn run<T>(&self, work: &mut impl AsyncFnMut(Term) -> T) -> Option<T> {
        let (guard, term) = (&self.guard, Term { lock: self.guard.view() });
        // Called in a block, so that no part of it runs before the first check of the lease.
        let work = pin!(async { work(term).await });
        tokio::select! {
            biased;
            () = guard.release_requested() => None,
            // `check` fails for a parked hold too: this process leads no longer.
            ended = run_while_held(|| guard.lost(), || guard.hold().check(), work) => ended.ok(),
        }
    }
}

impl Drop for Leading<'_> {
    fn drop(&mut self) {
        self.candidate.set(None);
    }
}

/// A term: from the grant of the lock to a leader until its end. Cheap to clone; it keeps nothing held.
#[derive(Debug, Clone)]
pub struct Term {
    lock: LockView,
}

impl Term {
    /// Returns the number of the term, which is greater than those of all earlier terms, in any process.
    /// Give it to every resource that the leader writes to: one that refuses smaller numbers refuses a
    /// former leader that does not know yet.
    #[must_use]
    pub fn fencing_token(&self) -> FencingToken {
        self.lock.fencing_token()
    }

    /// Returns whether the term lasts at this moment, on this process' clock.
    #[must_use]
    pub fn is_current(&self) -> bool {
        self.lock.is_held()
    }

    /// Returns the lock of the term: to [make sure](LockView::ensure) that it lasts for the next step, for
    /// the time that [remains](LockView::remaining), or to claim a row with `lock-sqlx`.
    #[must_use]
    pub fn lock(&self) -> &LockView {
        &self.lock
    }
}
