//! Brings the store down to the counts that the holds want: the one way by which anything is
//! released.
//!
//! A dropped guard, a cancelled acquisition, a lost hold and a change of mode of unknown outcome
//! all end here. One task per client works the queue, with many leases at a time over one
//! connection. It retries each until the store has confirmed or the lease must have ended.

use std::{
    collections::VecDeque,
    future::poll_fn,
    sync::{Arc, atomic::Ordering},
    task::Poll,
    time::Duration,
};

use futures_util::stream::{FuturesUnordered, StreamExt};
use lock_store::{
    ConvertCommand, Downgraded, Holds, Mode, ReleaseCommand, Released, Unavailable,
    runtime::LeaseInstant,
};
use tokio::time::Instant;

use super::reconcile_queue::{PendingRelease, ReconcileQueue};
use super::{
    lease::Lease,
    leavers::{Leavers, LeavingGroup},
    state::{LeaseInner, Stage},
};
use crate::types::LostCause;

/// Releases in flight at once: enough to fill a connection, few enough to bound its memory.
/// Releases that failed and are retried later do not count: otherwise an unreachable shard would
/// keep the releases of other shards waiting.
const MAX_AT_ONCE: usize = 512;
/// How long after the lease a release is retried: a store that was paused may execute an
/// acquisition late.
const RELEASE_GRACE: Duration = Duration::from_secs(60);

/// The releaser: one per client.
pub(crate) async fn work(queue: Arc<ReconcileQueue>) {
    // In order of arrival; retries are appended when they are due.
    let mut line = VecDeque::new();
    let mut leavers = Leavers::default();
    let mut leaving = FuturesUnordered::new();
    let mut in_flight = FuturesUnordered::new();
    let mut resting = FuturesUnordered::new();
    loop {
        // Emptied before the wait: a push during this loop leaves a permit in `pushed`, so the wait
        // ends at once.
        while let Some(lease) = queue.pop() {
            line.extend(leavers.gather(PendingRelease::new(&queue, lease)));
        }
        while in_flight.len() < MAX_AT_ONCE
            && let Some(pending) = line.pop_front()
        {
            in_flight.push(reconcile(pending));
        }
        leaving.extend(leavers.ready().into_iter().map(LeavingGroup::leave));
        queue.failed.store(resting.len(), Ordering::Relaxed);
        if queue.is_closed() && in_flight.is_empty() && resting.is_empty() && leaving.is_empty() {
            return;
        }
        tokio::select! {
            () = queue.pushed.notified() => {}
            Some(left) = leaving.next(), if !leaving.is_empty() => {
                leavers.answered(&left);
                in_flight.extend(left.gone.into_iter().map(reconcile));
                resting.extend(left.failed.into_iter().map(PendingRelease::rest));
            }
            failed = all_ready(&mut in_flight), if !in_flight.is_empty() => {
                resting.extend(failed.into_iter().map(PendingRelease::rest));
            }
            Some(rested) = resting.next(), if !resting.is_empty() => line.extend(leavers.gather(rested)),
        }
    }
}

