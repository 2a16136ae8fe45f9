//! The state of one lease, as known to this process.

use std::{
    sync::{Arc, Weak},
    time::Duration,
};

use lock_store::{FencingToken, Holds, Kind, Mode, Unavailable, lease, runtime::LeaseInstant};

use super::{
    Arrival, Hold, Permit, lease::Lease, local_handoff::HandoffBudget, renewal::ScheduleKey,
    request::LockRequest, shared_read::SharedRead,
};
use crate::{
    gate::HandoffKey,
    types::{LeaseState, LostCause},
};

/// The stages of a lease. It moves down this list, except that a hand-off leads back to `Held`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Nothing is granted yet; the store may have executed a command that was sent.
    Acquiring,
    /// Granted: holds rely on it, or it is kept for readers that are about to join.
    Held,
    /// Its last hold has ended, and it belongs to the next waiter of this process, which may not
    /// have run yet.
    HandedOff,
    /// Given up: everything is removed from the store. `gone`: the store reported that it had ended
    /// already.
    Releasing { gone: bool },
}

#[derive(Debug)]
pub(crate) struct LeaseInner {
    pub(crate) stage: Stage,
    pub(crate) holds: LiveHolds,
    /// The most that the store may have.
    pub(crate) remote: Holds,
    /// The least that the store has: granted for certain, and with no release in doubt.
    pub(crate) confirmed: Holds,
    /// The outcome of the last change of mode is not known.
    pub(crate) mode_in_doubt: bool,
    /// The mode of this waiter's place in the store's line, if it may have one.
    pub(crate) in_line: Option<Mode>,
    /// Of the last outermost grant, hand-off or upgrade; a semaphore has none.
    pub(crate) token: Option<FencingToken>,
    /// How long it lasts from each renewal.
    pub(crate) length: Duration,
    pub(crate) renews: bool,
    /// When the store granted it.
    pub(crate) granted_at: LeaseInstant,
    /// Whether others were in the way before it was granted.
    pub(crate) waited: bool,
    /// When the last confirmed acquisition or renewal was sent.
    pub(crate) confirmed_at: LeaseInstant,
    /// Until here holds may rely on it.
    pub(crate) valid_until: LeaseInstant,
    /// After this the store cannot have anything more for us.
    pub(crate) stored_until: LeaseInstant,
    /// The course of its renewals.
    pub(crate) renewal: LeaseState,
    /// It was due for renewal together with many others, and is renewed a moment later.
    pub(crate) renewal_deferred: bool,
    /// The least that was left of its validity when a renewal was confirmed.
    pub(crate) least_remaining: Option<Duration>,
    pub(crate) last_failure: Option<Box<Unavailable>>,
    /// Its place in the renewal schedule.
    pub(crate) due: Option<ScheduleKey>,
    /// The place at the gate, until nothing is left in the store.
    pub(crate) permit: Option<Permit>,
    pub(crate) handoffs: HandoffBudget,
    pub(crate) sharing: SharedRead,
    /// A task has the right to its next step.
    pub(super) stepping: bool,
    /// Its work is recorded in the store.
    pub(crate) recorded: bool,
    /// Some lock of the client was taken away, perhaps this one: the next renewal shows it.
    pub(crate) may_be_taken: bool,
}

/// The holds that rely on a lease, and the counts of all their guards.
#[derive(Debug, Default)]
pub(crate) struct LiveHolds {
    /// The one that was granted with the lease or handed the lease: most have no other.
    first: Weak<Hold>,
    /// Those that joined it.
    joined: Vec<Weak<Hold>>,
    pub(crate) guards: Holds,
}

/// The next step after a hold or a joining reader has gone.
#[derive(Debug)]
pub(crate) enum Next {
    Nothing,
    /// The store has more than the holds want.
    Reconcile,
    /// The lease may be passed to a waiter with this key.
    HandOff(HandoffKey),
}

impl LeaseInner {
    pub(super) fn new(request: &LockRequest, permit: Permit) -> Self {
        // Nothing was sent or granted yet.
        let never = LeaseInstant::BEFORE_ALL;
        Self {
            stage: Stage::Acquiring,
            holds: LiveHolds::default(),
            remote: Holds::default(),
            confirmed: Holds::default(),
            mode_in_doubt: false,
            in_line: None,
            token: None,
            length: request.hold_options.lease,
            renews: request.hold_options.renew,
            granted_at: never,
            waited: permit.queued,
            confirmed_at: never,
            valid_until: never,
            stored_until: never,
            renewal: LeaseState::Held,
            renewal_deferred: false,
            least_remaining: None,
            last_failure: None,
            due: None,
            permit: Some(permit),
            handoffs: HandoffBudget::none(never),
            sharing: SharedRead::default(),
            stepping: false,
            recorded: false,
            may_be_taken: false,
        }
    }

    /// The counts that the store should have: those that the holds want. Readers that share count
    /// as one, and as one more for each time that one of them has entered again.
    pub(crate) fn desired(&self) -> Holds {
        if self.stage != Stage::Held {
            return Holds::default();
        }
        let Holds { read, write } = self.holds.guards;
        let read = match self.holds.count() {
            // Readers were let in before the grant and have not joined yet. If the lease were
            // released now, each of them would at once send the store a command for the same lock.
            0 => u32::from(self.sharing.expected > 0),
            sharers => read.saturating_sub(sharers - 1),
        };
        Holds { read, write }
    }

    pub(crate) fn is_settled(&self) -> bool {
        self.remote == self.desired() && !self.mode_in_doubt && self.in_line.is_none()
    }

    /// Whether a step of unknown outcome may still be in flight. A later command may use another
    /// connection, and must not overtake it.
    pub(crate) fn in_doubt(&self) -> bool {
        self.mode_in_doubt || self.confirmed != self.remote
    }

