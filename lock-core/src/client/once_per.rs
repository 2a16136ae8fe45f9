//! Once per slot: of all attempts of all processes at a job in one slot, one succeeds.
//!
//! Three locks take part. The *mark* of the slot, `lock-slot:<key>:<slot>`, is acquired first, without a
//! wait: while it is held, the job runs or has run in this slot. Then the caller's own lock, which keeps
//! the runs of two slots apart, and whose fencing token the work gets. Last, the first free one of
//! `lock-slot:<key>:<slot>:<number>`, which counts the attempts: it is left to the store at once, until
//! the slot ends, so it survives the process.
//!
//! All locks are held before the work begins: a client that is shutting down acquires nothing more, and
//! work under way must still be able to mark its slot. If the work succeeds, the mark is left to the
//! store until the slot has ended for every clock; otherwise it is released.

use std::{
    pin::pin,
    time::{Duration, SystemTime},
};

use lock_key::{MAX_KEY_BYTES, MIN_LEASE};
use lock_store::{FencingToken, InvalidOptions, Kind, LockKey, Mode, Unsupported};

use super::{
    acquire::Acquire,
    lockable::SingleLock,
    scope::Scope,
    slots::{Slot, SlotClock, Slots},
};
use crate::{
    guard::{LockGuard, LockView},
    types::{AcquireError, LockError, Lost, OnceError, ReleaseError, SLOT_MARK},
};

/// The most bytes that are added to the key of a job: `lock-slot:`, a slot and the number of an attempt.
const LONGEST_ADDITION: usize = 30;
/// The last number of an attempt: further ones have it too.
const LAST_ATTEMPT: u32 = 100;
/// By how much clocks may differ, unless the caller says otherwise.
const CLOCK_DIFFERENCE: Duration = Duration::from_secs(60);

tokio::task_local! {
    static CURRENT: SlotAttempt;
}

impl Acquire<SingleLock> {
    /// Prepares a job that is to succeed once in each slot, whichever replica starts it: every replica
    /// [runs](OncePer::run) it, by its own timer, and one of them does the work.
    ///
    /// The key names the job. It is locked while the work runs, so runs of two slots never overlap.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # use std::{convert::Infallible, time::Duration};
    /// # use lock_core::{LockClient, SlotRun, Slots};
    /// # let locks = LockClient::in_memory();
    /// # async fn send_reports() {}
    /// let hourly = locks.write("reports").once_per(Slots::every(Duration::from_secs(60 * 60)));
    /// let job = async |_| Ok::<_, Infallible>(send_reports().await);
    /// assert_eq!(hourly.clone().run(job).await?, SlotRun::Ran(()));
    /// assert_eq!(hourly.run(job).await?, SlotRun::AlreadyRan);
    /// # Ok(()) }
    /// ```
    pub fn once_per(self, slots: Slots) -> OncePer {
        OncePer {
            acquire: self,
            slots,
            planned: None,
            now: None,
            clock_difference: CLOCK_DIFFERENCE,
        }
    }
}

/// A job that is to succeed once per slot: from [`Acquire::once_per`].
#[must_use = "nothing runs until `run` is awaited"]
#[derive(Debug, Clone)]
pub struct OncePer {
    acquire: Acquire,
    slots: Slots,
    planned: Option<SystemTime>,
    /// `None`: the system's clock.
    now: Option<SystemTime>,
    clock_difference: Duration,
}

/// The outcome of a call of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum SlotRun<T> {
    /// It was run here, and succeeded.
    Ran(T),
    /// It has succeeded in this slot before, here or elsewhere.
    AlreadyRan,
    /// It is being run elsewhere, in this slot or still in an earlier one.
    Running,
}

impl<T> SlotRun<T> {
    /// Returns the output of the work, if it was run here.
    pub fn ran(self) -> Option<T> {
        match self {
            Self::Ran(output) => Some(output),
            Self::AlreadyRan | Self::Running => None,
        }
    }
}

