//! A hold: one process's grant on one key, and everything this process knows of it.
//!
//! `guards` is what the program wants to hold, `stored` the most that the store may hold for it.
//! Acquiring raises `stored` before the command is sent and `guards` after it was granted;
//! releasing lowers `guards` at once and `stored` when the store has confirmed. Whatever happens in
//! between, a cancelled future, a timeout, a lost reply, [`settle`](crate::settle) brings the two
//! together again: nothing that is above `guards` stays in the store.

use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, atomic::Ordering},
    time::Duration,
};

use tokio::sync::{Semaphore, SemaphorePermit, watch};
use tracing::field::display;

use crate::{
    FencingToken, Kind, LeaseState, LockKey, Lost, LostCause, Mode,
    backend::{Holder, Holds, Topic},
    call_site::CallSite,
    clock::Moment,
    engine::Engine,
    error::Unavailable,
    gate::Permit,
    lease,
    owner::OwnerId,
    renewal::Place,
    request::Request,
    terms::Terms,
};

/// How often a holder that listens looks whether it was asked to release, whatever it has heard.
const LOOK_FOR_REQUESTS: Duration = Duration::from_secs(3);

pub(crate) struct Hold {
    pub(crate) engine: Arc<Engine>,
    pub(crate) kind: Kind,
    pub(crate) key: LockKey,
    pub(crate) owner: OwnerId,
    /// Where it was asked for.
    pub(crate) site: CallSite,
    /// Steps of one hold are never asked at the same time: one permit.
    pub(crate) steps: Semaphore,
    state: Mutex<HoldState>,
    /// Says that the state has changed in a way somebody may wait for; most holds nobody waits for.
    changed: OnceLock<watch::Sender<Option<LostCause>>>,
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
}

impl Hold {
    pub(crate) fn new(engine: &Arc<Engine>, request: &Request, permit: Permit) -> Arc<Self> {
        engine.holds.fetch_add(1, Ordering::AcqRel);
        let owner = match request.kind {
            Kind::Semaphore => OwnerId::permit(),
            _ => engine.owners.next(),
        };
        Self::of(engine, request, owner, HoldState::new(request.terms, Some(permit)))
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
            steps: Semaphore::new(1),
            state: Mutex::new(state),
            changed: OnceLock::new(),
        })
    }

    /// The right to ask for the hold's next step.
    pub(crate) async fn steps(&self) -> SemaphorePermit<'_> {
        self.steps.acquire().await.expect("BUG: nobody closes it")
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, HoldState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn holder(&self) -> Holder<'_> {
        Holder { kind: self.kind, key: &self.key, owner: &self.owner }
    }

    /// Hears of loss, renewal and release from now on.
    pub(crate) fn changes(&self) -> watch::Receiver<Option<LostCause>> {
        let changed = self.changed.get_or_init(watch::Sender::default);
        let changes = changed.subscribe();
        // It may have been lost while there was nobody to tell.
        let lost = self.state().lost;
        changed.send_if_modified(|told| std::mem::replace(told, lost) != lost);
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
        let cause = {
            let state = self.state();
            match state.lost {
                Some(cause) => return Err(self.lost(cause)),
                None if now >= state.believed_until => LostCause::Expired,
                None if state.over_max_hold(now) => LostCause::MaxHold,
                None => return Ok(()),
            }
        };
        self.lose(cause);
        Err(self.lost(cause))
    }

    /// Waits until this hold's owner is asked to release.
    pub(crate) async fn release_requested(&self) {
        self.engine.tasks.enter();
        let backend = &self.engine.backend;
        let mut ears = backend.wakeups(Topic::ReleaseRequest(&self.key));
        loop {
            let heard = tokio::time::timeout(LOOK_FOR_REQUESTS, ears.subscribed());
            let _ = heard.await;
            ears.listen();
            if matches!(backend.release_requested(&self.holder()).await, Ok(true)) {
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
        let end = state.max_hold_ends();
        end.map_or(state.believed_until, |end| end.min(state.believed_until))
    }

    pub(crate) fn lost(&self, cause: LostCause) -> Lost {
        Lost { key: self.key.clone(), cause }
    }

    /// Ends the belief in this hold. What the store may still hold is released. Says whether there
    /// was anything to lose.
    pub(crate) fn lose(self: &Arc<Self>, cause: LostCause) -> bool {
        {
            let mut state = self.state();
            if state.lost.is_some() || state.guards.none() {
                return false;
            }
            state.lost = Some(cause);
            state.lease_state = LeaseState::Lost;
            if cause == LostCause::Expired && state.terms.renew {
                state.least_remaining = Some(Duration::ZERO);
            }
            let held_for_ms = Moment::now().since(state.granted_at).as_millis();
            // Keys may carry personal data.
            let key = self.engine.settings.log_keys.then(|| display(&self.key));
            tracing::warn!(key, %cause, held_for_ms, "lock lost");
            if key.is_none() {
                tracing::debug!(key = %self.key, %cause, "lock lost");
            }
            state.set_leaving(true);
        }
        if let Some(changed) = self.changed.get() {
            changed.send_replace(Some(cause));
        }
        self.engine.settle(Arc::clone(self));
        true
    }

    /// One guard fewer. Never blocks, never fails, needs no runtime.
    pub(crate) fn drop_guard(self: &Arc<Self>, mode: Mode) {
        {
            let mut state = self.state();
            *state.guards.of_mut(mode) -= 1;
            state.last_failure = None;
            if state.guards.none() {
                drop(state);
                return self.leave();
            }
        }
        self.engine.settle(Arc::clone(self));
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
        if let Some(due) = due {
            self.engine.schedule.remove(due);
        }
        if let Some(permit) = permit {
            drop(permit);
            self.engine.holds.fetch_sub(1, Ordering::AcqRel);
            self.engine.hold_ended.notify_waiters();
        }
        self.announce();
        true
    }
}

impl HoldState {
    pub(crate) fn new(terms: Terms, permit: Option<Permit>) -> Self {
        let now = Moment::now();
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
            turns_until: now,
        }
    }

    /// What the store should hold: what the guards hold, or nothing once that is lost.
    pub(crate) fn wanted(&self) -> Holds {
        if self.lost.is_some() { Holds::default() } else { self.guards }
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

    fn over_max_hold(&self, now: Moment) -> bool {
        self.max_hold_ends().is_some_and(|end| now >= end)
    }

    /// The store has confirmed the lease by an answer to what was sent at `sent`.
    pub(crate) fn confirm(&mut self, sent: Moment, lease: Duration) {
        self.confirmed_at = self.confirmed_at.max(sent);
        self.believed_until = self.believed_until.max(sent.after(lease::belief(lease)));
        self.stored_until = self.stored_until.max(Moment::now().after(self.terms.lease));
    }

    /// Something was sent that may give us a lease, whenever it is carried out.
    pub(crate) fn may_be_stored(&mut self, lease: Duration) {
        self.stored_until = self.stored_until.max(Moment::now().after(lease));
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
        self.confirmed.read = self.confirmed.read.min(after.read);
        self.confirmed.write = self.confirmed.write.min(after.write);
        self.may_be_stored(self.terms.lease);
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
