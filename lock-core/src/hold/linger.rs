//! Holds that outlast their work: `hold_at_least`.
//!
//! When the last guard of such a hold is dropped early, the schedule keeps the guard's count. The
//! renewal task gives the count up when the time is over. Until then the hold is like any other: it
//! is renewed, and no waiter gets the lock, neither here nor elsewhere. The lease is at least as
//! long as that time, so the lock outlasts a process that ends right after its work.

use std::{collections::BTreeMap, sync::Arc};

use lock_store::{Holds, Mode, runtime::LeaseInstant};

use super::{
    Hold, HoldEnd,
    renewal::Schedule,
    state::{LeaseInner, Next, Stage},
};

/// Counts of guards that were dropped, by the time at which they are given up.
#[derive(Debug, Default)]
pub(crate) struct Lingering {
    guards: BTreeMap<LeaseInstant, Vec<(Arc<Hold>, Mode)>>,
    /// The client shuts down: lingering holds are left to the store.
    closed: bool,
}

impl Lingering {
    pub(super) fn first(&self) -> Option<LeaseInstant> {
        self.guards.first_key_value().map(|(until, _)| *until)
    }
}

impl Schedule {
    /// Keeps a guard's count until then, unless the client shuts down.
    fn linger(&self, hold: &Arc<Hold>, mode: Mode, until: LeaseInstant) -> bool {
        {
            let mut lingering = self.lingering.lock();
            // Checked under the lock under which `leave_lingering` takes the guards: a guard that
            // is added after it would never be given up, and the shutdown would wait for it.
            if lingering.closed {
                return false;
            }
            lingering.guards.entry(until).or_default().push((Arc::clone(hold), mode));
        }
        self.sooner.notify_one();
        true
    }

    /// Gives up the counts whose time is over.
    pub(crate) fn end_lingering(&self, now: LeaseInstant) {
        loop {
            // Not under the lock: `end_guard` locks the lease and the gate.
            let over = {
                let mut lingering = self.lingering.lock();
                let first = lingering.guards.first_entry();
                first.filter(|first| *first.key() <= now).map(|first| first.remove())
            };
            let Some(over) = over else { return };
            for (hold, mode) in over {
                hold.end_guard(mode);
            }
        }
    }

    /// Leaves every lingering lock to the store, where it ends with its lease.
    pub(crate) fn leave_lingering(&self) {
        let left = {
            let mut lingering = self.lingering.lock();
            lingering.closed = true;
            std::mem::take(&mut lingering.guards)
        };
        for (hold, mode) in left.into_values().flatten() {
            hold.leave(mode);
        }
    }
}

impl Hold {
    /// One guard fewer. Never blocks, never fails, needs no runtime.
    pub(crate) fn drop_guard(self: &Arc<Self>, mode: Mode) {
        match self.lingers_until() {
            None => self.end_guard(mode),
            Some(until) if self.lease.client.schedule.linger(self, mode, until) => {}
            Some(_) => self.leave(mode),
        }
    }

    /// Until when the hold stays although its last guard is dropped now.
    fn lingers_until(&self) -> Option<LeaseInstant> {
        let own = self.state();
        let until = self.granted_at.after(own.at_least?);
        let is_last = own.guards.read + own.guards.write == 1;
        (own.end.is_none() && is_last && LeaseInstant::now() < until).then_some(until)
    }

    /// Ends the hold here and leaves its lease to the store, unless others share it.
    fn leave(&self, mode: Mode) {
        let next = {
            let mut lease = self.lease.state();
            let mut own = self.state();
            *own.guards.of_mut(mode) -= 1;
            if own.end.is_some() {
                return;
            }
            own.end = Some(HoldEnd::Released);
            let mut last = Holds::default();
            *last.of_mut(mode) = 1;
            lease.remove_hold(self, last);
            self.lease.client.give_back(own.permit.take());
            // A lease that others share is reconciled as usual: left to the store, it would end
            // under them.
            let left = lease.holds.count() == 0 && lease.leave();
            if left { Next::Reconcile } else { lease.next(self.lease.kind) }
        };
        // Of a lease that was left nothing is to be released: it is finished here.
        self.lease.proceed(next);
        self.report_released();
    }
}

impl LeaseInner {
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
