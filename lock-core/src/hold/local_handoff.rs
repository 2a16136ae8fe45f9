//! Local hand-off: a lease whose last hold has ended is passed to the next waiter of this process,
//! without a command to the store.
//!
//! This happens a bounded number of times: once for each fencing token in reserve, and until the
//! first renewal is due, a third of the lease from its grant. Then the lease is released, and the
//! waiter that has waited longest, in any process, is next. So two thirds of a lease are left to
//! the waiter that gets it. A lease is handed off only if the store is known to have exactly one
//! write for it, and nothing is in doubt. Nothing but acquisitions and renewals was ever sent for
//! it, so no late release of an earlier hold can end a later one.

use std::{sync::Arc, time::Duration};

use lock_store::{FencingToken, Kind, lease, runtime::LeaseInstant};
use tokio::time::Instant;

use super::{
    Arrival, Hold,
    lease::Lease,
    request::LockRequest,
    state::{LeaseInner, Stage},
};
use crate::{
    gate::{Access, HandoffKey, Tenant},
    types::MAX_LOCAL_HANDOFFS,
};

/// After hand-offs this process pauses for their duration divided by this, before it tries for the
/// lock again. A waiter that has no place in our queue, such as a client of Redisson, can acquire
/// the free lock meanwhile.
const SHARE_OF_OTHERS: u32 = 16;
/// The longest pause: a waiter that has not tried by then is delayed by something else.
const MAX_PAUSE: Duration = Duration::from_millis(2);
/// The most hand-offs of a grant while clients of another library wait: with these, and one turn in two that
/// such a client misses because it was slow to wake, it gets one for each ten.
const BESIDE_OTHERS: u32 = 4;
/// The resolution of timers. After a few milliseconds of hand-offs a round trip is as large a share
/// of their duration as the pause.
const TIMER_RESOLUTION: Duration = Duration::from_millis(1);

/// For how long after its release a lock is left to the waiters that it is reserved for. They try again as
/// soon as the message reaches them. A try of this process in the same moment would be refused, and Redis
/// would execute it before theirs.
const LEFT_TO_RESERVED: Duration = TIMER_RESOLUTION;

/// How often a lease may still be handed off, and until when.
#[derive(Debug, Clone, Copy)]
pub(crate) struct HandoffBudget {
    pub(crate) left: u32,
    /// Also how long readers may join.
    pub(super) until: LeaseInstant,
    used: bool,
}

impl HandoffBudget {
    pub(super) fn none(now: LeaseInstant) -> Self {
        Self { left: 0, until: now, used: false }
    }

    /// The hand-offs for a grant of a command that was sent at `sent`: until the first renewal is
    /// due.
    pub(super) fn begin(left: u32, sent: LeaseInstant, length: Duration) -> Self {
        Self { left, until: sent.after(lease::renewal_period(length)), used: false }
    }
}

impl LockRequest {
    /// The lease that this waiter would accept.
    pub(crate) fn handoff_key(&self) -> Option<HandoffKey> {
        // A holder that was requested to release leaves the request to its owner, which a hand-off
        // passes on.
        let takes = Access::of(self.kind, self.mode) == Access::Write
            && self.max_local_handoffs() > 0
            && self.options.replace.is_none();
        takes.then_some(HandoffKey { kind: self.kind, length: self.hold_options.lease })
    }

    fn max_local_handoffs(&self) -> u32 {
        if self.hold_options.renew {
            self.hold_options.max_local_handoffs.min(MAX_LOCAL_HANDOFFS)
        } else {
            0
        }
    }

    /// How many hand-offs to reserve if this many waiters are behind it: twice the hand-offs of all
    /// of them, so that others wait at most twice as long as behind each of them in turn. Few
    /// `beside_others`, clients of another library, which get no turn before the last of them.
    pub(crate) fn handoffs_to_reserve(&self, waiting: usize, beside_others: bool) -> u32 {
        let most = self.handoff_key().map_or(0, |_| self.max_local_handoffs());
        let most = if beside_others { most.min(BESIDE_OTHERS) } else { most };
        u32::try_from(waiting).map_or(most, |waiting| most.min(waiting.saturating_mul(2)))
    }
}

