//! Single flight: one caller makes a result, and the other callers, in any process, wait for it.
//!
//! Within a process one caller at a time *leads*, and the others follow it, which costs the store
//! nothing. The leader tries to write. If another process has the lock, it waits as a reader, since all
//! readers are woken together when the writer releases. It leaves the read lock before it does anything
//! else: a reader that contends for the write lock would be in its own way, and in that of the leaders
//! of other processes.
//!
//! If the result is missing even then, the writer has failed, died or lost the lock. The leader now
//! waits as a writer: leaders that only tried, and read in between, could refuse each other forever.

use std::{pin::pin, slice, time::Duration};

use lock_store::{InvalidOptions, Mode};

use super::{LockClient, acquire::Acquire, lockable::SingleLock, scope::Scope};
use crate::{
    acquire,
    gate::{Access, EnterResult},
    guard::LockGuard,
    hold::{Entered, LockRequest, Permit, WaitDeadline},
    types::{AcquireError, LockError, OnceError},
};

impl Acquire<SingleLock> {
    /// Returns the result that `check` finds; if it finds none, `fill` makes it, once for all callers of
    /// all processes that want it under this key. The others wait, and find it with `check`. For what is
    /// expensive, or must not be done twice at the same time: a token that is refreshed, a report, an entry
    /// of a cache.
    ///
    /// `check` reads where all replicas read, such as Redis or a database. `fill` must have written its
    /// result there when it returns: the lock is released then, and the others check at once. `check` runs
    /// without the lock, and once more under it before `fill`. Under it the lock is reentrant.
    ///
    /// If `fill` fails, its caller gets the error. The others find nothing, and the next of them fills: one
    /// at a time, for as long as they [wait](Self::wait). A failure that should not be repeated is a result:
    /// write it down, for a while, so that `check` finds it. A process that dies is replaced when its lease
    /// ends. If the lock is lost, `fill` is dropped at its next `.await`, and this caller starts over unless
    /// its wait is over.
    ///
    /// In each process one caller contends, and the others cost the store nothing. Between processes the
    /// callers wait as readers, and are woken together. Locks without readers work too: there the processes
    /// check one after the other. A scope that holds the lock for writing checks and fills under its own
    /// hold.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # use std::{convert::Infallible, sync::Mutex};
    /// # let locks = lock_core::LockClient::in_memory();
    /// let stored = Mutex::new(None); // in a service: Redis, a database
    /// let check = || async { Ok::<_, Infallible>(*stored.lock().unwrap()) };
    /// let fill = || async { Ok(*stored.lock().unwrap().insert(42)) };
    /// assert_eq!(locks.write("answer").once(check, fill).await?, 42);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    ///
    /// [`OnceError::Work`]: the caller's own `check` or `fill` failed. [`OnceError::Lock`]: there was no
    /// lock within the wait, and `fill` has not run, or was cut short by a loss. A lock that `fill` cannot
    /// run under is refused before the first check: of a reader or a permit, and with `replace_after`.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future drops `check` or `fill` and releases the lock in the background. Another caller
    /// fills then.
    pub async fn once<T, E, C, F>(
        self,
        check: impl Fn() -> C,
        fill: impl Fn() -> F,
    ) -> Result<T, OnceError<E>>
    where
        C: Future<Output = Result<Option<T>, E>>,
        F: Future<Output = Result<T, E>>,
    {
        self.fly(false, check, fill).await
    }

    /// Returns a result as [`once`](Self::once) does, but fills without the lock while the store does not
    /// answer: once in each process instead of once in all. For results that may be made twice, in services
    /// that continue without the store.
    ///
    /// A caller that waits already finds within about two seconds that the store does not answer, and
    /// continues without it.
    ///
    /// # Errors
    ///
    /// As for [`once`](Self::once).
    ///
    /// # Cancel safety
    ///
    /// As for [`once`](Self::once).
    pub async fn once_or_unlocked<T, E, C, F>(
        self,
        check: impl Fn() -> C,
        fill: impl Fn() -> F,
    ) -> Result<T, OnceError<E>>
    where
        C: Future<Output = Result<Option<T>, E>>,
        F: Future<Output = Result<T, E>>,
    {
        self.fly(true, check, fill).await
    }

    async fn fly<T, E, C, F>(
        self,
        unlocked: bool,
        check: impl Fn() -> C,
        fill: impl Fn() -> F,
    ) -> Result<T, OnceError<E>>
    where
        C: Future<Output = Result<Option<T>, E>>,
        F: Future<Output = Result<T, E>>,
    {
        let flight = Flight::prepare(self, unlocked).map_err(LockError::from)?;
        // Another caller may have filled between the check before the lock and its grant.
        let work = || async {
            match check().await? {
                Some(found) => Ok(found),
                None => fill().await,
            }
        };
        let (mut leads, mut followed, mut woken) = (None, false, false);
        loop {
            if let Some(found) = check().await.map_err(OnceError::Work)? {
                return Ok(found);
            }
            if leads.is_none() && !flight.reenters {
                leads = flight.lead_or_follow(followed).await.map_err(|why| flight.refused(why))?;
                if leads.is_none() {
                    followed = true;
                    continue;
                }
            }
            let guard = match flight.acquire(woken).await {
                Ok(Some(guard)) => guard,
                Ok(None) => {
                    woken = true;
                    continue;
                }
                Err(AcquireError::Unavailable(_)) if unlocked => {
                    return flight.scope.run(work()).await.map_err(OnceError::Work);
                }
                Err(why) => return Err(flight.refused(why).into()),
            };
            let work = pin!(flight.scope.run(work()));
            match guard.protect(work).await {
                Ok(done) => return done.map_err(OnceError::Work),
                Err(lost) if flight.wait_deadline.is_over() => {
                    return Err(LockError::Lost(lost).into());
                }
                Err(_) => woken = false,
            }
        }
    }
}

