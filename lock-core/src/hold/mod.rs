//! Holds: the guards on a lease, and when they end.
//!
//! A *lease* is the store's grant, a *hold* is the program's use of it. Most leases have one hold.
//! Guards of one scope share a hold (re-entry). Readers of one process have separate holds on one
//! lease ([`shared_read`]). A lease whose last hold has ended may be passed to the next waiter's
//! hold ([`local_handoff`]). A hold ends once and for all: its lease may have others by then.
//!
//! One file: the ways in which a hold ends must agree with each other under its lock.

mod circuit_breaker;
mod client_inner;
mod ensure;
mod lease;
mod leavers;
mod linger;
mod local_handoff;
mod local_queues;
mod mode_change;
mod newest;
mod observed;
mod park;
mod reconcile;
mod reconcile_queue;
mod release_batch;
mod renewal;
mod request;
mod scope_holds;
mod shared_read;
mod silent_shards;
mod start;
mod state;
mod taken;
mod work;

use std::{
    sync::{
        Arc, MutexGuard, OnceLock, Weak,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use lock_store::{
    FencingToken, Holds, Mode, Unavailable, WakeTopic,
    runtime::{LeaseInstant, Mutex},
};
use tokio::sync::watch;
use tracing::field::display;

use crate::{
    gate,
    types::{CallSite, LockName, Lost, LostCause, ReleaseError},
};
pub(crate) use client_inner::ClientInner;
pub(crate) use lease::{Lease, ReconcileOnDrop, StepPermit};
pub(crate) use mode_change::UNCONFIRMED;
pub(crate) use request::{Entered, LockRequest, WaitDeadline};
pub(crate) use scope_holds::{ScopeHolds, ScopeSlot};
pub(crate) use shared_read::share;
pub(crate) use start::start;
pub(crate) use state::{LeaseInner, Next, Stage};
pub(crate) use work::WaitRecord;

/// The gate and the permits of leases.
pub(crate) type Gate = gate::Gate<Lease>;
pub(crate) type Permit = gate::Permit<Lease>;

/// How often a holder that listens checks whether it was requested to release, in case a message
/// was lost.
const LOOK_FOR_REQUESTS: Duration = Duration::from_secs(3);

#[derive(Debug)]
pub(crate) struct Hold {
    pub(crate) lease: Arc<Lease>,
    /// Where it was acquired.
    pub(crate) site: CallSite,
    /// The name of the acquisition, for observers.
    name: Option<LockName>,
    by_policy: bool,
    mode: Mode,
    /// Whether others were in the way before it was granted.
    pub(crate) waited: bool,
    /// Whether the holder before, in this process, passed it on.
    pub(crate) handed_off: bool,
    granted_at: LeaseInstant,
    /// The scope that it is in.
    scope: Option<Weak<ScopeHolds>>,
    state: Mutex<HoldInner>,
    /// Futures that listen to requests to release.
    listeners: AtomicUsize,
    /// Notifies of its loss; created on demand, because most holds are not watched.
    changed: OnceLock<watch::Sender<Option<LostCause>>>,
    /// Whether work under it stops when a newer caller requests its release.
    pub(crate) is_replaceable: bool,
}

/// Locked after the lease where both are.
#[derive(Debug)]
pub(crate) struct HoldInner {
    pub(crate) guards: Holds,
    pub(crate) token: Option<FencingToken>,
    pub(crate) max_hold: Option<Duration>,
    /// How long it stays at least, from the grant.
    at_least: Option<Duration>,
    /// Its last guard was dropped, and its lease is about to be left to the store.
    lingers: bool,
    pub(crate) end: Option<HoldEnd>,
    /// The value of its lease when the hold ended.
    least_remaining: Option<Duration>,
    /// If it has joined another reader's lease: its own place at the gate.
    pub(super) permit: Option<Permit>,
}

/// How a hold got the lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Arrival {
    /// Nothing.
    AtOnce,
    /// Others held the lock, or queued for it.
    Waited,
    /// The holder before, in this process, which passed the lease on.
    HandedOff,
}

impl Arrival {
    pub(super) fn of(waited: bool) -> Self {
        if waited { Self::Waited } else { Self::AtOnce }
    }
}

/// How a hold has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HoldEnd {
    /// Its last guard was dropped.
    Released,
    /// The same, and the lease is with the next waiter of this process.
    HandedOff,
    /// Its lease is in the store, for another client to continue with.
    Parked,
    Lost(LostCause),
}

