//! A hold under its host's: how it enters again, leaves, and goes on without its host.

use std::sync::Arc;

use super::Shared;
use crate::{
    Lost, LostCause, UpgradeError,
    convert::UNCONFIRMED,
    error::Unavailable,
    hold::{Hold, HoldState},
    terms::Asked,
};

impl Hold {
    /// One guard more for this guest, for which the store has counted one more read of its host;
    /// `false` when the guest has gone meanwhile.
    pub(crate) fn guest_enters_again(&self, host: &Arc<Hold>, asked: &Asked) -> Result<bool, Lost> {
        let mut state = self.state();
        if let Some(cause) = state.lost {
            return Err(self.lost(cause));
        }
        if !state.host.as_ref().is_some_and(|known| Arc::ptr_eq(known, host)) {
            return Ok(false);
        }
        let mut theirs = host.state();
        let Some(shared) = &mut theirs.shared else {
            return Err(self.lost(LostCause::Refused));
        };
        shared.again += 1;
        state.guards.read += 1;
        state.terms = state.terms.longest(asked);
        Ok(true)
    }

    /// Ends its part in what the store has for its host; `false` for one that is no guest.
    pub(crate) fn leave_host(self: &Arc<Self>) -> bool {
        let (host, again) = {
            let mut state = self.state();
            let Some(host) = state.host.take() else { return false };
            state.least_remaining = state.least_remaining.or(host.state().least_remaining);
            (host, state.guards.read.saturating_sub(1))
        };
        host.guest_left(self, again);
        true
    }

    fn guest_left(self: &Arc<Self>, guest: &Arc<Hold>, again: u32) {
        let is_left = {
            let mut state = self.state();
            state.last_failure = None;
            let Some(shared) = &mut state.shared else { return };
            shared.guests.retain(|known| !std::ptr::eq(known.as_ptr(), Arc::as_ptr(guest)));
            shared.again -= again;
            if state.guards.none() {
                // It may have been the host's own read that has ended.
                state.invites_no_more();
            }
            state.is_left_by_all()
        };
        if is_left {
            self.leave();
        } else if again > 0 {
            self.engine.settle(Arc::clone(self));
        }
    }

    /// One of several guards of a guest has gone.
    pub(crate) fn guest_left_once(self: &Arc<Self>) {
        {
            let mut state = self.state();
            state.last_failure = None;
            if let Some(shared) = &mut state.shared {
                shared.again -= 1;
            }
        }
        self.engine.settle(Arc::clone(self));
    }

    /// What the store has goes over to the only one who still reads under it, if this is a guest.
    /// A host that has left has nothing to do with it any more.
    pub(crate) async fn take_over(self: &Arc<Self>) -> Result<(), UpgradeError> {
        let Some(host) = self.state().host.clone() else { return Ok(()) };
        // No answer to an earlier step may come for somebody who has it no more.
        let _steps = host.steps().await;
        let (permit, due) = {
            let mut own = self.state();
            if own.host.is_none() {
                return Ok(());
            }
            let mut theirs = host.state();
            if !theirs.is_for_one_guest() {
                return Err(UpgradeError::NotSole { key: self.key.clone() });
            }
            if theirs.in_doubt() {
                return Err(Unavailable::unsent(UNCONFIRMED).into());
            }
            own.take_over(&mut theirs);
            let permit = theirs.permit.take();
            let permit = if own.permit.is_none() {
                own.permit = permit;
                None
            } else {
                permit
            };
            (permit, theirs.due.take())
        };
        host.ended(permit, due);
        self.engine.schedule.add(self);
        if !self.state().is_settled() {
            // Of what it had entered again something was left meanwhile.
            self.engine.settle(Arc::clone(self));
        }
        Ok(())
    }
}

impl HoldState {
    fn is_for_one_guest(&self) -> bool {
        let one = |shared: &Shared| shared.expected == 0 && shared.guests.len() == 1;
        self.guards.none() && self.shared.as_deref().is_some_and(one)
    }

    fn take_over(&mut self, host: &mut Self) {
        self.host = None;
        host.shared = None;
        self.stored = std::mem::take(&mut host.stored);
        self.confirmed = std::mem::take(&mut host.confirmed);
        self.confirmed_at = host.confirmed_at;
        self.believed_until = host.believed_until;
        self.stored_until = host.stored_until;
        self.lease_state = host.lease_state;
        self.least_remaining = host.least_remaining;
        self.terms.lease = host.terms.lease;
    }
}