    /// Whether a hold that begins now could rely on it, with nothing in doubt.
    pub(crate) fn is_certain(&self, now: LeaseInstant) -> bool {
        self.renewal != LeaseState::Unknown && now < self.valid_until
    }

    /// When its validity or the first of its holds ends, unless it is renewed.
    pub(crate) fn end(&self) -> LeaseInstant {
        let ends = self.holds.iter().filter_map(|hold| hold.max_hold_ends());
        ends.fold(self.valid_until, LeaseInstant::min)
    }

    /// Adds a hold with one guard. A reader that joins brings its own place at the gate.
    pub(super) fn add_hold(
        &mut self,
        lease: &Arc<Lease>,
        request: &LockRequest,
        mut joins: Option<Permit>,
        arrival: Arrival,
        now: LeaseInstant,
    ) -> Arc<Hold> {
        if let Some(permit) = &mut joins {
            permit.wait_no_more();
        }
        let joined = joins.is_some();
        let hold = Arc::new(Hold::new(lease, request, self.token, arrival, now, joins));
        *self.holds.guards.of_mut(request.mode) += 1;
        if joined {
            self.holds.joined.push(Arc::downgrade(&hold));
        } else {
            self.holds.first = Arc::downgrade(&hold);
        }
        hold
    }

    /// A hold has ended that had these guards until now. Once the first one has read to its end no
    /// other reader may join: see [`SharedRead`].
    pub(super) fn remove_hold(&mut self, hold: &Hold, guards: Holds) {
        self.holds.guards.read -= guards.read;
        self.holds.guards.write -= guards.write;
        if std::ptr::eq(self.holds.first.as_ptr(), hold) {
            self.holds.first = Weak::new();
            self.sharing.places = 0;
        } else {
            self.holds.joined.retain(|known| !std::ptr::eq(known.as_ptr(), hold));
        }
    }

    /// Returns the next step now that a hold or a joining reader has gone. Decided under the same
    /// lock as its end, so that of several that end at the same moment only one is the last.
    pub(super) fn next(&mut self, kind: Kind) -> Next {
        if self.stage != Stage::Held {
            return Next::Nothing;
        }
        if self.holds.count() == 0 && self.sharing.expected == 0 {
            // The stage changes under the same lock: a loss that is found at this moment ends the lease
            // for the waiter too.
            if let Some(key) = self.handoff_key(kind) {
                self.stage = Stage::HandedOff;
                return Next::HandOff(key);
            }
            self.start_release();
        }
        if self.is_settled() { Next::Nothing } else { Next::Reconcile }
    }

    /// From here on nothing of it should be in the store, and nothing relies on it.
    pub(crate) fn start_release(&mut self) {
        self.stage = Stage::Releasing { gone: false };
        self.defer_own_waiters();
        if let Some(permit) = &mut self.permit {
            permit.set_releasing(true);
        }
    }

    /// The store has confirmed the lease by an answer to a command that was sent at `sent`; the
    /// answer had arrived by `now`.
    pub(crate) fn confirm(&mut self, sent: LeaseInstant, lease: Duration, now: LeaseInstant) {
        self.confirmed_at = self.confirmed_at.max(sent);
        // Counted from the send, not from the answer: the store may have executed the command at any
        // moment in between, and its lease runs from there.
        self.valid_until = self.valid_until.max(sent.after(lease::validity(lease)));
        self.stored_until = self.stored_until.max(now.after(self.length));
    }

    /// A command is sent now that may acquire or extend the lease, whenever it is executed.
    pub(crate) fn may_be_stored(&mut self, sent: LeaseInstant, lease: Duration) {
        self.stored_until = self.stored_until.max(sent.after(lease));
    }

    /// A change of mode is under way: only the counts that it does not change are certain.
    pub(crate) fn doubt_mode(&mut self, after: Holds) {
        self.mode_in_doubt = true;
        self.handoffs.left = 0;
        self.sharing.leads = false;
        // Only the count that both modes share is certain now: renewed as more than that, the lease
        // could be answered as lost although the change was executed.
        self.confirmed.read = self.confirmed.read.min(after.read);
        self.confirmed.write = self.confirmed.write.min(after.write);
        self.may_be_stored(LeaseInstant::now(), self.length);
    }

    /// The store has exactly this.
    pub(crate) fn has(&mut self, holds: Holds) {
        self.mode_in_doubt = false;
        self.remote = holds;
        self.confirmed = holds;
    }

    /// The last write has become a read, by a command that was sent at `sent`.
    pub(crate) fn reads_only(&mut self, sent: LeaseInstant, effective: Duration) {
        if let Some(permit) = &mut self.permit {
            permit.downgrade();
        }
        self.valid_until = self.valid_until.min(sent.after(lease::validity(effective)));
    }

    /// Ends all holds of it with this loss.
    pub(super) fn lose_holds(&mut self, cause: LostCause) -> Vec<Arc<Hold>> {
        let holds: Vec<_> = self.holds.iter().collect();
        for hold in &holds {
            hold.mark_lost(self, cause);
        }
        self.holds = LiveHolds::default();
        holds
    }
}

impl LiveHolds {
    pub(crate) fn iter(&self) -> impl Iterator<Item = Arc<Hold>> {
        std::iter::once(&self.first).chain(&self.joined).filter_map(Weak::upgrade)
    }

    pub(crate) fn count(&self) -> u32 {
        // Holds are owned by their guards, and removed from here before the last guard is dropped.
        let joined = u32::try_from(self.joined.len()).unwrap_or(u32::MAX);
        joined + u32::from(self.first.strong_count() > 0)
    }
}
