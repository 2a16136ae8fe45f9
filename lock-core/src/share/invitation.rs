//! A place under another reader's hold.

use std::{sync::Arc, time::Duration};

use super::{Asked, Shared};
use crate::{
    clock::Moment,
    hold::{Hold, HoldState},
    request::Request,
};

/// Dropped, it is declined. Until then what the store grants to the host stays.
pub(super) struct Invitation(Option<Arc<Hold>>);

impl Drop for Invitation {
    fn drop(&mut self) {
        let Some(host) = self.0.take() else { return };
        let is_left = {
            let mut state = host.state();
            if let Some(shared) = &mut state.shared {
                shared.expected -= 1;
            }
            state.is_left_by_all()
        };
        if is_left {
            host.leave();
        }
    }
}

impl Invitation {
    /// Under the hold of this host, if it shares with such a reader now.
    pub(super) fn of(host: Arc<Hold>, request: &Request) -> Option<Self> {
        let invited = host.state().invite(request, host.engine.settings.yielding);
        invited.then(|| Self(Some(host)))
    }

    /// Whether the host was granted what it asks for.
    pub(super) async fn granted(&self) -> bool {
        let Some(host) = &self.0 else { return false };
        let mut changes = host.changes();
        loop {
            match host.state().shared.as_deref().map(|shared| shared.asked) {
                Some(Asked::UnderWay) => {}
                asked => return asked == Some(Asked::Granted),
            }
            // The sender lives in the hold, which lives here.
            let _ = changes.changed().await;
        }
    }

    /// Who has come itself is a guest now; `None` when there is nothing to join any more. What it
    /// was about to ask for is left over.
    pub(super) fn accept(mut self, own: &Hold, request: &Request) -> Option<Arc<Hold>> {
        let host = Arc::clone(self.0.as_ref()?);
        let mut own = own.state();
        let mut theirs = host.state();
        if !theirs.can_be_joined(Moment::now()) {
            return None;
        }
        theirs.shared.as_mut()?.expected -= 1;
        let mut permit = own.permit.take();
        if let Some(permit) = &mut permit {
            permit.wait_no_more();
        }
        let guest = theirs.guest(&host, request, own.waited, permit);
        self.0 = None;
        Some(guest)
    }
}

impl Hold {
    /// Gives up what is there for nobody but those who were invited before it was granted, and have
    /// not even looked at it by the time it is to be renewed.
    pub(crate) fn nobody_has_come(self: &Arc<Self>) -> bool {
        {
            let mut state = self.state();
            let waits = |shared: &Shared| shared.is_needed() && shared.guests.is_empty();
            let in_vain = state.guards.none() && state.shared.as_deref().is_some_and(waits);
            if !in_vain {
                return false;
            }
            state.shared = None;
        }
        self.announce();
        self.leave();
        true
    }
}

impl HoldState {
    /// For no longer than a reader stands back behind a writer: whoever comes later asks the store
    /// whether one waits.
    fn invite(&mut self, request: &Request, yielding: Duration) -> bool {
        let now = Moment::now();
        let in_time = now < self.turns_until && now.since(self.granted_at) < yielding;
        let certain = in_time && self.can_be_joined(now) && !self.counted().none();
        let alike = self.terms.lease == request.terms.lease;
        let Some(shared) = &mut self.shared else { return false };
        let open = match shared.asked {
            Asked::UnderWay => true,
            Asked::Granted => certain,
            Asked::Refused => false,
        };
        if !open || !alike || shared.places == 0 {
            return false;
        }
        shared.places -= 1;
        shared.expected += 1;
        true
    }

    /// Whether what the store has granted was of use to guests only, and is no more.
    pub(super) fn is_left_by_all(&self) -> bool {
        let granted = |shared: &Shared| shared.asked == Asked::Granted && !shared.is_needed();
        self.guards.none() && self.shared.as_deref().is_some_and(granted)
    }
}
