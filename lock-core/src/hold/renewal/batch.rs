//! One round trip's worth of renewals.

use std::{collections::HashMap, sync::Arc, time::Duration};

use lock_store::{Kind, Mode, RenewCommand, Renewal, StoreError, lease, runtime::LeaseInstant};
use tokio::time::Instant;

use super::{BUSY_RETRY, schedule::Schedule};
use crate::{
    hold::{Lease, Stage, StepPermit},
    types::{LeaseState, LostCause},
};

/// Leases per round trip. Each command blocks Redis for as long as 32 renewals take, a seventh of a
/// millisecond: a command of a request that arrives meanwhile waits for that long. Smaller batches
/// would cost Redis more in total, because each command has costs besides its leases.
pub(super) const BATCH: usize = 32;

/// The time between two batches of leases that are due at the same moment, unless there are too many
/// for it.
const GAP: Duration = Duration::from_millis(1);

/// A lease taken out of the schedule; it returns there when this is dropped, whatever the outcome.
struct DueLease {
    lease: Arc<Lease>,
    /// Keeps every other step of the lease away.
    _step: StepPermit,
    again: Option<LeaseInstant>,
}

impl Drop for DueLease {
    fn drop(&mut self) {
        // Without an answer, as after a panic, it returns soon. A lease that is missing from the
        // schedule would never be renewed, and would end under its holder.
        let at = self.again.unwrap_or_else(|| LeaseInstant::now().after(BUSY_RETRY));
        self.lease.client.schedule.add_at(&self.lease, at);
    }
}

/// Leases that one round trip can renew.
pub(crate) struct Batch {
    mode: Mode,
    due: Vec<DueLease>,
}

/// The properties that leases of one batch share.
type Alike = (Kind, Mode, u16);

/// Sorts the due leases: expired ones are lost, and as many as fit in a batch are renewed now. The
/// others are deferred: in a burst of renewals the commands of requests would wait for all of them.
///
/// Each renewal is deferred once, by at most a twelfth of the lease, however many there are. So when
/// it is sent, seven twelfths of the lease are left, less the margin: if Redis is slow or does not
/// answer, there is time for six more attempts.
pub(crate) fn batches(schedule: &Schedule, due: Vec<Arc<Lease>>) -> Vec<Batch> {
    let now = LeaseInstant::now();
    let mut alike: HashMap<Alike, Vec<DueLease>> = HashMap::new();
    let mut place = due.iter().filter(|lease| lease.state().renewal_deferred).count();
    let count = due.len().div_ceil(BATCH);
    for lease in due {
        lease.expire(now);
        if lease.drop_unclaimed() || lease.state().stage != Stage::Held {
            continue;
        }
        if lease.due_for_renewal().is_none() {
            schedule.add(&lease);
            continue;
        }
        // A lease that was deferred before is renewed now, however many there are.
        if !schedule.together && !std::mem::take(&mut lease.state().renewal_deferred) {
            let batches_before = place / BATCH;
            place += 1;
            if batches_before > 0 {
                let at = lease.deferred(now, batches_before, count);
                schedule.add_at(&lease, at);
                continue;
            }
        }
        let Some(step) = lease.try_step() else {
            // Another command of the lease is in flight. If that is a release, a renewal beside it
            // could be executed after it and be answered as lost.
            schedule.add_at(&lease, now.after(BUSY_RETRY));
            continue;
        };
        // Only now: until here another thread may have changed the mode or released the lease, and the store
        // would answer a renewal in the former mode as lost.
        match lease.due_for_renewal() {
            Some(mode) => {
                let shard = lease.client.store.shard(&lease.key);
                let due = alike.entry((lease.kind, mode, shard)).or_default();
                due.push(DueLease { lease, _step: step, again: None });
            }
            None => schedule.add(&lease),
        }
    }
    let mut batches = Vec::new();
    for ((_, mode, _), mut due) in alike {
        while !due.is_empty() {
            let rest = due.split_off(due.len().min(BATCH));
            batches.push(Batch { mode, due: std::mem::replace(&mut due, rest) });
        }
    }
    batches
}

impl Batch {
    /// One lease.
    pub(crate) fn of(step: StepPermit, mode: Mode) -> Self {
        let lease = Arc::clone(step.lease());
        Self { mode, due: vec![DueLease { lease, _step: step, again: None }] }
    }