/// Waits until a release has ended, and returns the failed ones of all that have: a batch of releases
/// is answered together.
async fn all_ready<F>(in_flight: &mut FuturesUnordered<F>) -> Vec<PendingRelease>
where
    F: Future<Output = Option<PendingRelease>>,
{
    let (mut failed, mut ended) = (Vec::new(), false);
    poll_fn(|context| {
        while let Poll::Ready(Some(outcome)) = in_flight.poll_next_unpin(context) {
            ended = true;
            failed.extend(outcome);
        }
        if ended { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
    failed
}

/// Sends commands until none is left to send; requeues the lease when the store does not answer.
async fn reconcile(mut pending: PendingRelease) -> Option<PendingRelease> {
    let lease = pending.lease.clone()?;
    while !lease.finish() {
        let sent;
        let done = {
            // With the right to the step: an acquisition that is in flight would otherwise be executed
            // after the release that is meant to undo it.
            let _step = match lease.try_step() {
                Some(step) => step,
                None => lease.step().await,
            };
            let next = lease.state().next_step();
            sent = LeaseInstant::now();
            match next {
                Some(step) => step.take(&lease, sent).await,
                None => {
                    // The step that was under way has settled the lease meanwhile: nothing is left to
                    // send, and the next look finishes it.
                    tokio::task::yield_now().await;
                    continue;
                }
            }
        };
        let Err(failure) = done else { continue };
        if !pending.failed(&lease, failure, sent) {
            return Some(pending);
        }
    }
    pending.lease = None;
    None
}

/// One command that brings the store closer to the desired counts.
enum ReconcileStep {
    TakeBack(Holds),
    Release { mode: Mode, holds: u32, in_line: bool },
}

impl LeaseInner {
    fn next_step(&mut self) -> Option<ReconcileStep> {
        let desired = self.desired();
        if self.mode_in_doubt {
            if desired.read > 0 {
                return Some(ReconcileStep::TakeBack(desired));
            }
            // Without a read to return to, releasing both modes covers every outcome of the change.
            self.mode_in_doubt = false;
        }
        // Reads first: if the write went first while the store still has a read of this owner, the
        // lock would become a read lock for a moment. Readers of other processes would be woken and
        // admitted. A writer that is next would wait for them although the lock is about to be
        // free.
        for mode in [Mode::Read, Mode::Write] {
            let in_line = self.in_line == Some(mode);
            if self.remote.of(mode) > desired.of(mode) || in_line {
                return Some(ReconcileStep::Release { mode, holds: desired.of(mode), in_line });
            }
        }
        None
    }

    /// Whether nothing can be left in the store; then it is written off.
    pub(super) fn write_off(&mut self, now: LeaseInstant, hurry: bool) -> bool {
        let end = if hurry { self.stored_until } else { self.stored_until.after(RELEASE_GRACE) };
        if !self.desired().none() || now < end {
            return false;
        }
        self.has(Holds::default());
        self.in_line = None;
        true
    }
}

impl ReconcileStep {
    async fn take(self, lease: &Arc<Lease>, sent: LeaseInstant) -> Result<(), Unavailable> {
        let gone = match self {
            ReconcileStep::TakeBack(after) => Self::take_back(lease, sent, after).await?,
            ReconcileStep::Release { mode, holds, in_line } => {
                Self::release(lease, sent, mode, holds, in_line).await?
            }
        };
        if gone {
            lease.lose(LostCause::Refused);
        }
        Ok(())
    }

    async fn take_back(
        lease: &Arc<Lease>,
        sent: LeaseInstant,
        after: Holds,
    ) -> Result<bool, Unavailable> {
        let length = lease.state().length;
        let command = ConvertCommand::new(lease.holder(), after, length);
        let answer = lease.client.store.downgrade(command).await?;
        if answer == Downgraded::Lost {
            lease.state().has(after);
            return Ok(true);
        }
        lease.downgraded(after, sent);
        Ok(false)
    }

    /// Returns whether a hold that certainly existed had ended before the release.
    async fn release(
        lease: &Arc<Lease>,
        sent: LeaseInstant,
        mode: Mode,
        holds: u32,
        in_line: bool,
    ) -> Result<bool, Unavailable> {
        let certain = {
            let mut state = lease.state();
            // A release that is sent again finds nothing the second time. Only a hold that was confirmed
            // before this release can have been lost; anything else is the echo of the first release.
            let confirmed = state.confirmed.of_mut(mode);
            std::mem::replace(confirmed, (*confirmed).min(holds)) > holds || holds > 0
        };
        let mut command = ReleaseCommand::new(lease.holder(), mode, holds);
        command.in_line = in_line;
        let began = Instant::now();
        let answer = lease.client.store.release(command).await;
        lease.client.statistics.release.add(began, Instant::now());
        let answer = answer?;
        let mut state = lease.state();
        *state.remote.of_mut(mode) = holds;
        if in_line {
            state.in_line = None;
        }
        if answer == Released::Reserved {
            // Before the permit is given back, which lets the next caller of this process try.
            state.defer_to_reserved();
        }
        let gone = answer == Released::Gone && certain;
        if gone && let Stage::Releasing { gone } = &mut state.stage {
            // Under the lock under which the lease is settled: a caller that waits for the release
            // sees both.
            *gone = true;
        }
        if mode == Mode::Write && holds == 0 && !state.desired().none() {
            let effective = lease.client.effective_lease(state.length, state.remote);
            state.reads_only(sent, effective);
            drop(state);
            // The release has not extended the lease, and may have kept a renewal from its command.
            lease.client.schedule.add_at(lease, LeaseInstant::now());
        }
        Ok(gone)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::LockClient;
    use crate::hold::reconcile_queue::FIRST_RETRY;

    #[tokio::test(start_paused = true)]
    async fn a_lease_is_written_off_at_its_end_or_after_the_grace() {
        let client = LockClient::in_memory();
        let guard = client.write("k").acquire().await.expect("it is free");
        let mut state = guard.hold().lease.state();
        let end = state.stored_until;
        assert!(!state.write_off(end.after(RELEASE_GRACE), false), "it is wanted");
        state.start_release();
        let just_before = |end: LeaseInstant| {
            LeaseInstant::now().after(LeaseInstant::now().until(end) - FIRST_RETRY)
        };
        assert!(!state.write_off(just_before(end), true));
        assert!(!state.write_off(just_before(end.after(RELEASE_GRACE)), false));
        assert_eq!(state.remote.write, 1);
        assert!(state.write_off(end, true));
        assert!(state.remote.none());
        assert!(state.write_off(end.after(RELEASE_GRACE), false));
    }
}