impl HoldEnd {
    pub(super) fn cause(self) -> LostCause {
        match self {
            Self::Released | Self::HandedOff => LostCause::Released,
            Self::Parked => LostCause::Parked,
            Self::Lost(cause) => cause,
        }
    }
}

/// A future that listens to requests to release.
struct Listener<'a>(&'a Hold);

impl<'a> Listener<'a> {
    fn new(hold: &'a Hold) -> Self {
        hold.listeners.fetch_add(1, Ordering::Relaxed);
        Self(hold)
    }
}

impl Drop for Listener<'_> {
    fn drop(&mut self) {
        self.0.listeners.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Hold {
    fn new(
        lease: &Arc<Lease>,
        request: &LockRequest,
        token: Option<FencingToken>,
        arrival: Arrival,
        granted_at: LeaseInstant,
        permit: Option<Permit>,
    ) -> Self {
        let mut guards = Holds::default();
        *guards.of_mut(request.mode) = 1;
        let state = HoldInner {
            guards,
            token,
            max_hold: request.options.max_hold,
            at_least: request.options.at_least,
            lingers: false,
            end: None,
            least_remaining: None,
            permit,
        };
        Self {
            lease: Arc::clone(lease),
            site: request.options.site.clone(),
            name: request.options.name.clone(),
            by_policy: request.options.by_policy,
            mode: request.mode,
            waited: arrival != Arrival::AtOnce,
            handed_off: arrival == Arrival::HandedOff,
            granted_at,
            scope: request.scope.as_ref().map(Arc::downgrade),
            state: Mutex::new(state),
            listeners: AtomicUsize::new(0),
            is_replaceable: request.options.is_replaceable,
            changed: OnceLock::new(),
        }
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, HoldInner> {
        self.state.lock()
    }

    /// Receives the loss from now on.
    pub(crate) fn changes(&self) -> watch::Receiver<Option<LostCause>> {
        let changed = self.changed.get_or_init(watch::Sender::default);
        let changes = changed.subscribe();
        // It may have been lost while nothing was subscribed: that loss was sent to no receiver.
        let lost = match self.state().end {
            Some(HoldEnd::Lost(cause)) => Some(cause),
            _ => None,
        };
        changed.send_if_modified(|notified| {
            // A loss that was sent since the check above stays: the check is older, and must not
            // overwrite it with none.
            let is_news = notified.is_none() && lost.is_some();
            *notified = notified.or(lost);
            is_news
        });
        changes
    }

    /// Whether it was not released; fails if it is known to be lost.
    pub(crate) fn is_live(&self) -> Result<bool, Lost> {
        match self.state().end {
            None => Ok(true),
            Some(HoldEnd::Released | HoldEnd::HandedOff | HoldEnd::Parked) => Ok(false),
            Some(HoldEnd::Lost(cause)) => Err(self.lost(cause)),
        }
    }

    /// Whether it ended by the will of its holder.
    pub(crate) fn was_released(&self) -> bool {
        matches!(self.is_live(), Ok(false))
    }

    pub(crate) fn lost(&self, cause: LostCause) -> Lost {
        Lost { key: self.lease.key.clone(), cause }
    }

    /// Fails if the hold has ended; the clock alone can end it.
    pub(crate) fn check(self: &Arc<Self>) -> Result<(), Lost> {
        let now = LeaseInstant::now();
        let cause = {
            let lease = self.lease.state();
            let own = self.state();
            let max_hold_ends = own.max_hold.map(|most| self.granted_at.after(most));
            match own.end {
                Some(end) => return Err(self.lost(end.cause())),
                None if now >= lease.valid_until => LostCause::Expired,
                None if max_hold_ends.is_some_and(|end| now >= end) => LostCause::MaxHold,
                None => return Ok(()),
            }
        };
        // Outside the locks: both of these take them again. If the hold has ended meanwhile, they
        // change nothing.
        if cause == LostCause::MaxHold {
            self.lose_alone(cause);
        } else {
            self.lease.lose(cause);
        }
        Err(self.lost(cause))
    }

    /// As [`check`](Self::check), for the work under it, which continues after it has parked its
    /// own hold.
    pub(crate) fn check_for_work(self: &Arc<Self>) -> Result<(), Lost> {
        self.check()
            .or_else(|lost| if lost.cause == LostCause::Parked { Ok(()) } else { Err(lost) })
    }

    /// Until when it may be relied upon, unless it is renewed.
    pub(crate) fn valid_until(&self) -> LeaseInstant {
        let valid_until = self.lease.state().valid_until;
        self.max_hold_ends().map_or(valid_until, |end| end.min(valid_until))
    }

    pub(super) fn max_hold_ends(&self) -> Option<LeaseInstant> {
        self.state().max_hold.map(|most| self.granted_at.after(most))
    }

    pub(crate) fn least_remaining(&self) -> Option<Duration> {
        let lease = self.lease.state();
        let own = self.state();
        if own.end.is_some() { own.least_remaining } else { lease.least_remaining }
    }

    /// Waits until this hold's owner is requested to release.
    pub(crate) async fn release_requested(self: &Arc<Self>) {
        let Lease { client, key, .. } = &*self.lease;
        let Some(admin) = client.store.admin() else {
            // No request can reach it.
            return std::future::pending().await;
        };
        let mut wakeups = client.store.wakeups(WakeTopic::ReleaseRequest(key.clone()));
        let (_listener, mut recorded) = (Listener::new(self), false);
        while self.check().is_ok() {
            let subscribed_in_time = tokio::time::timeout(LOOK_FOR_REQUESTS, wakeups.subscribed());
            let _ = subscribed_in_time.await;
            // Wake-ups until here are covered by the check that follows. A request that is written
            // after the check sends another one.
            wakeups.listen();
            if matches!(admin.release_requested(self.lease.holder()).await, Ok(true)) {
                return;
            }
            let _ = tokio::time::timeout(LOOK_FOR_REQUESTS, wakeups.woken()).await;
            if !std::mem::replace(&mut recorded, true) {
                // Before the first renewal, so that an operator sees that it listens.
                self.record_work();
            }
        }
        std::future::pending().await
    }

    /// Ends this hold and not its lease, which others may share. It is not handed off: there was no
    /// time left for the work under it.
    fn lose_alone(&self, cause: LostCause) {
        let next = {
            let mut lease = self.lease.state();
            if self.state().end.is_some() {
                return;
            }
            // Under one lock with the check: a guard that is dropped at this moment either finds the
            // hold lost, or has released it before.
            self.mark_lost(&lease, cause);
            let guards = self.state().guards;
            lease.remove_hold(self, guards);
            lease.handoffs.left = 0;
            lease.next(self.lease.kind)
        };
        self.notify_lost(cause);
        self.lease.proceed(next);
    }

    /// Marks it as lost. Called under the lock of its lease, so that nothing counts it any more
    /// when its guards are dropped.
    pub(super) fn mark_lost(&self, lease: &LeaseInner, cause: LostCause) {
        let permit = {
            let mut own = self.state();
            own.end = Some(HoldEnd::Lost(cause));
            let never = cause == LostCause::Expired && lease.renews;
            own.least_remaining = if never { Some(Duration::ZERO) } else { lease.least_remaining };
            own.permit.take()
        };
        self.log_loss(cause);
        self.lease.client.give_back(permit);
    }

    pub(super) fn notify_lost(&self, cause: LostCause) {
        if let Some(changed) = self.changed.get() {
            changed.send_replace(Some(cause));
        }
        self.report_lost(cause);
    }

    /// One guard fewer.
    fn end_guard(&self, mode: Mode) {
        let (next, ended) = {
            let mut lease = self.lease.state();
            let mut own = self.state();
            *own.guards.of_mut(mode) -= 1;
            // The loss has removed its guards from the lease. Removed a second time, they would be
            // missing from the count of another hold, and the store would release that one.
            if own.end.is_some() {
                return;
            }
            // A failure of an earlier release is not a failure of the one that follows.
            lease.last_failure = None;
            if own.guards.none() {
                let mut last = Holds::default();
                *last.of_mut(mode) = 1;
                lease.remove_hold(self, last);
                // The end is set under the lock under which the count falls: a re-entry at this
                // moment finds either a live hold or an ended one, never a guard that is not
                // counted.
                own.end = Some(HoldEnd::Released);
                own.least_remaining = lease.least_remaining;
                self.lease.client.give_back(own.permit.take());
            } else {
                *lease.holds.guards.of_mut(mode) -= 1;
            }
            let next = lease.next(self.lease.kind);
            if let Next::HandOff(_) = next {
                own.end = Some(HoldEnd::HandedOff);
            }
            (next, own.end.is_some())
        };
        // Outside the lock: the hand-off takes the locks of the gate and of the next waiter's lease.
        if !self.lease.proceed(next) {
            self.state().end = Some(HoldEnd::Released);
        }
        if ended {
            self.report_released();
        }
    }

    /// Adds a guard, after the store has confirmed the command that was sent at `sent`. Returns
    /// `false` if the hold was released meanwhile: then the store has one count too many.
    pub(crate) fn entered_again(
        &self,
        request: &LockRequest,
        holds: u32,
        length: Duration,
        sent: LeaseInstant,
    ) -> Result<bool, Lost> {
        let mode = request.mode;
        let mut lease = self.lease.state();
        *lease.remote.of_mut(mode) = holds;
        if !self.is_live()? {
            return Ok(false);
        }
        // The longest lease that was requested wins, for all guards of the hold.
        lease.length = length;
        lease.renews |= request.options.renew.unwrap_or(false);
        *lease.confirmed.of_mut(mode) = holds;
        let effective = self.lease.client.effective_lease(length, lease.remote);
        lease.confirm(sent, effective, LeaseInstant::now());
        *lease.holds.guards.of_mut(mode) += 1;
        let mut own = self.state();
        *own.guards.of_mut(mode) += 1;
        own.at_least = own.at_least.max(request.options.at_least);
        own.max_hold = own.max_hold.map(|most| request.options.max_hold.unwrap_or(most).max(most));
        Ok(true)
    }

    /// The outcome of a guard's release, once it is known.
    pub(crate) fn release_outcome(&self, lease: &LeaseInner) -> Option<Result<(), ReleaseError>> {
        let own = self.state();
        match own.end {
            Some(HoldEnd::Lost(cause)) => return Some(Err(self.lost(cause).into())),
            // The lease belongs to the next holder from here on: its later failures are not this one's.
            Some(HoldEnd::HandedOff | HoldEnd::Parked) => return Some(Ok(())),
            Some(HoldEnd::Released) | None => {}
        }
        if lease.is_settled() && !own.lingers {
            let gone = lease.stage == Stage::Releasing { gone: true };
            return Some(if gone { Err(self.lost(LostCause::Refused).into()) } else { Ok(()) });
        }
        let failure = Unavailable::clone(lease.last_failure.as_deref()?);
        Some(Err(failure.held_for(LeaseInstant::now().until(lease.stored_until)).into()))
    }

    fn log_loss(&self, cause: LostCause) {
        let key = &self.lease.key;
        let held_for_ms = LeaseInstant::now().since(self.granted_at).as_millis();
        // Keys may carry personal data.
        let named = self.lease.client.settings.log_keys.then(|| display(key));
        if cause == LostCause::Taken {
            // The operator that took it away knows of it.
            tracing::info!(key = named, %cause, held_for_ms, "lock lost");
        } else {
            tracing::warn!(key = named, %cause, held_for_ms, "lock lost");
        }
        if named.is_none() {
            tracing::debug!(key = %key, %cause, "lock lost");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::LockClient;

    #[tokio::test]
    async fn a_loss_is_reported_to_later_listeners() {
        let client = LockClient::in_memory();
        let guard = client.write("k").acquire().await.expect("it is free");
        let changes = guard.hold().changes();
        guard.hold().lease.lose(LostCause::Expired);
        // As the other side sees it, which checks before the loss and notifies after it.
        let end = guard.hold().state().end.take();
        drop(guard.hold().changes());
        guard.hold().state().end = end;
        assert_eq!(*changes.borrow(), Some(LostCause::Expired));
    }
}
