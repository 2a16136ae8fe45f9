//! The steps of a batch, from the leases that are due to what is left of each after the answer: releases
//! of one shard that are sent by one command, or one change of mode that is taken back.

use std::sync::Arc;

use lock_store::{
    ConvertCommand, Downgraded, Holds, Mode, ReleaseCommand, Released, Unavailable,
    runtime::LeaseInstant,
};
use tokio::time::Instant;

use super::{
    lease::{Lease, StepPermit},
    reconcile::ReconcileStep,
    reconcile_queue::PendingRelease,
    state::Stage,
};
use crate::types::LostCause;

/// Releases in one command: Redis serves no other client meanwhile.
const BATCH: usize = 64;

/// The batches that are put together from the leases that are due.
#[derive(Default)]
pub(super) struct ReleaseBatches(pub(super) Vec<ReleaseBatch>);

/// Releases of one shard that are sent together, or one change of mode. A release alone needs no
/// list.
pub(super) struct ReleaseBatch {
    shard: u16,
    first: DueStep,
    pub(super) more: Vec<DueStep>,
}

impl ReleaseBatches {
    pub(super) fn add(&mut self, due: DueStep) {
        let lease = due.permit.lease();
        let shard = lease.client.store.shard(&lease.key);
        let has_room = |batch: &&mut ReleaseBatch| {
            batch.shard == shard
                && batch.more.len() + 1 < BATCH
                && [&due, &batch.first].iter().all(|due| due.step.is_release())
        };
        match self.0.iter_mut().find(has_room) {
            Some(batch) => batch.more.push(due),
            None => self.0.push(ReleaseBatch { shard, first: due, more: Vec::new() }),
        }
    }
}

/// A lease with the right to its next step, and that step.
pub(super) struct DueStep {
    pending: PendingRelease,
    permit: StepPermit,
    step: ReconcileStep,
}

/// The leases of a batch that was answered.
pub(super) struct Answered {
    pub(super) count: usize,
    /// The store may still have more than their holds want.
    pub(super) again: Vec<PendingRelease>,
    /// The store did not answer.
    pub(super) failed: Vec<PendingRelease>,
}

impl PendingRelease {
    /// Returns the next step; `None` if nothing is left to do, and the lease itself if another step
    /// of it is under way.
    pub(super) fn next(mut self) -> Result<Option<DueStep>, Self> {
        let Some(lease) = self.lease.clone() else { return Ok(None) };
        if lease.finish() {
            self.lease = None;
            return Ok(None);
        }
        // With the right to the step: an acquisition that is in flight would otherwise be executed
        // after the release that is meant to undo it.
        let Some(permit) = lease.try_step() else { return Err(self) };
        // Bound to a name: the right is given back, for which the state must not be locked.
        let step = lease.state().next_step();
        match step {
            Some(step) => Ok(Some(DueStep { pending: self, permit, step })),
            // The step that was under way has settled the lease meanwhile: the next look finishes it.
            None => Err(self),
        }
    }

    /// Waits for the end of the step that is under way.
    pub(super) async fn after_step(self) -> Self {
        if let Some(lease) = &self.lease {
            drop(lease.step().await);
        }
        self
    }
}

/// Sends the steps of a batch.
pub(super) async fn send(batch: ReleaseBatch) -> Answered {
    let ReleaseBatch { first, more, .. } = batch;
    let (again, failed) = (Vec::new(), Vec::new());
    let mut answered = Answered { count: 1 + more.len(), again, failed };
    let client = Arc::clone(&first.permit.lease().client);
    let began = Instant::now();
    let sent = LeaseInstant::of(began);
    if let ReconcileStep::TakeBack(after) = first.step {
        let gone = Box::pin(take_back(Arc::clone(first.permit.lease()), sent, after)).await;
        first.answered(gone, sent, &mut answered);
        return answered;
    }
    let commands = std::iter::once(&first).chain(&more).filter_map(DueStep::release).collect();
    let mut answers = client.store.release_all(commands).await.into_iter();
    let ended = Instant::now();
    for due in std::iter::once(first).chain(more) {
        client.statistics.release.add(began, ended);
        let answer = answers.next().unwrap_or_else(|| {
            Err(Unavailable::unsent("the store returned no result for it").into())
        });
        let gone = answer.map(|released| due.released(released, sent)).map_err(Unavailable::from);
        due.answered(gone, sent, &mut answered);
    }
    answered
}

/// Returns whether the lease had ended before its write was turned into a read.
async fn take_back(
    lease: Arc<Lease>,
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

impl DueStep {
    fn release(&self) -> Option<ReleaseCommand> {
        let ReconcileStep::Release { mode, holds, in_line, .. } = self.step else { return None };
        let lease = self.permit.lease();
        let mut command = ReleaseCommand::new(lease.holder(), mode, holds);
        command.in_line = in_line;
        let remote = lease.state().remote;
        command.keeps_other_mode = remote.read + remote.write > remote.of(mode);
        Some(command)
    }

    /// The store has executed the release. Returns whether a hold that certainly existed had ended
    /// before.
    fn released(&self, answer: Released, sent: LeaseInstant) -> bool {
        let ReconcileStep::Release { mode, holds, in_line, certain } = self.step else {
            return false;
        };
        let lease = self.permit.lease();
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
        gone
    }

    /// Ends the step. `gone`: whether a hold had ended before it.
    fn answered(self, gone: Result<bool, Unavailable>, sent: LeaseInstant, to: &mut Answered) {
        let Self { mut pending, permit, .. } = self;
        let lease = Arc::clone(permit.lease());
        let is_known = match gone {
            Ok(gone) => {
                if gone {
                    lease.lose(LostCause::Refused);
                }
                true
            }
            // If nothing of the lease can be left in the store by now, it is finished below.
            Err(why) => pending.failed(&lease, why, sent),
        };
        drop(permit);
        if !is_known {
            to.failed.push(pending);
        } else if lease.finish() {
            pending.lease = None;
        } else {
            to.again.push(pending);
        }
    }
}
