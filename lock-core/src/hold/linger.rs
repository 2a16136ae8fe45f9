//! Holds that outlast their work: `hold_at_least`.
//!
//! When the last guard of such a hold is dropped early, the hold keeps the guard's count, and the renewal
//! task gives its lease in the store exactly the rest of that time. Once the store has confirmed that,
//! the lease is finished here, and the lock ends in the store by itself: a process that ends right after
//! its work leaves the lock for that time and not for a whole lease. Until then the lease is renewed as any
//! other, and no waiter gets the lock, neither here nor elsewhere.

use std::{sync::Arc, time::Duration};

use lock_key::MAX_DURATION;
use lock_store::{
    Holds, Mode, RenewCommand, Renewal, Unavailable,
    runtime::{Backoff, LeaseInstant, lease_clock},
};

use super::{
    Hold, HoldEnd, StepPermit,
    renewal::Schedule,
    state::{LeaseInner, Next, Stage},
};
use crate::types::LostCause;

const FIRST_RETRY: Duration = Duration::from_millis(10);
const LONGEST_RETRY: Duration = Duration::from_millis(250);
/// A few of the milliseconds in which stores count.
const AT_MOST_EARLIER: Duration = Duration::from_millis(2);

/// The count of a guard that was dropped early, and until when the lock stays held.
#[derive(Debug)]
pub(crate) struct LingeringGuard {
    hold: Arc<Hold>,
    mode: Mode,
    until: LeaseInstant,
}

impl Schedule {
    fn linger(&self, guard: LingeringGuard) {
        self.lingering.lock().push(guard);
        self.sooner.notify_one();
    }

    /// Takes the guards that were dropped early since the last call.
    pub(crate) fn take_lingering(&self) -> Vec<LingeringGuard> {
        std::mem::take(&mut *self.lingering.lock())
    }
}

impl LingeringGuard {
    /// Leaves the lock to the store until its time is over, and gives up the count.
    pub(crate) async fn leave(self) {
        let Self { hold, mode, until } = self;
        // A lease that was requested for this time, and was not renewed, ends then anyway, unless its answer came
        // late: the store counts from before.
        let ends_then = {
            let lease = hold.lease.state();
            lease.stored_until == until
                && lease.confirmed_at.after(lease.length + AT_MOST_EARLIER) >= until
        };
        let mut retry = Backoff::new(FIRST_RETRY);
        while let Err(why) = hold.leave_until(mode, until, ends_then).await {
            hold.lease.state().last_failure = Some(Box::new(why));
            hold.lease.announce();
            tokio::time::sleep(retry.next(LONGEST_RETRY)).await;
        }
    }
}

impl Hold {
    /// One guard fewer. Never blocks, never fails, needs no runtime.
    pub(crate) fn drop_guard(self: &Arc<Self>, mode: Mode) {
        let Some(until) = self.begin_to_linger() else { return self.end_guard(mode) };
        let hold = Arc::clone(self);
        self.lease.client.schedule.linger(LingeringGuard { hold, mode, until });
    }

    /// Until when the hold stays although its last guard is dropped now.
    fn begin_to_linger(&self) -> Option<LeaseInstant> {
        let mut lease = self.lease.state();
        let mut own = self.state();
        let until = self.granted_at.after(own.at_least?);
        let is_last = own.guards.read + own.guards.write == 1;
        if own.end.is_some() || !is_last || LeaseInstant::now() >= until {
            return None;
        }
        own.lingers = true;
        // A failure of an earlier release is not a failure of this one.
        lease.last_failure = None;
        Some(until)
    }

    /// Lets the hold last for `time` from now on at least, although its last guard is dropped earlier.
    pub(crate) fn hold_for(&self, time: Duration) {
        let since = LeaseInstant::now().since(self.granted_at);
        self.state().at_least = Some(since.saturating_add(time).min(MAX_DURATION));
    }

    /// Gives the lease in the store the rest of the time until then. Fails if the store did not confirm it.
    async fn leave_until(
        self: &Arc<Self>,
        mode: Mode,
        until: LeaseInstant,
        ends_then: bool,
    ) -> Result<(), Unavailable> {
        let step = self.settled_step().await?;
        if !self.end_while_alone() {
            self.state().lingers = false;
            self.lease.announce();
            drop(step);
            // Readers of this process that joined use the same lease; a guard of the scope keeps it anyway.
            lease_clock::sleep_until(until).await;
            // A guard that came meanwhile, and is gone, may have been for longer.
            self.drop_guard(mode);
            return Ok(());
        }
        let left = ends_then || self.set_rest(&step, mode, until).await?;
        self.finish(mode, left);
        drop(step);
        Ok(())
    }

    /// Ends the hold for the program, unless others use its lease. Before the store gets a command that may
    /// shorten the lease: it could be executed late, under a guard that relies on a whole lease.
    fn end_while_alone(&self) -> bool {
        let mut lease = self.lease.state();
        let mut own = self.state();
        if !lease.is_alone() || own.guards.read + own.guards.write > 1 {
            return false;
        }
        (lease.sharing.places, lease.handoffs.left) = (0, 0);
        own.end = own.end.or(Some(HoldEnd::Released));
        own.least_remaining = lease.least_remaining;
        own.max_hold = None;
        true
    }

    /// Sets the lease in the store. Returns whether it ends by itself; otherwise nothing of it is left, or
    /// its time is over.
    async fn set_rest(
        &self,
        step: &StepPermit,
        mode: Mode,
        until: LeaseInstant,
    ) -> Result<bool, Unavailable> {
        let lease = step.lease();
        let now = LeaseInstant::now();
        if now >= until || self.state().end != Some(HoldEnd::Released) {
            return Ok(false);
        }
        let rest = now.until(until);
        lease.state().may_be_stored(now, rest);
        let command = RenewCommand::exactly(lease.holder(), rest);
        match lease.client.store.renew(mode, vec![command]).await?.first() {
            Some(Renewal::Renewed) => Ok(true),
            Some(Renewal::Lost) => {
                lease.lose(LostCause::Refused);
                Ok(false)
            }
            _ => Err(Unavailable::unsent("it could not set the lease")),
        }
    }

    /// Gives up the last count. `left`: the lease is left to the store, and is released otherwise.
    fn finish(&self, mode: Mode, left: bool) {
        let next = {
            let mut lease = self.lease.state();
            let mut own = self.state();
            *own.guards.of_mut(mode) -= 1;
            own.lingers = false;
            // The loss has removed its guards from the lease.
            if own.end != Some(HoldEnd::Released) {
                return;
            }
            let mut last = Holds::default();
            *last.of_mut(mode) = 1;
            lease.remove_hold(self, last);
            self.lease.client.give_back(own.permit.take());
            if left && lease.leave() { Next::Reconcile } else { lease.next(self.lease.kind) }
        };
        // Of a lease that was left nothing is to be released: it is finished here.
        self.lease.proceed(next);
        self.report_released();
    }
}

impl LeaseInner {
    /// Whether one hold has it, and no reader is about to join.
    pub(super) fn is_alone(&self) -> bool {
        self.holds.count() <= 1 && self.sharing.expected == 0
    }

    /// Nothing is released: the lock ends with its lease in the store. `false` while a step is in
    /// doubt, after which the store might have more than this knows.
    pub(super) fn leave(&mut self) -> bool {
        if self.stage != Stage::Held || self.in_doubt() {
            return false;
        }
        self.stage = Stage::Releasing { gone: false };
        self.has(Holds::default());
        true
    }
}