/// One attempt at a job in its slot: from [`OncePer::run`].
#[derive(Debug, Clone)]
pub struct SlotAttempt {
    number: u32,
    slot: Slot,
    lock: LockView,
}

impl SlotAttempt {
    /// Returns the attempt of the job in which this task runs, if any. A task that is spawned inside does
    /// not inherit it.
    #[must_use]
    pub fn current() -> Option<Self> {
        CURRENT.try_with(Self::clone).ok()
    }

    /// Returns the number of the attempt in its slot: 1, and one more for each earlier attempt that
    /// failed, was cut short or died with its process. It counts to 100 and stays there.
    #[must_use]
    pub fn number(&self) -> u32 {
        self.number
    }

    /// Returns the slot.
    #[must_use]
    pub fn slot(&self) -> Slot {
        self.slot
    }

    /// Returns the number by which a resource can refuse an earlier attempt that lost its lock and may
    /// still be running.
    #[must_use]
    pub fn fencing_token(&self) -> FencingToken {
        self.lock.fencing_token()
    }

    /// Returns the lock on the job's key: to [make sure](LockView::ensure) that it lasts for the next step,
    /// or to claim a row with `lock-sqlx`.
    #[must_use]
    pub fn lock(&self) -> &LockView {
        &self.lock
    }
}

impl OncePer {
    /// Sets by how much the clocks of the replicas may differ. The slot stays marked for this long after
    /// its end, so that a replica whose clock is late does not run the job again. At most the length of a
    /// slot. Default: a minute.
    pub fn clock_difference(mut self, most: Duration) -> Self {
        self.clock_difference = most;
        self
    }

    /// Sets the time that decides about the slot, for a scheduler that says for when a run was planned.
    /// A slot that has ended by more than the [clock difference](Self::clock_difference) is refused as
    /// [`AcquireError::InvalidOptions`]: its mark is gone. Default: the time of the call.
    pub fn at(mut self, planned: SystemTime) -> Self {
        self.planned = Some(planned);
        self
    }

    /// Sets the time of the call, in tests of clocks that differ.
    #[cfg(feature = "test-util")]
    pub fn on_clock(mut self, now: SystemTime) -> Self {
        self.now = Some(now);
        self
    }

    /// Runs `work`, unless it has succeeded in this slot, or is being run. When it returns `Ok`, the slot is
    /// marked in the store until it has ended, and every later call in the slot returns
    /// [`AlreadyRan`](SlotRun::AlreadyRan).
    ///
    /// In every other case the slot is free again: when the work returns an error, panics, is dropped or
    /// loses its lock, and, if its process dies, when the lease ends. The next call in the slot, by any
    /// replica, runs the work again, with the next [number](SlotAttempt::number).
    ///
    /// At most one attempt per slot succeeds, as far as leases hold: an attempt that lost its lock is
    /// dropped at its next `.await`, but what it has sent may still arrive. Give the attempt's
    /// [fencing token](SlotAttempt::fencing_token) to what it writes to. Work that succeeds just before its
    /// process dies, or while the store cannot be reached for longer than a lease, may run again.
    ///
    /// The slot is that of this process' system clock. A replica whose clock is ahead runs the job earlier,
    /// and the others find it done. See [`Slots`] for a timer that fires too early. A job that runs for
    /// longer than its slot keeps later slots from running it until it has ended.
    ///
    /// Work of another slot is waited for as long as the lock is ([`Acquire::wait`]), work of this one is
    /// not. Inside, the lock is reentrant, and [`SlotAttempt::current`] returns the attempt.
    ///
    /// # Errors
    ///
    /// [`OnceError::Work`]: the error of the work. [`OnceError::Lock`]: the work did not start, or was cut
    /// short by a loss. Unsupported on ZooKeeper, where a lock ends with its process.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future drops the work and releases the locks in the background. The slot is not marked.
    pub async fn run<T, E>(
        self,
        work: impl AsyncFnOnce(SlotAttempt) -> Result<T, E>,
    ) -> Result<SlotRun<T>, OnceError<E>> {
        let mark = match SlotMark::acquire(&self).await.map_err(LockError::from)? {
            Ok(mark) => mark,
            Err(NotRun::AlreadyRan) => return Ok(SlotRun::AlreadyRan),
            Err(NotRun::Running) => return Ok(SlotRun::Running),
        };
        let acquire = self.acquire;
        let scope = acquire.scope.clone().unwrap_or_else(|| acquire.target.client.scope());
        let guard = match acquire.in_scope(&scope).acquire().await {
            Ok(guard) => guard,
            Err(AcquireError::Busy(_)) => return Ok(SlotRun::Running),
            Err(why) => return Err(LockError::from(why).into()),
        };
        let attempt = mark.begin_attempt(guard.view()).await.map_err(LockError::from)?;
        let work = within_attempt(attempt.clone(), async { work(attempt).await });
        let work = pin!(scope.run(work));
        let done = mark.protect(guard.protect(work)).await.and_then(|done| done);
        match done.map_err(LockError::from)? {
            Ok(output) => {
                mark.keep().await;
                drop(guard);
                Ok(SlotRun::Ran(output))
            }
            Err(failed) => {
                // Before the caller knows of it, so that the next call finds the slot free.
                let _ = guard.release().await;
                mark.release().await;
                Err(OnceError::Work(failed))
            }
        }
    }
}

