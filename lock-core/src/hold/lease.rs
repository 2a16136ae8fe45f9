//! A lease: the store's grant for one owner on one key.
//!
//! `desired()` is the count that its holds want, `remote` is the most that the store may have.
//! Acquiring raises `remote` before the command is sent, and adds a hold after the grant. A dropped
//! guard lowers `desired()` at once, and `remote` when the store has confirmed the release.
//! Whatever happens in between, a cancelled future, a timeout, a lost reply,
//! [`reconcile`](super::reconcile) brings the two together again: nothing that is above `desired()`
//! stays in the store.
//!
//! Locks are taken in this order: the schedule, one lease, its holds, the gate.

use std::{
    fmt,
    sync::{Arc, MutexGuard, atomic::Ordering},
};

use lock_store::{
    FencingToken, Holder, Kind, LockKey, OwnerId,
    runtime::{LeaseInstant, Mutex},
};
use tokio::sync::Notify;

use super::{
    Arrival, Hold, Permit,
    client_inner::ClientInner,
    local_handoff::HandoffBudget,
    request::LockRequest,
    state::{LeaseInner, Next, Stage},
};
use crate::types::LostCause;

pub(crate) struct Lease {
    pub(crate) client: Arc<ClientInner>,
    pub(crate) kind: Kind,
    pub(crate) key: LockKey,
    pub(crate) owner: OwnerId,
    state: Mutex<LeaseInner>,
    /// The state has changed in a way that a task may wait for.
    changed: Notify,
}

/// Queues the lease for reconciliation if a step was dropped or failed before its outcome was
/// known: the store may have more than the holds want then.
pub(crate) struct ReconcileOnDrop<'a>(pub(crate) &'a Arc<Lease>);

impl Drop for ReconcileOnDrop<'_> {
    fn drop(&mut self) {
        if !self.0.state().is_settled() {
            self.0.client.reconcile(Arc::clone(self.0));
        }
    }
}

/// The right to send the store a lease's next step, until this is dropped: one at a time.
#[derive(Debug)]
pub(crate) struct StepPermit(Arc<Lease>);

impl StepPermit {
    pub(super) fn lease(&self) -> &Arc<Lease> {
        &self.0
    }
}

impl Drop for StepPermit {
    fn drop(&mut self) {
        self.0.state().stepping = false;
        // All waiters are notified: if one alone were, and its future was not polled, the others would
        // wait although the right is free.
        self.0.announce();
    }
}

impl fmt::Debug for Lease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.state();
        f.debug_struct("Lease")
            .field("key", &self.key)
            .field("stage", &state.stage)
            .field("guards", &state.holds.guards)
            .field("renewal", &state.renewal)
            .finish_non_exhaustive()
    }
}

