//! Guards: the proof that a lock is held, views of it, and the signal of its loss.

mod lost_signal;
mod view;

use std::{future::Future, sync::Arc, time::Duration};

use lock_store::{FencingToken, LockKey, Mode, runtime::LeaseInstant};

use crate::{
    hold::Hold,
    types::{
        DowngradeError, EnsureError, HoldTicket, LeaseState, Lost, ParkError, ReleaseError,
        UpgradeError,
    },
};

pub use lost_signal::LostSignal;
pub use view::LockView;
pub(crate) use view::run_while_held;

/// Proof that a lock is held, until it is dropped, released or lost.
///
/// The lease is renewed in the background for as long as the guard lives, unless renewal was
/// switched off or `max_hold` is reached.
///
/// # Release on drop is not immediate
///
/// Dropping a guard never blocks, never fails and needs no runtime: it queues the release, which is
/// sent at once and retried until the store confirms it or the lease must have ended. The next
/// acquisition of the same key *in this process* is ordered behind it. Another process may find the
/// lock busy for one more round trip. Where that matters, call [`release`](Self::release).
///
/// # Limits
///
/// A process may be stopped between its look at [`is_held`](Self::is_held) and its next step. Give
/// the resource the [`fencing_token`](Self::fencing_token) and let it refuse late writes.
#[must_use = "the lock is released as soon as the guard is dropped"]
#[derive(Debug)]
pub struct LockGuard {
    view: LockView,
    mode: Mode,
}

impl LockGuard {
    /// For a hold that has counted this guard already.
    pub(crate) fn new(hold: Arc<Hold>, mode: Mode) -> Self {
        Self { view: LockView { hold }, mode }
    }

    pub(crate) fn hold(&self) -> &Arc<Hold> {
        &self.view.hold
    }

    /// Returns the key, as it was requested.
    #[must_use]
    pub fn key(&self) -> &LockKey {
        self.view.key()
    }

    /// Returns whether this guard reads or writes. Inside an outer write of the same scope a read
    /// guard's lock is exclusive all the same.
    #[must_use]
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// Returns the number by which a resource can refuse a holder whose lease has ended. Guards of
    /// one scope on one key share it; [`upgrade`](Self::upgrade) takes a new one.
    #[must_use]
    pub fn fencing_token(&self) -> FencingToken {
        self.view.fencing_token()
    }

    /// Returns for how long the lock may still be relied upon if no renewal gets through: see
    /// [`LockView::remaining`].
    #[must_use]
    pub fn remaining(&self) -> Duration {
        self.view.remaining()
    }

    /// Returns whether others were in the way before the lock was granted: the outermost
    /// acquisition of this hold had to queue in this process, or was refused by the store at least
    /// once.
    #[must_use]
    pub fn waited(&self) -> bool {
        self.hold().waited
    }

    /// Returns the closest call so far: the least time for which the lock could still be
    /// [relied upon](Self::remaining), leaving `max_hold` aside, at the moment when a renewal was
    /// confirmed. Zero once renewal has failed until the end of the lease. `None`: never renewed.
    #[must_use]
    pub fn least_remaining(&self) -> Option<Duration> {
        self.hold().least_remaining()
    }

    /// Returns the state of the lease, as far as it is known.
    #[must_use]
    pub fn state(&self) -> LeaseState {
        if self.is_held() { self.hold().lease.state().renewal } else { LeaseState::Lost }
    }

    /// Returns whether the lock is still held at this moment.
    #[must_use]
    pub fn is_held(&self) -> bool {
        self.view.is_held()
    }

    /// Makes sure that the lock can be relied upon for `wanted` at least, by a renewal if need be:
    /// see [`LockView::ensure`].
    ///
    /// # Errors
    ///
    /// [`EnsureError`]: the lock is lost, the store did not answer, or it is too long.
    ///
    /// # Cancel safety
    ///
    /// Dropping this leaves the lock as it is; the renewal may have been executed.
    pub async fn ensure(&self, wanted: Duration) -> Result<(), EnsureError> {
        self.view.ensure(wanted).await
    }

    /// Lets the hold last for at least `by` from now on, whatever its `max_hold`: see
    /// [`LockView::extend_max_hold`].
    ///
    /// # Errors
    ///
    /// [`Lost`] when the lock was lost before.
    pub fn extend_max_hold(&self, by: Duration) -> Result<(), Lost> {
        self.view.extend_max_hold(by)
    }

    /// Returns a future that resolves when the lock is lost. It does not borrow the guard.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let locks = lock_core::LockClient::in_memory();
    /// # async fn rewrite_report() {}
    /// let guard = locks.write("report").acquire().await?;
    /// tokio::select! {
    ///     () = rewrite_report() => {}
    ///     lost = guard.lost() => eprintln!("stopped: {lost}"),
    /// }
    /// # Ok(()) }
    /// ```
    pub fn lost(&self) -> LostSignal {
        self.view.lost()
    }

    /// Runs `work` for as long as the lock is held: see [`LockView::protect`].
    ///
    /// # Errors
    ///
    /// [`Lost`] when the lock was lost first.
    ///
    /// # Cancel safety
    ///
    /// Dropping this drops the work. The guard stays.
    pub async fn protect<F: Future>(&self, work: F) -> Result<F::Output, Lost> {
        self.view.protect(work).await
    }

