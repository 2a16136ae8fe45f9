use std::{
    future::{Future, poll_fn},
    mem,
    pin::{Pin, pin},
    sync::Arc,
    task::Poll,
    time::Duration,
};

use futures_util::{future::Either, poll};
use lock_store::{FencingToken, Kind, LockKey, Mode};

use super::lost_signal::LostSignal;
use crate::{
    hold::Hold,
    types::{EnsureError, HoldTicket, Lost, LostCause, ParkError},
};

/// A view of a lock that another guard holds. It does not keep the lock held.
///
/// For code that works under a lock which a caller has taken, such as a handler behind a layer.
/// Get one from [`LockGuard::view`](crate::LockGuard::view). Cheap to clone.
#[derive(Debug, Clone)]
pub struct LockView {
    pub(crate) hold: Arc<Hold>,
}

impl LockView {
    /// Returns the key, as it was requested.
    #[must_use]
    pub fn key(&self) -> &LockKey {
        &self.hold.lease.key
    }

    /// Returns the strongest mode that the hold has.
    #[must_use]
    pub fn mode(&self) -> Mode {
        if self.hold.state().guards.write > 0 { Mode::Write } else { Mode::Read }
    }

    /// Returns the number by which a resource can refuse a holder whose lease has ended. Permits of a
    /// semaphore have none: [`FencingToken::NONE`], which a resource that checks refuses.
    #[must_use]
    pub fn fencing_token(&self) -> FencingToken {
        self.hold.state().token.unwrap_or(FencingToken::NONE)
    }

    /// Returns the kind of the lock.
    #[must_use]
    pub fn kind(&self) -> Kind {
        self.hold.lease.kind
    }

    /// Returns for how long the lock may still be relied upon if no renewal gets through: on this
    /// process' clock, a safety margin less than Redis has it. Zero once it is lost.
    #[must_use]
    pub fn remaining(&self) -> Duration {
        if self.is_held() { self.hold.remaining() } else { Duration::ZERO }
    }

    /// Returns whether the lock is held at this moment: not released, not lost.
    #[must_use]
    pub fn is_held(&self) -> bool {
        self.ensure_held().is_ok()
    }

    /// Checks that the lock is held at this moment, as [`is_held`](Self::is_held) does, with the
    /// reason if it is not.
    ///
    /// # Errors
    ///
    /// [`Lost`] when the lock was lost, or released.
    pub fn ensure_held(&self) -> Result<(), Lost> {
        self.hold.check()
    }

    /// Makes sure that the lock can be [relied upon](Self::remaining) for `wanted` at least: returns
    /// at once if it can, else renews the lease now and waits for the answer. For before a step that
    /// must not be cut short, such as a call to another service.
    ///
    /// At most the lease less its safety margin, and the rest of `max_hold`:
    /// [`extend_max_hold`](Self::extend_max_hold) lengthens that. A lease that is not renewed in
    /// the background is renewed by this too.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let locks = lock_core::LockClient::in_memory();
    /// # async fn charge_card() {}
    /// let guard = locks.write("order:42").acquire().await?;
    /// guard.ensure(Duration::from_secs(20)).await?; // the card's service takes at most that long
    /// charge_card().await;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    ///
    /// [`EnsureError`]: the lock is lost, the store did not answer, or it is too long.
    ///
    /// # Cancel safety
    ///
    /// Dropping this leaves the lock as it is; the renewal may have been executed.
    pub async fn ensure(&self, wanted: Duration) -> Result<(), EnsureError> {
        self.hold.ensure(wanted).await
    }

    /// Lets the hold last for at least `by` from now on, on this process' clock, if its `max_hold`
    /// would end it earlier. At most a year in total. Without a `max_hold` nothing changes.
    ///
    /// # Errors
    ///
    /// [`Lost`] when the lock was lost, or released.
    pub fn extend_max_hold(&self, by: Duration) -> Result<(), Lost> {
        self.hold.extend_max_hold(by)
    }

    /// Parks the hold that this shows, as [`LockGuard::park`](crate::LockGuard::park) does: its
    /// guard, wherever it is, holds nothing from then on, and dropping it releases nothing. The
    /// view is [lost](Self::ensure_held) as parked; work that is [protected](Self::protect) by it
    /// continues.
    ///
    /// # Errors
    ///
    /// [`ParkError`]; the lock stays as it was.
    ///
    /// # Cancel safety
    ///
    /// The lock stays as it was, for as long as its guard lives; its lease may have become longer.
    pub async fn park(&self, lease: Duration) -> Result<HoldTicket, ParkError> {
        self.hold.park(lease).await
    }

