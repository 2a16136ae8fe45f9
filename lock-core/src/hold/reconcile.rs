//! Brings the store down to the counts that the holds want: the one way by which anything is
//! released.
//!
//! A dropped guard, a cancelled acquisition, a lost hold and a change of mode of unknown outcome
//! all end here. One task per client works the queue, with many leases at a time over one
//! connection. It retries each until the store has confirmed or the lease must have ended.

use std::{
    collections::VecDeque,
    pin::pin,
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use futures_util::{
    FutureExt,
    future::{Fuse, FusedFuture},
    stream::{FuturesUnordered, StreamExt},
};
use lock_store::{Holds, Mode, runtime::LeaseInstant};
use tokio::task::yield_now;

use super::{
    leavers::{Leavers, LeavingGroup},
    reconcile_queue::{PendingRelease, ReconcileQueue},
    release_batch::{ReleaseBatches, send},
    state::LeaseInner,
};

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
    let mut waiting = FuturesUnordered::new();
    let mut batches = ReleaseBatches::default();
    // The batch that is sent while no other is in flight has its place here: one more future in
    // `others` costs an allocation and about as much as the release itself.
    let mut first = pin!(Fuse::terminated());
    let mut others = FuturesUnordered::new();
    let mut in_flight = 0;
    let mut resting = FuturesUnordered::new();
    loop {
        // Emptied before the wait: a push during this loop leaves a permit in `pushed`, so the wait
        // ends at once.
        while let Some(lease) = queue.pop() {
            line.extend(leavers.gather(PendingRelease::new(&queue, lease)));
        }
        while in_flight < MAX_AT_ONCE
            && let Some(pending) = line.pop_front()
        {
            match pending.next() {
                Ok(None) => {}
                Ok(Some(due)) => {
                    in_flight += 1;
                    batches.add(due);
                }
                Err(pending) => waiting.push(pending.after_step()),
            }
        }
        let came_together = batches.0.iter().any(|batch| !batch.more.is_empty());
        for batch in batches.0.drain(..) {
            if first.is_terminated() {
                first.set(send(batch).fuse());
            } else {
                others.push(send(batch));
            }
        }
        leaving.extend(leavers.ready().into_iter().map(LeavingGroup::leave));
        queue.failed.store(resting.len(), Ordering::Relaxed);
        if queue.is_closed()
            && in_flight == 0
            && [waiting.is_empty(), resting.is_empty(), leaving.is_empty()] == [true; 3]
        {
            return;
        }
        let answered = tokio::select! {
            biased;
            Some(left) = leaving.next(), if !leaving.is_empty() => {
                leavers.answered(&left);
                line.extend(left.gone);
                resting.extend(left.failed.into_iter().map(PendingRelease::rest));
                continue;
            }
            Some(rested) = resting.next(), if !resting.is_empty() => {
                line.extend(leavers.gather(rested));
                continue;
            }
            Some(pending) = waiting.next(), if !waiting.is_empty() => {
                line.push_back(pending);
                continue;
            }
            answered = &mut first, if !first.is_terminated() => answered,
            Some(answered) = others.next(), if !others.is_empty() => answered,
            () = queue.pushed.notified() => {
                if came_together {
                    // Other tasks that are ready to run may add releases to this batch. Only after
                    // a batch of several: a lone release would wait for a turn of the runtime in
                    // vain.
                    yield_now().await;
                }
                continue;
            }
        };
        in_flight -= answered.count;
        line.extend(answered.again);
        resting.extend(answered.failed.into_iter().map(PendingRelease::rest));
    }
}

/// One command that brings the store closer to the desired counts.
pub(super) enum ReconcileStep {
    TakeBack(Holds),
    /// `certain`: the holds existed.
    Release {
        mode: Mode,
        holds: u32,
        in_line: bool,
        certain: bool,
    },
}

impl LeaseInner {
    pub(super) fn next_step(&mut self) -> Option<ReconcileStep> {
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
                let holds = desired.of(mode);
                // A release that is sent again finds nothing the second time. Only a hold that was
                // confirmed before this release can have been lost; anything else is the echo of
                // the first release.
                let confirmed = self.confirmed.of_mut(mode);
                let before = std::mem::replace(confirmed, (*confirmed).min(holds));
                let certain = before > holds || holds > 0;
                return Some(ReconcileStep::Release { mode, holds, in_line, certain });
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
    pub(super) fn is_release(&self) -> bool {
        matches!(self, Self::Release { .. })
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