/// Runs `work` with this attempt as the current one.
pub(crate) fn within_attempt<F: Future>(
    attempt: SlotAttempt,
    work: F,
) -> impl Future<Output = F::Output> {
    CURRENT.scope(attempt, work)
}

/// The mark of a slot that this process has.
#[derive(Debug)]
pub struct SlotMark {
    acquire: Acquire,
    clock: SlotClock,
    guard: LockGuard,
}

impl SlotMark {
    /// Acquires the mark of the job's slot, unless the job is being run or has run in it.
    pub(crate) async fn acquire(job: &OncePer) -> Result<Result<Self, NotRun>, AcquireError> {
        let acquire = &job.acquire;
        check(acquire)?;
        let request = acquire.target.clone().request(acquire.options.clone(), None)?;
        let clock = SlotClock::new(&job.slots, job.planned, job.now, job.clock_difference)?;
        if request.key.as_str().len() > MAX_KEY_BYTES - LONGEST_ADDITION {
            let most = MAX_KEY_BYTES - LONGEST_ADDITION;
            let why = format!("the key of a job that runs once per slot has at most {most} bytes");
            return Err(InvalidOptions::new(why).into());
        }
        let key = LockKey::try_from(format!("{SLOT_MARK}{}:{}", request.key, clock.slot.number()))?;
        match beside(acquire, key).acquire().await {
            // The mark of an earlier run has ended by now: this process was stopped, or the run
            // was planned for long ago.
            Ok(guard) if clock.left().is_zero() => {
                let _ = guard.release().await;
                let why = "the slot has ended for every clock, and its mark is gone";
                Err(InvalidOptions::new(why.to_owned()).into())
            }
            Ok(guard) => Ok(Ok(Self { acquire: acquire.clone(), clock, guard })),
            // See `keep`.
            Err(AcquireError::Busy(busy)) => {
                let lease = request.hold_options.lease;
                let has_run = busy.holder_remaining().is_some_and(|remaining| remaining > lease);
                Ok(Err(if has_run { NotRun::AlreadyRan } else { NotRun::Running }))
            }
            Err(why) => Err(why),
        }
    }

    /// Returns the lock on the job's key in the ambient scope, or the mark if there is none, since a policy
    /// file has turned it off just now.
    pub(crate) fn ambient_lock(&self) -> LockView {
        let SingleLock { client, key, .. } = &self.acquire.target;
        let client = client.inner().owners.client();
        let slot = |key| Scope::current().map(|scope| scope.holds().slot(client, key));
        let hold = key.as_ref().ok().and_then(slot).and_then(|slot| slot.hold());
        hold.map_or_else(|| self.guard.view(), |hold| LockView { hold })
    }

