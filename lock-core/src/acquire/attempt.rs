//! One attempt at a lease, or at several at once.

use std::{sync::Arc, time::Duration};

use tokio::time::Instant;

use crate::{
    hold::{Hold, Lease, LockRequest, WaitDeadline},
    runtime::LeaseInstant,
    store::{AcquireCommand, Acquired, AcquiredAll, ReleaseCommand},
    types::{AcquireError, Overloaded, StoreError, Unavailable, lease},
};

/// How long a waiter's place in line lives unless it is renewed, and how often a waiter renews it.
/// A dead waiter holds others back for no longer than that, and a waiter polls this often, whatever
/// notifications it has received.
const PLACE: Duration = Duration::from_secs(3);
pub(crate) const REFRESH: Duration = Duration::from_secs(1);

/// Leases whose acquisition is under way. Dropped at any point, it leaves nothing in the store: a
/// command that is in flight may still be granted after the caller has gone, so every lease that the
/// store may have is released.
#[derive(Default)]
pub(crate) struct Attempt {
    pub(crate) leases: Vec<Arc<Lease>>,
}

impl Drop for Attempt {
    fn drop(&mut self) {
        for lease in self.leases.drain(..) {
            lease.on_refused();
            if !lease.finish() {
                lease.state().start_release(LeaseInstant::now());
                lease.engine.clone().reconcile(lease);
            }
        }
    }
}

pub(crate) fn late(lease: Duration) -> AcquireError {
    Unavailable::unsent("the lock was granted too late to be of use").held_for(lease).into()
}

/// The outcome of an attempt.
pub(crate) enum AttemptOutcome {
    Granted(Vec<Arc<Hold>>),
    /// `sent` is when it was sent, by the clock of timers.
    Refused {
        at: usize,
        answer: Acquired,
        sent: Instant,
    },
}

impl Attempt {
    /// The store did not answer: readers that wait for this attempt try themselves.
    pub(crate) fn not_answered(&self) {
        for lease in &self.leases {
            lease.on_refused();
        }
    }

    /// Sends one command, for all leases or none.
    pub(crate) async fn send(
        &mut self,
        requests: &[LockRequest],
        wait_deadline: WaitDeadline,
        yields: bool,
        limit: Option<Instant>,
    ) -> Result<AttemptOutcome, AcquireError> {
        let [first, ..] = self.leases.as_slice() else {
            return Ok(AttemptOutcome::Granted(Vec::new()));
        };
        let (sent, sent_at) = (Instant::now(), LeaseInstant::now());
        let alone = requests.len() == 1;
        let steps: Vec<_> = self
            .leases
            .iter()
            .zip(requests)
            .map(|(lease, request)| {
                lease.first_step(request, wait_deadline, sent_at, yields, alone)
            })
            .collect();
        let command = async {
            match <[AcquireCommand; 1]>::try_from(steps) {
                Ok([step]) => Ok(match first.engine.store.acquire(step).await? {
                    Acquired::Granted(token) => AcquiredAll::Granted(vec![token]),
                    answer => AcquiredAll::Refused { at: 0, answer },
                }),
                Err(steps) => first.engine.store.acquire_all(steps).await,
            }
        };
        let answer = match limit {
            Some(limit) => {
                let answer = tokio::time::timeout_at(limit, command).await;
                answer.unwrap_or_else(|_| Err(Unavailable::late().into()))
            }
            None => command.await,
        };
        if let Err(why) = &answer
            && why.is_silent()
        {
            first.engine.open_breaker(&first.key, sent_at);
        }
        let longest =
            requests.iter().map(|request| request.hold_options.lease).max().unwrap_or_default();
        if let Err(StoreError::Unsupported(what)) = answer {
            // The store has executed nothing, so nothing is released: a release would be answered as
            // unsupported too, and retried until the lease has ended.
            for (lease, request) in self.leases.iter().zip(requests) {
                lease.refused(request, None);
                lease.state().in_line = None;
            }
            return Err(what.into());
        }
        match answer.map_err(|why| why.held_for(longest))? {
            AcquiredAll::Granted(tokens) => {
                let now = LeaseInstant::now();
                // A grant that took so long that its lease may have ended is not used: the store may
                // have granted the lock to another by now.
                if !self.leases.iter().all(|lease| lease.in_time(sent_at, now)) {
                    return Err(late(longest));
                }
                let granted =
                    std::mem::take(&mut self.leases).into_iter().zip(requests).zip(tokens);
                let holds = granted
                    .map(|((lease, request), token)| lease.granted(request, sent_at, now, token));
                Ok(AttemptOutcome::Granted(holds.collect()))
            }
            AcquiredAll::Refused { at, answer } => {
                for (place, (lease, request)) in self.leases.iter().zip(requests).enumerate() {
                    lease.refused(request, (place == at).then_some(answer));
                }
                Ok(AttemptOutcome::Refused { at, answer, sent })
            }
        }
    }
}

impl Lease {
    /// The command for the outermost hold. The lease records before the command is sent what the store
    /// may have from then on: a caller that is dropped in between releases it.
    fn first_step(
        &self,
        request: &LockRequest,
        wait_deadline: WaitDeadline,
        sent: LeaseInstant,
        yields: bool,
        alone: bool,
    ) -> AcquireCommand {
        let waits = wait_deadline.deadline.is_some();
        let waiting = if alone { self.engine.gate.queued(&self.key) } else { 0 };
        let place = waits.then_some(PLACE);
        let reserves = alone && self.engine.store.reserves_tokens();
        let handoffs = if reserves { request.handoffs_to_reserve(waiting) } else { 0 };
        {
            let mut state = self.state();
            state.handoffs.left = handoffs;
            *state.remote.of_mut(request.mode) = 1;
            state.in_line = waits.then_some(request.mode);
            state.may_be_stored(sent, request.hold_options.lease);
        }
        AcquireCommand {
            yields,
            place,
            waited: wait_deadline.started_at.elapsed(),
            reserved_tokens: handoffs,
            permits: request.permits,
            ..AcquireCommand::new(self.holder(), request.mode, request.hold_options.lease)
        }
    }

    /// Whether a grant of a command sent at `sent` can still be relied upon.
    fn in_time(&self, sent: LeaseInstant, now: LeaseInstant) -> bool {
        let state = self.state();
        let effective = self.engine.effective_lease(state.length, state.remote);
        now < sent.after(lease::validity(effective))
    }

    /// Records a refusal: of this lease, or of another in the same command, which does not change
    /// this one's place in the queue.
    fn refused(&self, request: &LockRequest, own: Option<Acquired>) {
        self.on_refused();
        let mut state = self.state();
        *state.remote.of_mut(request.mode) = 0;
        state.waited = true;
        if let Some(answer) = own {
            let stands = matches!(
                answer,
                Acquired::Busy { in_line: true, .. } | Acquired::Yield { in_line: true, .. }
            );
            state.in_line = stands.then_some(request.mode);
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
        let step = ReleaseCommand { holder: self.holder(), mode, holds: 0, in_line: true };
        if self.engine.store.release(step).await.is_ok() {
            self.state().in_line = None;
        }
    }
}