    /// Returns a view of this lock that can be passed around and keeps nothing held.
    #[must_use]
    pub fn view(&self) -> LockView {
        self.view.clone()
    }

    /// Resolves when the release of the lock is requested with
    /// [`LockClient::request_release`](crate::LockClient::request_release): finish soon and release.
    /// The lock is not taken away from a holder that does not release it.
    ///
    /// A request is received at once; one that was made earlier, or while the store could not be
    /// reached, within seconds.
    ///
    /// # Cancel safety
    ///
    /// Dropping this stops listening. The guard stays.
    pub async fn release_requested(&self) {
        self.view.release_requested().await;
    }

    /// Releases the lock and waits until the store has confirmed it. If the lock goes to the next
    /// waiter of this process, or other readers of this process share it, nothing is waited for. A lock
    /// that is to be held for [longer](crate::Acquire::hold_at_least) is left to the store for the rest of
    /// that time.
    ///
    /// # Errors
    ///
    /// [`ReleaseError::Lost`]: the lock had been lost before. A release that is sent again, because its
    /// connection ended, cannot find that out in the store: the first command may have released the lock.
    /// [`ReleaseError::Unavailable`]: the store did not confirm; the release continues in the background.
    ///
    /// # Cancel safety
    ///
    /// The release continues in the background, as if the guard had been dropped.
    pub async fn release(self) -> Result<(), ReleaseError> {
        let hold = Arc::clone(&self.view.hold);
        hold.check_for_work()?;
        drop(self);
        let lease = &hold.lease;
        tokio::select! {
            biased;
            outcome = lease.until(|state| hold.release_outcome(state)) => outcome,
            // Then the releaser has ended with it, and confirms nothing.
            why = lease.client.tasks.runtime_ended() => {
                let left = LeaseInstant::now().until(lease.state().stored_until);
                Err(why.held_for(left).into())
            }
        }
    }

    /// Leaves the lock held without a guard, for `lease`, and returns a ticket. With it a client,
    /// in another task or another process, continues once under the same hold and fencing token, by
    /// [`LockClient::resume`](crate::LockClient::resume). A parked hold is not renewed: if it is
    /// not resumed it ends with its lease, on the store's clock, which is never shortened: it is
    /// `lease` from now, or the remaining time of the hold if that is longer.
    ///
    /// The client needs a [`ticket_key`](crate::LockClientBuilder::ticket_key). Unsupported for permits
    /// of a semaphore and on ZooKeeper, where a lock ends with its session.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let random = [7; 32];
    /// use lock_core::{HoldTicket, LockClient};
    ///
    /// let locks = LockClient::builder().ticket_key(random).in_memory();
    /// let guard = locks.write("report:7").acquire().await?;
    /// let token = guard.fencing_token();
    /// let ticket = guard.park(Duration::from_secs(60)).await?.to_string(); // into a queue
    ///
    /// let ticket: HoldTicket = ticket.parse()?; // in the worker
    /// let guard = locks.resume(&ticket).await?;
    /// assert_eq!(guard.fencing_token(), token);
    /// assert!(locks.resume(&ticket).await.is_err());
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    ///
    /// [`ParkError`]; the guard is dropped then, and the lock released.
    ///
    /// # Cancel safety
    ///
    /// The lock is released, as if the guard had been dropped.
    pub async fn park(self, lease: Duration) -> Result<HoldTicket, ParkError> {
        self.view.park(lease).await
    }

    /// Turns this read guard into a write guard, if no other reader is there, neither here nor in
    /// another process. Never waits for other readers: two that did would wait for each other
    /// forever. The fencing token is a new one.
    ///
    /// # Errors
    ///
    /// After every error but [`UpgradeError::Lost`] the guard still reads.
    ///
    /// # Cancel safety
    ///
    /// The guard still reads; an upgrade that happened all the same is taken back.
    pub async fn upgrade(&mut self) -> Result<(), UpgradeError> {
        if self.mode == Mode::Write {
            return Ok(self.view.hold.check()?);
        }
        self.view.hold.upgrade().await?;
        self.mode = Mode::Write;
        Ok(())
    }

    /// Turns this write guard into a read guard, without a moment in between in which another
    /// writer could enter. Waiting readers are woken.
    ///
    /// # Errors
    ///
    /// The guard reads in any case, unless the lock is lost or its kind has no readers.
    ///
    /// # Cancel safety
    ///
    /// The guard reads, and the downgrade is completed in the background.
    pub async fn downgrade(&mut self) -> Result<(), DowngradeError> {
        if self.mode == Mode::Read {
            return Ok(self.view.hold.check()?);
        }
        let hold = Arc::clone(&self.view.hold);
        let lease = &hold.lease;
        if !lease.kind.has_readers() {
            return Err(DowngradeError::NoReaders { key: lease.key.clone(), kind: lease.kind });
        }
        lease.client.check_mode_changes()?;
        let _step = lease.step().await;
        hold.check()?;
        // From here on nothing is written under this guard, whatever becomes of the command.
        self.mode = Mode::Read;
        hold.downgrade().await
    }
}

impl Drop for LockGuard {
    fn drop(&mut self) {
        self.view.hold.drop_guard(self.mode);
    }
}