/// A lease without holds that the store still has. On drop it is passed to the next waiter or
/// released.
#[derive(Debug)]
pub(crate) struct Handoff(Option<Arc<Lease>>);

impl Tenant for Lease {
    type Handoff = Handoff;
}

impl Drop for Handoff {
    fn drop(&mut self) {
        let Some(lease) = self.0.take() else { return };
        let next = {
            let mut state = lease.state();
            state.stage = Stage::Held;
            state.next(lease.kind)
        };
        lease.proceed(next);
    }
}

impl Handoff {
    /// Creates a new hold on the lease: guards, views and scopes of the former one are not
    /// connected to it. `None`: the waiter took it too late, and the lease is released.
    pub(crate) fn take(mut self, request: &LockRequest) -> Option<Arc<Hold>> {
        let lease = self.0.take()?;
        let (hold, recorded) = {
            let (mut state, now) = (lease.state(), LeaseInstant::now());
            let recorded = state.recorded;
            let hold = if now < state.valid_until {
                state.stage = Stage::Held;
                // Each hand-off uses one of the tokens that were reserved with the grant. Without one left
                // two holders would have the same token, and the resource could not refuse the late one.
                state.handoffs.left -= 1;
                state.handoffs.used = true;
                state.token = state.token.map(FencingToken::next);
                state.least_remaining = None;
                Some(state.add_hold(&lease, request, None, Arrival::HandedOff, now))
            } else {
                // The holder of an ended lease could work beside the next one in another process:
                // it is released instead, and the waiter gets an error.
                state.start_release();
                None
            };
            (hold, recorded)
        };
        if recorded {
            // From now on it is for the work of another.
            lease.record_work();
        }
        if hold.is_none() {
            lease.client.reconcile(Arc::clone(&lease));
        }
        hold
    }
}

impl Lease {
    /// Passes the lease to the next waiter, or has it released. Returns whether a waiter has it.
    pub(super) fn hand_off(self: &Arc<Self>, key: HandoffKey) -> bool {
        let handoff = Handoff(Some(Arc::clone(self)));
        let Some(mut back) = self.client.gate.hand_off(&self.key, key, handoff) else {
            // Waiters for the release of the former hold need not wait until the next one runs.
            self.announce();
            return true;
        };
        // Emptied, so that its drop does not try the next waiter again.
        back.0 = None;
        self.state().start_release();
        self.client.reconcile(Arc::clone(self));
        false
    }
}

impl LeaseInner {
    /// The waiters that would accept it, if it may be handed off.
    pub(super) fn handoff_key(&self, kind: Kind) -> Option<HandoffKey> {
        if self.handoffs.left == 0 {
            return None;
        }
        let now = LeaseInstant::now();
        let fits = now < self.handoffs.until && self.is_certain(now);
        // Re-entry and changes of mode take the hand-offs away: one of their commands that is still
        // in flight could change or release the lease under the next holder.
        debug_assert!(!fits || self.remote == self.confirmed, "BUG: {self:?}");
        fits.then_some(HandoffKey { kind, length: self.length })
    }

    /// After the last hand-off the waiters of this process let others try first.
    pub(super) fn defer_own_waiters(&self) {
        if !self.handoffs.used {
            return;
        }
        let pause = (LeaseInstant::now().since(self.granted_at) / SHARE_OF_OTHERS).min(MAX_PAUSE);
        if pause >= TIMER_RESOLUTION
            && let Some(permit) = &self.permit
        {
            permit.defer_others(Instant::now() + pause);
        }
    }

    /// The released lock is reserved for waiters elsewhere: those of this process let them try first.
    pub(super) fn defer_to_reserved(&self) {
        // While turns are shorter than the pause, a process that pauses would miss turns: the others would
        // find no waiter, and acquire the lock again and again.
        let turn = LeaseInstant::now().since(self.granted_at);
        if turn >= LEFT_TO_RESERVED
            && let Some(permit) = &self.permit
        {
            permit.defer_others(Instant::now() + LEFT_TO_RESERVED);
        }
    }
}