    /// Renews the leases. Fails if the store did not answer; each is then tried again.
    pub(crate) async fn renew(mut self) -> Result<(), StoreError> {
        let Some(first) = self.due.first() else {
            return Ok(());
        };
        let client = Arc::clone(&first.lease.client);
        let began = Instant::now();
        let sent = LeaseInstant::of(began);
        let command = |DueLease { lease, .. }: &DueLease| {
            let mut state = lease.state();
            let length = state.length;
            // Recorded before it is sent: a renewal that is executed late keeps the lock for a
            // whole lease. The release is retried for at least that time.
            state.may_be_stored(sent, length);
            RenewCommand::new(lease.holder(), length)
        };
        let commands = self.due.iter().map(command).collect();
        let answers = client.store.renew(self.mode, commands).await;
        client.statistics.renew.add(began, Instant::now());
        client.statistics.renewed.add(self.due.len());
        let failed = answers.as_ref().err().cloned();
        let mut answers = answers.unwrap_or_default().into_iter();
        let mut reasons = Vec::new();
        for entry in &mut self.due {
            let answer = answers
                .next()
                .unwrap_or_else(|| Renewal::failed("the store returned no result for it"));
            if let Renewal::Failed { reason } = &answer {
                reasons.push(reason.clone());
            }
            entry.again = Some(entry.lease.renewed(answer, sent));
        }
        let holds = reasons.len();
        if let Some(failure) = failed {
            tracing::warn!(holds, %failure, "renewal failed, trying again");
            return Err(failure);
        }
        if let Some(failure) = reasons.first() {
            tracing::warn!(holds, %failure, "renewal failed, trying again");
        }
        Ok(())
    }
}

impl Lease {
    /// When it must be checked next.
    pub(crate) fn due(&self) -> LeaseInstant {
        let state = self.state();
        let end = state.end();
        if !state.renews {
            return end;
        }
        if state.mode_in_doubt {
            return end.min(LeaseInstant::now().after(BUSY_RETRY));
        }
        let effective = self.client.effective_lease(state.length, state.confirmed);
        end.min(state.confirmed_at.after(lease::renewal_period(effective)))
    }

    /// When it is renewed if it waits for some of the batches that are due now.
    fn deferred(&self, now: LeaseInstant, batches_before: usize, batches: usize) -> LeaseInstant {
        let whole = |count| u32::try_from(count).unwrap_or(u32::MAX);
        let mut state = self.state();
        state.renewal_deferred = true;
        // Of a lease whose last renewal failed, less may be left.
        let left = lease::renewal_period(state.length).min(now.until(state.valid_until));
        now.after(GAP.min(left / 4 / whole(batches)).saturating_mul(whole(batches_before)))
    }

    /// The mode to renew in, unless the lease runs out by choice, or is released.
    fn due_for_renewal(&self) -> Option<Mode> {
        let is_due = {
            let state = self.state();
            state.renews && state.stage == Stage::Held
        };
        self.certain_mode().filter(|_| is_due)
    }

    /// The mode in which the store has the lease; `None` while a change of mode is in doubt.
    pub(in crate::hold) fn certain_mode(&self) -> Option<Mode> {
        let state = self.state();
        // If the release of a write is in doubt, the lease is renewed as a read: renewed as a write it
        // could be refused, and a read that is still held would be taken for lost.
        let mode = if state.confirmed.write > 0 { Mode::Write } else { Mode::Read };
        (!state.mode_in_doubt).then_some(mode)
    }

    /// It lives past a renewal: its work is recorded from now on.
    fn long_lived(self: &Arc<Self>) {
        let first = {
            let state = self.state();
            if state.recorded {
                return;
            }
            state.holds.iter().next()
        };
        if let Some(hold) = first {
            hold.record_work();
        }
    }

    /// Applies a renewal's answer and returns when to check again.
    fn renewed(self: &Arc<Self>, answer: Renewal, sent: LeaseInstant) -> LeaseInstant {
        let now = LeaseInstant::now();
        match answer {
            Renewal::Renewed => {
                {
                    let mut state = self.state();
                    let left = now.until(state.valid_until);
                    let least = state.least_remaining.map_or(left, |least| least.min(left));
                    state.least_remaining = Some(least);
                    let effective = self.client.effective_lease(state.length, state.confirmed);
                    state.confirm(sent, effective, now);
                    state.renewal = LeaseState::Renewed;
                    state.may_be_taken = false;
                }
                self.announce();
                self.long_lived();
                self.due()
            }
            Renewal::Failed { .. } => {
                let mut state = self.state();
                // Unknown is not lost: the holder works on until its own clock ends the lease, and
                // the renewal is tried again until then.
                state.renewal = LeaseState::Unknown;
                now.after(lease::renewal_retry(state.length)).min(state.valid_until)
            }
            Renewal::Lost => {
                self.lose(LostCause::Refused);
                now
            }
        }
    }
}
