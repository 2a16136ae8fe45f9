//! Handing over: a hold whose guards are gone goes to the next waiter of this process, and the store
//! hears nothing of it.
//!
//! A hold is handed over a bounded number of times, as often as there are fencing tokens in reserve,
//! and until its first renewal is due, a third of its lease from its grant; then it is released, and
//! whoever has waited longest, in whatever process, is next. So two thirds of a lease are left to
//! whom it is handed over to. Only a hold is handed over of which the store is known to have just
//! this: one write or one read, and nothing in doubt.

use std::{sync::Arc, time::Duration};

use tokio::time::Instant;

use crate::{
    FencingToken, Kind, LeaseState,
    clock::Moment,
    gate::Access,
    hold::{Hold, HoldState},
    lease,
    renewal::Place,
    request::Request,
};

/// How often one grant of the store may go on to the next waiter of this process.
pub(crate) const MAX_LOCAL_HANDOFFS: u32 = 63;

/// After turns this process asks for the lock again so much later, of the time that they took: whoever
/// tells nobody that it waits, a client of Redisson, finds it free when it comes.
const SHARE_OF_OTHERS: u32 = 16;
/// It comes within this, or somewhere else is the reason.
const TIME_TO_COME: Duration = Duration::from_millis(2);
/// Timers go no finer. After a few milliseconds a round trip is as large a share.
const FINEST: Duration = Duration::from_millis(1);

/// What a waiter takes over: a write hold of just this kind and lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Fit {
    kind: Kind,
    lease: Duration,
}

impl Request {
    /// What this one would take over.
    pub(crate) fn fit(&self) -> Option<Fit> {
        let takes = self.kind.access(self.mode) == Access::Write && self.max_local_handoffs() > 0;
        takes.then_some(Fit { kind: self.kind, lease: self.terms.lease })
    }

    fn max_local_handoffs(&self) -> u32 {
        if self.terms.renew { self.terms.max_local_handoffs.min(MAX_LOCAL_HANDOFFS) } else { 0 }
    }

    /// The turns to follow the first one if so many wait behind it: those of all of them twice, so
    /// that others wait twice as long at most as behind each of them in turn.
    pub(crate) fn turns_to_follow(&self, waiting: usize) -> u32 {
        let most = self.fit().map_or(0, |_| self.max_local_handoffs());
        u32::try_from(waiting).map_or(most, |waiting| most.min(waiting.saturating_mul(2)))
    }
}

/// A hold without guards that the store still has. Dropped, it goes to the next waiter or back.
#[derive(Debug)]
pub(crate) struct Left(Option<Arc<Hold>>);

impl Drop for Left {
    fn drop(&mut self) {
        if let Some(hold) = self.0.take() {
            hold.leave();
        }
    }
}

impl Left {
    /// The store's part of the hold goes over to a new one, which is another turn: guards, views and
    /// scopes of the former one have nothing to do with it.
    pub(crate) fn take(mut self, request: &Request) -> Arc<Hold> {
        let left = self.0.take().expect("BUG: a hold was taken over twice");
        let (state, due) = left.state().hand_over(request, Moment::now());
        left.goes_on(request, HoldState { waited: true, ..state }, due)
    }
}

impl Hold {
    /// The last guard has gone, and those of its guests.
    pub(crate) fn leave(self: &Arc<Self>) {
        if self.leave_host() && self.finish() {
            return;
        }
        let now = Moment::now();
        let fit = self.state().fit_to_leave(self.kind, now);
        if let Some(fit) = fit {
            let left = Left(Some(Arc::clone(self)));
            self.state().passed_on = true;
            let Some(mut back) = self.engine.gate.pass_on(&self.key, fit, left) else {
                // Who waits for the release of this one does not wait for the other to look.
                self.announce();
                return;
            };
            back.0 = None;
        }
        {
            let mut state = self.state();
            state.passed_on = false;
            state.stand_back(now);
            state.set_leaving(true);
        }
        self.engine.settle(Arc::clone(self));
    }

    /// The next turn has what the store had for this one.
    fn goes_on(&self, request: &Request, next: HoldState, due: Option<Place>) -> Arc<Hold> {
        // Who waits for the release of this one has not to wait for the next.
        self.announce();
        let next = Hold::next_turn(self, request, next);
        if let Some(due) = due {
            self.engine.schedule.hand_on(due, self, &next);
        }
        next
    }
}

impl HoldState {
    /// Whom it would fit, if it may be handed over.
    fn fit_to_leave(&self, kind: Kind, now: Moment) -> Option<Fit> {
        let in_time = now.until(self.turns_until) > Duration::ZERO;
        let certain = self.lost.is_none() && self.lease_state != LeaseState::Unknown;
        let fits = self.turns > 0 && in_time && certain;
        // Whatever else was asked of it has taken its turns away.
        debug_assert!(!fits || self.stored == self.confirmed, "BUG: {self:?}");
        fits.then_some(Fit { kind, lease: self.terms.lease })
    }

    /// Those who come after the last turn let others try first.
    fn stand_back(&mut self, now: Moment) {
        let Some(since) = self.turns_since else { return };
        let pause = (now.since(since) / SHARE_OF_OTHERS).min(TIME_TO_COME);
        if pause >= FINEST
            && let Some(permit) = &self.permit
        {
            permit.stand_back(Instant::now() + pause);
        }
    }

    /// What the next turn has, and where this one stood in the renewal schedule.
    fn hand_over(&mut self, request: &Request, now: Moment) -> (Self, Option<Place>) {
        let next = Self {
            token: self.token.map(FencingToken::next),
            stored: std::mem::take(&mut self.stored),
            confirmed: std::mem::take(&mut self.confirmed),
            confirmed_at: self.confirmed_at,
            believed_until: self.believed_until,
            stored_until: self.stored_until,
            lease_state: self.lease_state,
            turns: self.turns - 1,
            turns_until: self.turns_until,
            turns_since: Some(self.turns_since.unwrap_or(self.granted_at)),
            ..Self::new(request.terms, self.permit.take(), now)
        };
        (next, self.due.take())
    }

    /// The store has granted what was asked for then: until the first renewal is due, it may be
    /// handed over.
    pub(crate) fn turns_begin(&mut self, sent: Moment, lease: Duration) {
        self.turns_until = sent.after(lease::renewal_period(lease));
    }
}