    /// Resolves when the release of the lock is requested: see
    /// [`LockGuard::release_requested`](crate::LockGuard::release_requested). It never resolves once the
    /// lock is released or lost.
    ///
    /// # Cancel safety
    ///
    /// Dropping this stops listening. The lock stays with its guard.
    pub async fn release_requested(&self) {
        self.hold.release_requested().await;
    }

    /// Returns a future that resolves when the lock is lost.
    pub fn lost(&self) -> LostSignal {
        LostSignal::of(&self.hold)
    }

    /// Returns a future that resolves when work under the lock must stop: it is lost, or a newer
    /// caller replaces its holder.
    pub(crate) fn stopped(&self) -> impl Future<Output = Lost> + Send + 'static + use<> {
        let lost = self.lost();
        if !self.hold.is_replaceable {
            return Either::Left(lost);
        }
        let hold = Arc::clone(&self.hold);
        Either::Right(Box::pin(async move {
            tokio::select! {
                biased;
                lost = lost => lost,
                () = hold.release_requested() => hold.lost(LostCause::Replaced),
            }
        }))
    }

    /// Runs `work` for as long as the lock is held. On loss the work is dropped at its current
    /// `.await`. It is never polled after the lease has ended on this process' clock, even if the
    /// process was stopped in between.
    ///
    /// # Errors
    ///
    /// [`Lost`] when the lock was lost first: the work is cut short, and its effects so far remain.
    ///
    /// # Cancel safety
    ///
    /// Dropping this drops the work. The lock stays with its guard.
    pub async fn protect<F: Future>(&self, work: F) -> Result<F::Output, Lost> {
        let work = pin!(work);
        run_while_held(|| self.stopped(), || self.hold.check_for_work(), work).await
    }
}

/// Polls `work` until the signal of `lost` resolves or `check` fails: both are looked at before every
/// poll of it, since after a pause the clock is ahead of every timer. `work` comes pinned: by value
/// each async function would have room for it twice.
pub(crate) async fn run_while_held<F: Future, L: Future<Output = Lost>>(
    lost: impl FnOnce() -> L,
    check: impl Fn() -> Result<(), Lost>,
    mut work: Pin<&mut F>,
) -> Result<F::Output, Lost> {
    check()?;
    // Only work that waits must be woken by a loss: most ends at its first poll, without a signal.
    if let Poll::Ready(output) = poll!(work.as_mut()) {
        return Ok(output);
    }
    let mut lost = pin!(lost());
    let mut just_polled = true;
    poll_fn(|context| {
        // Polled before the first wait, although the work is not: a loss since `check` is found here,
        // and every later one wakes this task.
        if let Poll::Ready(lost) = lost.as_mut().poll(context) {
            return Poll::Ready(Err(lost));
        }
        if mem::take(&mut just_polled) {
            return Poll::Pending;
        }
        if let Err(lost) = check() {
            return Poll::Ready(Err(lost));
        }
        work.as_mut().poll(context).map(Ok)
    })
    .await
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};

    use futures_util::FutureExt;

    use super::*;
    use crate::{client::LockClient, types::LostCause};

    #[tokio::test]
    async fn work_that_ends_at_once_needs_no_signal() {
        let no_signal =
            || -> std::future::Pending<Lost> { panic!("it is made for work that waits") };
        let done = run_while_held(no_signal, || Ok(()), pin!(ready(1))).await;
        assert_eq!(done.ok(), Some(1));
    }

    #[tokio::test]
    async fn a_loss_during_the_first_poll_ends_the_work() {
        let client = LockClient::in_memory();
        let guard = client.write("k").acquire().await.expect("it is free");
        let lost_meanwhile = async {
            guard.hold().lease.lose(LostCause::Refused);
            pending::<()>().await;
        };
        let view = guard.view();
        let ended = view.protect(lost_meanwhile).now_or_never().expect("it ends at once");
        let lost = ended.expect_err("it was lost");
        assert_eq!(lost.cause(), LostCause::Refused);
    }
}
