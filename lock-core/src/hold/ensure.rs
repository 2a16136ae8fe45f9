//! Enough of a hold for the next step: a renewal at once, and a longer `max_hold`.

use std::{sync::Arc, time::Duration};

use lock_key::MAX_DURATION;
use lock_store::{Unavailable, lease, runtime::LeaseInstant};

use super::{Hold, UNCONFIRMED, renewal};
use crate::types::{EnsureError, LeaseState, Lost};

impl Hold {
    /// For how long it may be relied upon if nothing is renewed any more.
    pub(crate) fn remaining(&self) -> Duration {
        LeaseInstant::now().until(self.valid_until())
    }

    /// Renews the lease now, unless the hold can be relied upon for `wanted` at least.
    pub(crate) async fn ensure(self: &Arc<Self>, wanted: Duration) -> Result<(), EnsureError> {
        if self.has(wanted)? {
            return Ok(());
        }
        // Nothing is sent for a time that no renewal can give.
        self.at_least(self.most_remaining(), wanted)?;
        // Waits for the step under way: two renewals at once could be executed in either order, and
        // the older answer would be taken for the newer one.
        let step = self.lease.step().await;
        // The step before it may have been a renewal.
        if self.has(wanted)? {
            return Ok(());
        }
        let Some(mode) = self.lease.certain_mode() else {
            return Err(Unavailable::unsent(UNCONFIRMED).into());
        };
        renewal::renew_now(step, mode).await.map_err(Unavailable::from)?;
        self.check()?;
        if self.lease.state().renewal == LeaseState::Unknown {
            return Err(Unavailable::unsent("it could not renew the lease").into());
        }
        // The answer may have taken most of the lease.
        self.at_least(self.remaining(), wanted)
    }

    fn has(self: &Arc<Self>, wanted: Duration) -> Result<bool, Lost> {
        self.check()?;
        Ok(self.remaining() >= wanted)
    }

    /// The most that a renewal at this moment can give.
    fn most_remaining(&self) -> Duration {
        let renewed = {
            let state = self.lease.state();
            lease::validity(self.lease.client.effective_lease(state.length, state.confirmed))
        };
        let now = LeaseInstant::now();
        self.max_hold_ends().map_or(renewed, |end| now.until(end).min(renewed))
    }

    fn at_least(&self, available: Duration, wanted: Duration) -> Result<(), EnsureError> {
        if available >= wanted {
            return Ok(());
        }
        Err(EnsureError::TooLong { key: self.lease.key.clone(), wanted, available })
    }

    /// Lets the hold end at `ends`, if it has a `max_hold` that ends later.
    pub(crate) fn end_by(&self, ends: LeaseInstant) {
        let mut own = self.state();
        own.max_hold = own.max_hold.map(|most| most.min(ends.since(self.granted_at)));
    }

    /// Lets the hold last for `by` from now on at least, if it has a `max_hold` that ends earlier.
    pub(crate) fn extend_max_hold(self: &Arc<Self>, by: Duration) -> Result<(), Lost> {
        self.check()?;
        let reached = LeaseInstant::now().since(self.granted_at).saturating_add(by);
        // The schedule still has the earlier end, and finds then that it is not due.
        let mut own = self.state();
        if let Some(end) = own.end {
            return Err(self.lost(end.cause()));
        }
        own.max_hold = own.max_hold.map(|most| most.max(reached.min(MAX_DURATION)));
        Ok(())
    }
}
