//! What a process knows of one hold.

use std::{sync::Arc, time::Duration};

use tokio::sync::Notify;

use super::Hold;
use crate::{
    FencingToken, LeaseState, LostCause, Mode, clock::Moment, error::Unavailable, gate::Permit,
    lease, renewal::Place, share::Shared, store::Holds, terms::Terms,
};

#[derive(Debug)]
pub(crate) struct HoldState {
    pub(crate) guards: Holds,
    pub(crate) stored: Holds,
    /// The least that the store has: granted for certain, and not even perhaps released.
    pub(crate) confirmed: Holds,
    /// Of the outermost grant; a semaphore has none.
    pub(crate) token: Option<FencingToken>,
    pub(crate) terms: Terms,
    pub(crate) granted_at: Moment,
    /// When the last confirmed acquisition or renewal was sent.
    pub(crate) confirmed_at: Moment,
    /// Until here the holder may believe.
    pub(crate) believed_until: Moment,
    /// After this the store cannot hold anything more for us.
    pub(crate) stored_until: Moment,
    pub(crate) lease_state: LeaseState,
    /// Whether others were in the way before it was granted.
    pub(crate) waited: bool,
    /// The least that was left of the belief when a renewal was confirmed, or given up.
    pub(crate) least_remaining: Option<Duration>,
    pub(crate) lost: Option<LostCause>,
    /// The mode in which this waiter may stand in line in the store.
    pub(crate) in_line: Option<Mode>,
    /// Nobody knows whether the last change of mode took place.
    pub(crate) mode_in_doubt: bool,
    pub(crate) last_failure: Option<Box<Unavailable>>,
    /// The store said that there was nothing to release.
    pub(crate) was_gone: bool,
    /// Where this hold stands in the renewal schedule.
    pub(crate) due: Option<Place>,
    /// The place at the gate, until nothing is left in the store.
    pub(crate) permit: Option<Permit>,
    /// How often it may still be handed over, and until when.
    pub(crate) turns: u32,
    pub(crate) turns_until: Moment,
    /// Its guards are gone, and it is with the next waiter, who may not have looked yet.
    pub(crate) passed_on: bool,
    /// The grant of the first turn, where this is a later one.
    pub(crate) turns_since: Option<Moment>,
    /// Under whose hold this one reads; the store has nothing for it then.
    pub(crate) host: Option<Arc<Hold>>,
    /// With whom it shares what the store has for it.
    pub(crate) shared: Option<Box<Shared>>,
    /// Somebody has the right to its next step.
    pub(crate) stepping: bool,
    /// Tells those who wait for that right when it is given back; most holds nobody waits for.
    pub(crate) step_ended: Option<Arc<Notify>>,
}

impl HoldState {
    pub(crate) fn new(terms: Terms, permit: Option<Permit>, now: Moment) -> Self {
        Self {
            guards: Holds::default(),
            stored: Holds::default(),
            confirmed: Holds::default(),
            token: None,
            terms,
            granted_at: now,
            confirmed_at: now,
            believed_until: now,
            stored_until: now,
            lease_state: LeaseState::Held,
            waited: permit.as_ref().is_some_and(|permit| permit.queued),
            least_remaining: None,
            lost: None,
            in_line: None,
            mode_in_doubt: false,
            last_failure: None,
            was_gone: false,
            due: None,
            permit,
            turns: 0,
            passed_on: false,
            turns_until: now,
            turns_since: None,
            host: None,
            shared: None,
            stepping: false,
            step_ended: None,
        }
    }

    /// What the store should hold: what the guards hold, or nothing once that is lost, or where it
    /// has it for the host.
    pub(crate) fn wanted(&self) -> Holds {
        let nothing = self.lost.is_some() || self.host.is_some();
        if nothing { Holds::default() } else { self.counted() }
    }

    /// Whether somebody believes in it.
    pub(crate) fn is_held(&self) -> bool {
        self.lost.is_none() && !self.guards.none()
    }

    pub(crate) fn is_settled(&self) -> bool {
        self.stored == self.wanted()
            && !self.mode_in_doubt
            && (self.in_line.is_none() || !self.guards.none())
    }

    /// Whether a step of unknown outcome may still be on its way. What is granted may go another way,
    /// and must not overtake it.
    pub(crate) fn in_doubt(&self) -> bool {
        self.mode_in_doubt || self.confirmed != self.stored
    }

    pub(crate) fn max_hold_ends(&self) -> Option<Moment> {
        self.terms.max_hold.map(|most| self.granted_at.after(most))
    }

    /// Whether the lease that this hold has of its own can be believed in no longer.
    pub(super) fn is_over(&self, now: Moment) -> bool {
        self.host.is_none() && now >= self.believed_until
    }

    /// Whether it has a time of its own at which somebody must look at it.
    pub(crate) fn has_an_end(&self) -> bool {
        !self.wanted().none() || self.terms.max_hold.is_some() && self.is_held()
    }

    pub(super) fn over_max_hold(&self, now: Moment) -> bool {
        self.max_hold_ends().is_some_and(|end| now >= end)
    }

    /// The store has confirmed the lease by an answer to what was sent at `sent`, which came by `now`.
    pub(crate) fn confirm(&mut self, sent: Moment, lease: Duration, now: Moment) {
        self.confirmed_at = self.confirmed_at.max(sent);
        self.believed_until = self.believed_until.max(sent.after(lease::belief(lease)));
        self.stored_until = self.stored_until.max(now.after(self.terms.lease));
    }

    /// Something is sent now that may give us a lease, whenever it is carried out.
    pub(crate) fn may_be_stored(&mut self, sent: Moment, lease: Duration) {
        self.stored_until = self.stored_until.max(sent.after(lease));
    }

    /// One guard more, for what the store has granted.
    pub(crate) fn add_guard(&mut self, mode: Mode) {
        *self.guards.of_mut(mode) += 1;
        self.set_leaving(false);
    }

    /// A change of mode is under way: what is certain is what it leaves alone.
    pub(crate) fn doubt_mode(&mut self, after: Holds) {
        self.mode_in_doubt = true;
        self.turns = 0;
        self.shared = None;
        self.confirmed.read = self.confirmed.read.min(after.read);
        self.confirmed.write = self.confirmed.write.min(after.write);
        self.may_be_stored(Moment::now(), self.terms.lease);
    }

    /// The store has exactly this.
    pub(crate) fn has(&mut self, holds: Holds) {
        self.mode_in_doubt = false;
        self.stored = holds;
        self.confirmed = holds;
    }

    /// The last write has become a read, by what was sent at `sent`.
    pub(crate) fn reads_only(&mut self, sent: Moment, believed: Duration) {
        if let Some(permit) = &mut self.permit {
            permit.downgrade();
        }
        self.believed_until = self.believed_until.min(sent.after(lease::belief(believed)));
    }

    pub(crate) fn set_leaving(&mut self, leaving: bool) {
        if let Some(permit) = &mut self.permit {
            permit.set_leaving(leaving);
        }
    }
}