    /// Counts the attempt that begins under this lock.
    pub(crate) async fn begin_attempt(&self, lock: LockView) -> Result<SlotAttempt, AcquireError> {
        let mut number = 1;
        // The mark is held, so that no two attempts are counted at the same time.
        while number < LAST_ATTEMPT && self.was_made(number).await? {
            number += 1;
        }
        Ok(SlotAttempt { number, slot: self.clock.slot, lock })
    }

    /// Returns whether an earlier attempt has this number; otherwise the number is taken now.
    async fn was_made(&self, number: u32) -> Result<bool, AcquireError> {
        let key = LockKey::try_from(format!("{}:{number}", self.guard.key()))?;
        let left = self.clock.left().max(MIN_LEASE);
        // Dropped at once, it is left to the store without another command.
        match beside(&self.acquire, key).lease(left).hold_at_least(left).acquire().await {
            Ok(_) => Ok(false),
            Err(AcquireError::Busy(_)) => Ok(true),
            Err(why) => Err(why),
        }
    }

    /// Runs `work` for as long as the mark is held.
    pub(crate) async fn protect<F: Future>(&self, work: F) -> Result<F::Output, Lost> {
        self.guard.protect(work).await
    }

    /// Releases the mark: in the background, if the store does not confirm it now.
    pub(crate) async fn release(self) {
        let _ = self.guard.release().await;
    }

    /// Keeps the slot marked until it has ended for every clock, and returns when the store has confirmed
    /// that: the work has succeeded.
    pub(crate) async fn keep(self) {
        let left = self.clock.left();
        if left.is_zero() {
            return;
        }
        // One lease longer: a caller that is refused sees by the remaining time that it is not the mark of
        // a run, whose lease is renewed. Only callers with another lease may be mistaken.
        let lease = self.guard.hold().lease.state().length;
        self.guard.hold().hold_for(left + lease);
        match self.guard.release().await {
            Ok(()) => {}
            Err(ReleaseError::Lost(lost)) => {
                let cause = lost.cause();
                tracing::warn!(%cause, "the mark of a job's slot is lost: it may run again in this slot");
            }
            Err(ReleaseError::Unavailable(why)) => {
                tracing::warn!(%why, "cannot mark the slot of a job yet, trying again");
            }
        }
    }
}

/// Why a job is not run in its slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NotRun {
    /// It has succeeded before.
    AlreadyRan,
    /// It is being run.
    Running,
}

/// Refuses what cannot run once per slot.
fn check(acquire: &Acquire) -> Result<(), AcquireError> {
    let Acquire { target, options, .. } = acquire;
    let why = if target.mode == Mode::Read || target.kind == Kind::Semaphore {
        "a job runs once per slot under a write lock: a reader and a permit leave room for others"
    } else if options.at_least.is_some() {
        "a slot is marked until it ends: drop hold_at_least"
    } else if options.replace.is_some() {
        "a job that runs once per slot is not replaced: drop replace_after"
    } else if target.client.inner().store.session_lease().is_some() {
        let what = "`once_per`: a lock ends with the session of its process";
        return Err(Unsupported::new(what).into());
    } else {
        return Ok(());
    };
    Err(InvalidOptions::new(why.to_owned()).into())
}

/// Prepares to try a lock of a slot, beside the lock of the job.
fn beside(acquire: &Acquire, key: LockKey) -> Acquire {
    let mut lock = acquire.clone().wait(Duration::ZERO).name("once_per");
    lock.target.key = Ok(key);
    lock.scope = None;
    lock.options.in_order = false;
    lock.options.max_hold = None;
    lock.options.max_local_handoffs = Some(0);
    lock
}
