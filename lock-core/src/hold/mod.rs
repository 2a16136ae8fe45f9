//! A hold: one process's grant on one key, and everything this process knows of it.
//!
//! `guards` is what the program wants to hold, `stored` the most that the store may hold for it.
//! Acquiring raises `stored` before the command is sent and `guards` after it was granted;
//! releasing lowers `guards` at once and `stored` when the store has confirmed. Whatever happens in
//! between, a cancelled future, a timeout, a lost reply, [`settle`](crate::settle) brings the two
//! together again: nothing that is above `guards` stays in the store.

mod state;
mod steps;

use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, atomic::Ordering},
    time::Duration,
};

use tokio::sync::watch;
use tracing::field::display;

use crate::{
    Kind, LeaseState, LockKey, Lost, LostCause, Mode,
    call_site::CallSite,
    clock::Moment,
    engine::Engine,
    gate::Permit,
    owner::OwnerId,
    renewal::Place,
    request::Request,
    store::{Holder, WakeTopic},
};
pub(crate) use state::HoldState;
pub(crate) use steps::Steps;

/// How often a holder that listens looks whether it was asked to release, whatever it has heard.
const LOOK_FOR_REQUESTS: Duration = Duration::from_secs(3);

pub(crate) struct Hold {
    pub(crate) engine: Arc<Engine>,
    pub(crate) kind: Kind,
    pub(crate) key: LockKey,
    pub(crate) owner: OwnerId,
    /// Where it was asked for.
    pub(crate) site: CallSite,
    state: Mutex<HoldState>,
    /// Says that the state has changed in a way somebody may wait for; most holds nobody waits for.
    changed: OnceLock<watch::Sender<Option<LostCause>>>,
}

/// Has the store brought down to what the guards hold if a step was dropped or failed before its
/// outcome was known: the store may hold more than the program then.
pub(crate) struct ReconcileOnDrop<'a>(pub(crate) &'a Arc<Hold>);

impl Drop for ReconcileOnDrop<'_> {
    fn drop(&mut self) {
        if !self.0.state().is_settled() {
            self.0.engine.settle(Arc::clone(self.0));
        }
    }
}

impl fmt::Debug for Hold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.state();
        f.debug_struct("Hold")
            .field("key", &self.key)
            .field("guards", &state.guards)
            .field("lease_state", &state.lease_state)
            .finish_non_exhaustive()
    }
}

impl Hold {
    pub(crate) fn new(engine: &Arc<Engine>, request: &Request, permit: Permit) -> Arc<Self> {
        engine.holds.fetch_add(1, Ordering::AcqRel);
        let owner = match request.kind {
            Kind::Semaphore => OwnerId::permit(),
            _ => engine.owners.next(),
        };
        let state = HoldState::new(request.terms, Some(permit), Moment::now());
        Self::of(engine, request, owner, state)
    }

    /// The same owner's next turn, with what the store has.
    pub(crate) fn next_turn(former: &Self, request: &Request, state: HoldState) -> Arc<Self> {
        Self::of(&former.engine, request, former.owner.clone(), state)
    }

