//! One attempt of one lease: its command, and the answer.

use std::{slice, sync::Arc, time::Duration};

use lock_store::{AcquireCommand, Acquired, ReleaseCommand, lease, runtime::LeaseInstant};
use tokio::time::Instant;

use super::attempt::{AttemptOutcome, checked, late, within};
use crate::{
    hold::{Hold, Lease, LockRequest, WaitDeadline},
    types::{AcquireError, Overloaded},
};

/// How long a waiter's place in line lives unless it is renewed, which every attempt does: see [`REFRESH`](super::attempt::REFRESH).
/// A dead waiter holds others back for no longer than that.
const PLACE: Duration = Duration::from_secs(3);

impl Lease {
    /// Nothing of it stays in the store.
    pub(super) fn give_up(self: Arc<Self>) {
        // Readers that wait for this leader try themselves now. Otherwise they would wait until
        // their command timeout for an answer that no task receives.
        self.on_refused();
        if !self.finish() {
            self.state().start_release();
            self.client.clone().reconcile(self);
        }
    }

    /// Sends the command for the outermost hold.
    pub(super) async fn attempt(
        self: &Arc<Self>,
        request: &LockRequest,
        wait_deadline: WaitDeadline,
        yields: bool,
        limit: Option<Instant>,
    ) -> Result<AttemptOutcome<Arc<Hold>>, AcquireError> {
        self.client.check_draining()?;
        let sent = Instant::now();
        let sent_at = LeaseInstant::of(sent);
        let command = self.first_step(request, wait_deadline, (sent, sent_at), yields, true);
        let answer = within(limit, self.client.store.acquire(command)).await;
        let ended = Instant::now();
        self.client.statistics.acquire.add(sent, ended);
        match checked(answer, slice::from_ref(self), slice::from_ref(request), sent_at)? {
            Acquired::Granted(token) => {
                let now = LeaseInstant::of(ended);
                // A grant whose lease may have ended during the command is not used: the store may
                // have granted the lock to another client by now.
                if !self.in_time(sent_at, now) {
                    return Err(late(request.hold_options.lease));
                }
                // After a shutdown nothing is granted: the caller could not be waited for.
                self.client.check_draining()?;
                Ok(AttemptOutcome::Granted(self.granted(request, sent_at, now, token)))
            }
            answer => {
                self.refused(request, Some(answer));
                Ok(AttemptOutcome::Refused { at: 0, answer, sent })
            }
        }
    }

    /// The command for the outermost hold. The lease records before the command is sent that the
    /// store may have it: a caller that is dropped in between releases it.
    #[inline]
    pub(super) fn first_step(
        &self,
        request: &LockRequest,
        wait_deadline: WaitDeadline,
        (sent, sent_at): (Instant, LeaseInstant),
        yields: bool,
        alone: bool,
    ) -> AcquireCommand {
        let waits = wait_deadline.deadline.is_some();
        let waiting = if alone { self.client.gate.queued(&self.key) } else { 0 };
        let place = waits.then_some(PLACE);
        let reserves = alone && self.client.store.reserves_tokens();
        let handoffs = if reserves && waiting > 0 {
            let beside_others = self.client.store.met_others(&self.key).is_some();
            request.handoffs_to_reserve(waiting, beside_others)
        } else {
            0
        };
        {
            let mut state = self.state();
            state.handoffs.left = handoffs;
            *state.remote.of_mut(request.mode) = 1;
            state.in_line = waits.then_some(request.mode);
            state.may_be_stored(sent_at, request.hold_options.lease);
        }
        let lease = request.hold_options.lease;
        let mut command = AcquireCommand::new(self.holder(), request.mode, lease);
        (command.yields, command.place) = (yields, place);
        command.waited = sent.saturating_duration_since(wait_deadline.started_at);
        command.reserved_tokens = handoffs;
        (command.permits, command.wanted_permits) = (request.permits, request.wanted_permits);
        command
    }

    /// Whether a grant of a command sent at `sent` can still be relied upon.
    #[inline]
    pub(super) fn in_time(&self, sent: LeaseInstant, now: LeaseInstant) -> bool {
        let state = self.state();
        let effective = self.client.effective_lease(state.length, state.remote);
        now < sent.after(lease::validity(effective))
    }

    /// Records a refusal: of this lease, or of another in the same command, which does not change
    /// this one's place in the queue.
    pub(super) fn refused(&self, request: &LockRequest, own: Option<Acquired>) {
        self.on_refused();
        let mut state = self.state();
        *state.remote.of_mut(request.mode) = 0;
        state.waited = true;
        if let Some(answer) = own {
            let in_line = matches!(
                answer,
                Acquired::Busy { in_line: true, .. } | Acquired::Yield { in_line: true, .. }
            );
            state.in_line = in_line.then_some(request.mode);
            if let Some(permit) = &mut state.permit {
                permit.refused();
            }
        }
    }

    /// Counts this lease as a waiter at the store, unless the limit is reached.
    pub(crate) fn waits(&self, request: &LockRequest) -> Result<(), Overloaded> {
        let mut state = self.state();
        let Some(permit) = &mut state.permit else { return Ok(()) };
        permit.wait(request.options.max_waiters)
    }

    /// Keeps no other caller of this process away from a semaphore, while another lock is waited for:
    /// requests of one tenant at its limit would otherwise keep all others from the limit of all.
    pub(super) fn step_aside(&self) {
        if let Some(permit) = &mut self.state().permit {
            permit.step_aside();
        }
    }

    pub(crate) fn waits_no_more(&self) {
        if let Some(permit) = &mut self.state().permit {
            permit.wait_no_more();
        }
    }

    /// Gives up the place in line of one of several locks, since another one is in the way now:
    /// other waiters would be held back from a lock that this acquisition no longer waits for.
    /// Without an answer the place expires.
    pub(crate) async fn leave_line(&self) {
        let in_line = self.state().in_line;
        let Some(mode) = in_line else { return };
        let mut command = ReleaseCommand::new(self.holder(), mode, 0);
        command.in_line = true;
        if self.client.store.release(command).await.is_ok() {
            self.state().in_line = None;
        }
    }
}