/// One caller's way to the result.
struct Flight {
    client: LockClient,
    scope: Scope,
    write: LockRequest,
    /// `None`: this kind of lock has no readers.
    read: Option<LockRequest>,
    wait_deadline: WaitDeadline,
    /// The scope holds the lock already. It must not follow a caller that waits for it.
    reenters: bool,
    /// Whether it continues without the store.
    unlocked: bool,
}

impl Flight {
    fn prepare(acquire: Acquire, unlocked: bool) -> Result<Self, AcquireError> {
        let wait_deadline = WaitDeadline::of(acquire.wait);
        let Acquire { target, scope, mut options, .. } = acquire;
        if target.mode != Mode::Write {
            let why = "`once` fills under the write lock: prepare it in write mode";
            return Err(InvalidOptions::new(why.to_owned()).into());
        }
        if options.replace.is_some() {
            let why = "`once` shares one result among its callers: drop replace_after";
            return Err(InvalidOptions::new(why.to_owned()).into());
        }
        options.fail_fast |= unlocked;
        let client = target.client.clone();
        let scope = scope.unwrap_or_else(|| client.scope());
        let write = target.request(options, Some(&scope))?;
        let read = write.kind.has_readers().then(|| {
            let mut read = LockRequest { mode: Mode::Read, ..write.clone() };
            // It is for the hold that fills: a reader that stays would keep the next caller from filling.
            read.options.at_least = None;
            read
        });
        let reenters = scope.holds().holds(write.key.as_str(), Mode::Read);
        Ok(Self { client, scope, write, read, wait_deadline, reenters, unlocked })
    }

    /// Returns the right to contend for this process, or `None` when the caller that had it has ended.
    async fn lead_or_follow(&self, followed: bool) -> Result<Option<Permit>, AcquireError> {
        let (client, request) = (self.client.inner(), &self.write);
        // A leader that got no answer wakes its followers. Without this they would lead one after the
        // other, each for a command timeout.
        if followed
            && !self.unlocked
            && let Some((since, why)) = client.silence(&request.key)
            && !self.wait_deadline.began_before(since, client.settings.command_timeout)
        {
            return Err(why.into());
        }
        let lead = client.flights.enter(&request.key, Access::Write, None, None, None);
        if let EnterResult::Admitted(leads) = lead {
            return Ok(Some(leads));
        }
        let follower =
            self.wait_deadline.enter(&client.flights, request, Access::Follower, None)?;
        let Entered::Queued(place) = follower else { return Ok(None) };
        match acquire::stand_in_queue(client, request, &self.wait_deadline, place).await {
            // The leader finds it too, and fills: its followers wait for that.
            Err(AcquireError::Unavailable(_)) if self.unlocked && !self.wait_deadline.is_over() => {
                Ok(None)
            }
            ended => ended.map(|_| None),
        }
    }

    /// Acquires the write lock. `None`: another holder has written, and has released it.
    async fn acquire(&self, woken: bool) -> Result<Option<LockGuard>, AcquireError> {
        let Some(read) = self.read.as_ref().filter(|_| !woken) else {
            return self.enter(&self.write, self.wait_deadline).await.map(Some);
        };
        match self.enter(&self.write, WaitDeadline::of(Duration::ZERO)).await {
            Err(AcquireError::Busy(_)) if self.wait_deadline.deadline.is_some() => {}
            tried => return tried.map(Some),
        }
        self.enter(read, self.wait_deadline).await.map(|_| None)
    }

    async fn enter(
        &self,
        request: &LockRequest,
        wait_deadline: WaitDeadline,
    ) -> Result<LockGuard, AcquireError> {
        let client = self.client.inner();
        let mut entered = pin!(acquire::enter_all(client, slice::from_ref(request), wait_deadline));
        let guards = loop {
            let one_command = client.settings.command_timeout;
            let limit = if self.unlocked { one_command } else { Duration::MAX };
            if let Ok(entered) = tokio::time::timeout(limit, entered.as_mut()).await {
                break entered?;
            }
            // A wait that began before the store fell silent would last to its end: the store may be back
            // by then. This caller continues without it.
            if let Some((_, why)) = client.silence(&request.key) {
                return Err(why.into());
            }
        };
        Ok(guards.into_iter().next().expect("BUG: a grant without a guard"))
    }

    /// Reports the refusal of this caller: its attempts are not reported one by one.
    fn refused(&self, why: AcquireError) -> LockError {
        self.client.inner().report_refused(&self.write, &self.wait_deadline, &why);
        why.into()
    }
}