    fn of(engine: &Arc<Engine>, request: &Request, owner: OwnerId, state: HoldState) -> Arc<Self> {
        Arc::new(Self {
            engine: Arc::clone(engine),
            kind: request.kind,
            key: request.key.clone(),
            owner,
            site: request.asked.site.clone(),
            state: Mutex::new(state),
            changed: OnceLock::new(),
        })
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, HoldState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn holder(&self) -> Holder {
        Holder { kind: self.kind, key: self.key.clone(), owner: self.owner.clone() }
    }

    /// Hears of loss, renewal and release from now on.
    pub(crate) fn changes(&self) -> watch::Receiver<Option<LostCause>> {
        let changed = self.changed.get_or_init(watch::Sender::default);
        let changes = changed.subscribe();
        // It may have been lost while there was nobody to tell.
        let lost = self.state().lost;
        changed.send_if_modified(|told| {
            // Or told since: what this one has not seen yet stays told.
            let is_news = told.is_none() && lost.is_some();
            *told = told.or(lost);
            is_news
        });
        changes
    }

    pub(crate) fn announce(&self) {
        if let Some(changed) = self.changed.get() {
            changed.send_modify(|_| {});
        }
    }

    /// The loss, if there is one; the clock alone can bring it about.
    pub(crate) fn check(self: &Arc<Self>) -> Result<(), Lost> {
        let now = Moment::now();
        let (end, host) = {
            let state = self.state();
            match state.lost {
                Some(cause) => return Err(self.lost(cause)),
                None if state.is_over(now) => (Some(LostCause::Expired), None),
                None if state.over_max_hold(now) => (Some(LostCause::MaxHold), None),
                None => (None, state.host.clone()),
            }
        };
        let hosts_end = || host?.check().err().map(|lost| lost.cause());
        let Some(cause) = end.or_else(hosts_end) else { return Ok(()) };
        self.lose(cause);
        Err(self.lost(cause))
    }

    /// Waits until this hold's owner is asked to release.
    pub(crate) async fn release_requested(&self) {
        let Some(admin) = self.engine.store.admin() else {
            // Nothing could ask for it.
            return std::future::pending().await;
        };
        let mut ears = self.engine.store.wakeups(WakeTopic::ReleaseRequest(self.key.clone()));
        loop {
            let heard = tokio::time::timeout(LOOK_FOR_REQUESTS, ears.subscribed());
            let _ = heard.await;
            ears.listen();
            if matches!(admin.release_requested(self.holder()).await, Ok(true)) {
                return;
            }
            let _ = tokio::time::timeout(LOOK_FOR_REQUESTS, ears.woken()).await;
        }
    }

    /// Whether the last guard was dropped while the lock was held.
    pub(crate) fn was_released(&self) -> bool {
        let state = self.state();
        state.guards.none() && state.lost.is_none()
    }

    /// Until when the hold may be believed in as things stand.
    pub(crate) fn end(&self) -> Moment {
        let state = self.state();
        let host = state.host.as_ref();
        let believed = host.map_or(state.believed_until, |host| host.state().believed_until);
        state.max_hold_ends().map_or(believed, |end| end.min(believed))
    }

    pub(crate) fn lost(&self, cause: LostCause) -> Lost {
        Lost { key: self.key.clone(), cause }
    }

    /// Ends the belief in this hold, and in those that share it. What the store may still hold is
    /// released. Says whether there was anything to lose.
    pub(crate) fn lose(self: &Arc<Self>, cause: LostCause) -> bool {
        let (own, guests) = {
            let mut state = self.state();
            if state.lost.is_some() || state.counted().none() {
                return false;
            }
            let own = state.is_held();
            let guests = state.parts_from_guests();
            if own {
                state.lost = Some(cause);
                state.lease_state = LeaseState::Lost;
                if cause == LostCause::Expired && state.terms.renew {
                    state.least_remaining = Some(Duration::ZERO);
                }
                self.log_loss(cause, state.granted_at);
            }
            state.set_leaving(true);
            (own, guests)
        };
        match self.changed.get() {
            Some(changed) if own => _ = changed.send_replace(Some(cause)),
            _ => self.announce(),
        }
        for guest in guests {
            guest.lose(cause);
        }
        self.leave_host();
        if !self.finish() {
            self.engine.settle(Arc::clone(self));
        }
        true
    }

    fn log_loss(&self, cause: LostCause, granted_at: Moment) {
        let held_for_ms = Moment::now().since(granted_at).as_millis();
        // Keys may carry personal data.
        let key = self.engine.settings.log_keys.then(|| display(&self.key));
        tracing::warn!(key, %cause, held_for_ms, "lock lost");
        if key.is_none() {
            tracing::debug!(key = %self.key, %cause, "lock lost");
        }
    }

    /// One guard fewer. Never blocks, never fails, needs no runtime.
    pub(crate) fn drop_guard(self: &Arc<Self>, mode: Mode) {
        let (host, goes, is_settled) = {
            let mut state = self.state();
            *state.guards.of_mut(mode) -= 1;
            state.last_failure = None;
            if state.guards.none() {
                state.invites_no_more();
            }
            (state.host.clone(), state.counted().none(), state.is_settled())
        };
        match host {
            _ if goes => self.leave(),
            Some(host) => host.guest_left_once(),
            None if is_settled => {}
            None => self.engine.settle(Arc::clone(self)),
        }
    }

    /// Nothing is left in the store, or its lease must have ended.
    ///
    /// `false`: something was asked of the hold in the meantime.
    pub(crate) fn finish(&self) -> bool {
        let (permit, due) = {
            let mut state = self.state();
            if !state.is_settled() {
                return false;
            }
            if !state.wanted().none() {
                return true;
            }
            (state.permit.take(), state.due.take())
        };
        self.ended(permit, due);
        true
    }

    pub(crate) fn ended(&self, permit: Option<Permit>, due: Option<Place>) {
        if let Some(due) = due {
            self.engine.schedule.remove(self, due);
        }
        if let Some(permit) = permit {
            drop(permit);
            self.engine.holds.fetch_sub(1, Ordering::AcqRel);
            self.engine.hold_ended.notify_waiters();
        }
        self.announce();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LockClient;

    #[tokio::test]
    async fn a_loss_stays_told_though_another_who_begins_to_listen_has_looked_before_it() {
        let client = LockClient::in_memory();
        let guard = client.write("k").acquire().await.expect("it is free");
        let told = guard.hold().changes();
        guard.hold().lose(LostCause::Expired);
        // As the other one sees it, which looks before the loss and tells after it.
        let lost = guard.hold().state().lost.take();
        drop(guard.hold().changes());
        guard.hold().state().lost = lost;
        assert_eq!(*told.borrow(), Some(LostCause::Expired));
    }
}