impl Lease {
    /// Creates a lease that is about to be acquired. It exists before anything is sent, so that
    /// whatever the store may grant is released when the acquisition is dropped.
    pub(crate) fn new(
        client: &Arc<ClientInner>,
        request: &LockRequest,
        permit: Permit,
    ) -> Arc<Self> {
        client.holds.fetch_add(1, Ordering::AcqRel);
        let owner = match request.kind {
            Kind::Semaphore => OwnerId::permit(),
            _ => client.owners.next(),
        };
        Arc::new(Self {
            client: Arc::clone(client),
            kind: request.kind,
            key: request.key.clone(),
            owner,
            state: Mutex::new(LeaseInner::new(request, permit)),
            changed: Notify::new(),
        })
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, LeaseInner> {
        self.state.lock()
    }

    pub(crate) fn holder(&self) -> Holder {
        Holder::new(self.kind, self.key.clone(), self.owner.clone())
    }

    pub(crate) fn announce(&self) {
        self.changed.notify_waiters();
    }

    /// Waits until `look` returns a value for the state.
    pub(crate) async fn until<T>(&self, mut look: impl FnMut(&mut LeaseInner) -> Option<T>) -> T {
        loop {
            // Created before the state is checked: a change between the check and the wait would
            // otherwise notify no task, and this one would sleep although it is due.
            let changed = self.changed.notified();
            if let Some(found) = look(&mut self.state()) {
                return found;
            }
            changed.await;
        }
    }

    /// Waits for the right to send the lease's next step. Steps of one lease never overlap: two
    /// commands in flight may be executed in either order. The answer to the earlier one could be
    /// taken for that of the later one. A release could be executed before the acquisition that it
    /// is meant to undo.
    pub(crate) async fn step(self: &Arc<Self>) -> StepPermit {
        self.until(LeaseInner::begin_step).await;
        StepPermit(Arc::clone(self))
    }

    /// Returns the right to the next step, or `None` if another step is under way.
    pub(crate) fn try_step(self: &Arc<Self>) -> Option<StepPermit> {
        self.state().begin_step()?;
        Some(StepPermit(Arc::clone(self)))
    }

    /// The store has granted the command that was sent at `sent`. Waiting readers may join.
    pub(crate) fn granted(
        self: &Arc<Self>,
        request: &LockRequest,
        sent: LeaseInstant,
        now: LeaseInstant,
        token: Option<FencingToken>,
    ) -> Arc<Hold> {
        let hold = {
            let mut state = self.state();
            let effective = self.client.effective_lease(state.length, state.remote);
            state.stage = Stage::Held;
            state.granted_at = now;
            state.handoffs = HandoffBudget::begin(state.handoffs.left, sent, state.length);
            state.confirm(sent, effective, now);
            state.token = token;
            state.in_line = None;
            *state.confirmed.of_mut(request.mode) = 1;
            if let Some(permit) = &mut state.permit {
                permit.wait_no_more();
                permit.stay();
            }
            let arrival = Arrival::of(state.waited);
            state.add_hold(self, request, None, arrival, now)
        };
        self.announce();
        hold
    }

    /// Ends every hold on this lease and releases everything that the store may still have. Returns
    /// how many holds there were.
    pub(crate) fn lose(self: &Arc<Self>, mut cause: LostCause) -> usize {
        let lost = {
            let mut state = self.state();
            let refused = cause == LostCause::Refused;
            cause = if refused && state.may_be_taken { LostCause::Taken } else { cause };
            match &mut state.stage {
                Stage::Acquiring => return 0,
                // The waiter that was handed the lease has not run yet. It checks the validity when
                // it does, and must find that it has ended.
                Stage::HandedOff => {
                    state.valid_until = LeaseInstant::now();
                    return 0;
                }
                Stage::Releasing { gone } => {
                    *gone |= refused;
                    return 0;
                }
                Stage::Held => {}
            }
            // All holds end under one lock with the stage: a reader that joins at this moment finds
            // the lease released, not held.
            let lost = state.lose_holds(cause);
            state.start_release();
            state.stage = Stage::Releasing { gone: refused };
            lost
        };
        for hold in &lost {
            hold.notify_lost(cause);
        }
        self.announce();
        self.proceed(Next::Reconcile);
        lost.len()
    }

    /// Ends the holds whose time is over: all of them with the lease, or single ones with their
    /// `max_hold`.
    pub(crate) fn expire(self: &Arc<Self>, now: LeaseInstant) {
        let over: Vec<_> = {
            let state = self.state();
            if now < state.end() {
                return;
            }
            state.holds.iter().collect()
        };
        for hold in over {
            // Outside the lock: `check` locks the lease again. The hold may have ended since.
            let _ = hold.check();
        }
        // A lease without holds is kept for readers that are about to join, and ends with its validity.
        if self.state().valid_until <= now {
            self.lose(LostCause::Expired);
        }
    }

    /// Continues after a hold or a joining reader has gone; `false` when the lease was to be handed
    /// off and no waiter has taken it.
    pub(super) fn proceed(self: &Arc<Self>, next: Next) -> bool {
        match next {
            Next::Nothing => {}
            Next::HandOff(key) => return self.hand_off(key),
            Next::Reconcile if self.finish() => {}
            Next::Reconcile => self.client.reconcile(Arc::clone(self)),
        }
        true
    }

    /// Ends a lease of which nothing is left in the store, or that must have expired there.
    ///
    /// `false`: the store may have more than is wanted.
    pub(crate) fn finish(&self) -> bool {
        let (permit, due, recorded) = {
            let mut state = self.state();
            match state.stage {
                // Its next holder releases it: a release from here would end that hold.
                Stage::HandedOff => return true,
                // The permit stays until the store is known to have nothing more: the next local
                // acquisition would otherwise overtake the release.
                _ if !state.is_settled() => return false,
                Stage::Held => return true,
                Stage::Acquiring | Stage::Releasing { .. } => {
                    (state.permit.take(), state.due.take(), state.recorded)
                }
            }
        };
        if let Some(due) = due {
            self.client.schedule.remove(self, due);
        }
        if recorded {
            self.client.work_log.end(&self.owner);
        }
        self.client.give_back(permit);
        self.announce();
        true
    }
}

impl LeaseInner {
    fn begin_step(&mut self) -> Option<()> {
        (!std::mem::replace(&mut self.stepping, true)).then_some(())
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use crate::client::LockClient;

    #[tokio::test]
    async fn steps_are_taken_one_at_a_time_and_none_is_forgotten() {
        let client = LockClient::in_memory();
        let guard = client.write("k").acquire().await.expect("it is free");
        let lease = &guard.hold().lease;
        let first = lease.try_step().expect("no other has it");
        assert!(lease.try_step().is_none());
        let (mut gives_up, mut waits, mut last) =
            (Box::pin(lease.step()), Box::pin(lease.step()), Box::pin(lease.step()));
        for waiter in [&mut gives_up, &mut waits, &mut last] {
            assert!(waiter.now_or_never().is_none());
        }
        drop(first);
        // It was notified, and leaves before it is polled.
        drop(gives_up);
        let second = (&mut waits).now_or_never().expect("it is next");
        assert!((&mut last).now_or_never().is_none());
        drop(second);
        assert!(last.now_or_never().is_some());
        assert!(lease.try_step().is_some());
    }

    #[tokio::test]
    async fn steps_wait_for_no_waiter_that_is_not_polled() {
        let client = LockClient::in_memory();
        let guard = client.write("k").acquire().await.expect("it is free");
        let lease = &guard.hold().lease;
        let first = lease.try_step().expect("no other has it");
        let (mut idle, mut waits) = (Box::pin(lease.step()), Box::pin(lease.step()));
        for waiter in [&mut idle, &mut waits] {
            assert!(waiter.now_or_never().is_none());
        }
        drop(first);
        assert!(waits.now_or_never().is_some());
        drop(idle);
    }
}
