//! One try at a hold, or at several at once, and what is remembered of it.

use std::{sync::Arc, time::Duration};

use tokio::time::Instant;

use crate::{
    FencingToken, Kind, Mode,
    backend::{AcquireStep, Acquired, AcquiredAll, ReleaseStep},
    clock::Moment,
    error::{AcquireError, Overloaded, Unavailable},
    grants::Grant,
    hold::Hold,
    lease,
    request::{Patience, Request},
};

/// How long a waiter's place in line lives unless it is renewed, and how often it is: a waiter that
/// died holds others back for no longer. Where the line is one mark, little is lost by losing it;
/// in a fair line it is the waiter's turn.
pub(crate) fn place_in_line(kind: Kind) -> (Duration, Duration) {
    if kind.is_fair() {
        (Duration::from_secs(3), Duration::from_secs(1))
    } else {
        (Duration::from_millis(1_500), Duration::from_millis(500))
    }
}

/// Holds whose acquisition is under way. Dropped at any point, it leaves nothing in the store.
#[derive(Default)]
pub(crate) struct Attempt {
    pub(crate) holds: Vec<Arc<Hold>>,
}

impl Drop for Attempt {
    fn drop(&mut self) {
        for hold in self.holds.drain(..) {
            hold.asked_in_vain();
            if !hold.finish() {
                hold.state().set_leaving(true);
                hold.engine.clone().settle(hold);
            }
        }
    }
}

fn late(lease: Duration) -> AcquireError {
    Unavailable::unsent("the lock was granted too late to be of use").held_for(lease).into()
}

/// What came of a try.
pub(crate) enum Tried {
    Granted,
    Refused { at: usize, answer: Acquired, sent: Sent },
}

/// When a try was sent, by the clock of leases and by that of timers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sent {
    pub(crate) at: Moment,
    pub(crate) heard: Instant,
}

impl Attempt {
    /// Without the store: somebody else of this process has left its hold to this one.
    pub(crate) fn take_over(
        mut self,
        hold: Arc<Hold>,
        request: &Request,
    ) -> Result<Vec<Arc<Hold>>, AcquireError> {
        self.holds.push(Arc::clone(&hold));
        // That is this moment.
        let taken_over = hold.state().granted_at;
        if taken_over >= hold.end() {
            return Err(late(request.terms.lease));
        }
        hold.state().add_guard(request.mode);
        Ok(std::mem::take(&mut self.holds))
    }

    /// Tries once, for all or none.
    pub(crate) async fn ask(
        &self,
        requests: &[Request],
        patience: Patience,
        yields: bool,
        limit: Option<Instant>,
    ) -> Result<Tried, AcquireError> {
        let [first, ..] = self.holds.as_slice() else { return Ok(Tried::Granted) };
        let sent = Sent { at: Moment::now(), heard: Instant::now() };
        let alone = requests.len() == 1;
        let steps: Vec<_> = self
            .holds
            .iter()
            .zip(requests)
            .map(|(hold, request)| hold.first_step(request, patience, sent.at, yields, alone))
            .collect();
        let asked = async {
            match steps.as_slice() {
                [step] => Ok(match first.engine.backend.acquire(step).await? {
                    Acquired::Granted(token) => AcquiredAll::Granted(vec![token]),
                    answer => AcquiredAll::Refused { at: 0, answer },
                }),
                steps => first.engine.backend.acquire_all(steps).await,
            }
        };
        let answer = match limit {
            Some(limit) => {
                let answer = tokio::time::timeout_at(limit, asked).await;
                answer.unwrap_or_else(|_| Err(Unavailable::late()))
            }
            None => asked.await,
        };
        if let Err(why) = &answer
            && why.silent
        {
            first.engine.open_breaker(&first.key, sent.at);
        }
        let lease = requests.iter().map(|request| request.terms.lease).max().unwrap_or_default();
        match answer.map_err(|unavailable| unavailable.held_for(lease))? {
            AcquiredAll::Granted(tokens) => {
                let now = Moment::now();
                if !self.holds.iter().all(|hold| hold.in_time(sent.at, now)) {
                    return Err(late(lease));
                }
                for ((hold, request), token) in self.holds.iter().zip(requests).zip(tokens) {
                    hold.granted(request, sent.at, now, request.terms.lease, token);
                }
                Ok(Tried::Granted)
            }
            AcquiredAll::Refused { at, answer } => {
                for (place, (hold, request)) in self.holds.iter().zip(requests).enumerate() {
                    hold.refused(request, (place == at).then_some(answer));
                }
                Ok(Tried::Refused { at, answer, sent })
            }
        }
    }
}

impl Hold {
    /// Asks for the outermost hold. From here on the store may hold something.
    fn first_step<'a>(
        &'a self,
        request: &'a Request,
        patience: Patience,
        sent: Moment,
        yields: bool,
        alone: bool,
    ) -> AcquireStep<'a> {
        let waits = patience.deadline.is_some();
        let waiting = if alone { self.engine.gate.queued(&self.key) } else { 0 };
        let place = waits.then(|| place_in_line(request.kind).0);
        let may_stand_by = alone && waits && request.may_stand_by();
        let turns;
        let stands_by = {
            let mut state = self.state();
            // Waiters of Redisson tell nobody that they wait.
            let hot = alone && !self.engine.beside_redisson() && state.is_hot(request.mode);
            state.turns = request.turns_to_follow(waiting, hot);
            *state.stored.of_mut(request.mode) = 1;
            state.in_line = waits.then_some(request.mode);
            // Who has stood by once goes on: where nothing is heard the others find that out.
            let stands_by = may_stand_by && (state.asks > 0 || self.engine.backend.hears_grants());
            state.asks += u32::from(stands_by);
            let stands_by = stands_by.then(|| request.stand_by(state.asks));
            // A release may grant it for as long as it stands in line.
            let granted_late = stands_by.and(place).unwrap_or_default();
            state.may_be_stored(sent, request.terms.lease + granted_late);
            // Readers need no tokens for their turns.
            turns = if request.mode == Mode::Write { state.turns.in_all() } else { 0 };
            stands_by
        };
        AcquireStep {
            kind: request.kind,
            key: &request.key,
            owner: &self.owner,
            mode: request.mode,
            holds: 1,
            lease: request.terms.lease,
            yields,
            place,
            waited: patience.asked_at.elapsed(),
            turns,
            stands_by,
            permits: request.permits,
        }
    }

    /// Whether a grant of what was sent then is still of use.
    fn in_time(&self, sent: Moment, now: Moment) -> bool {
        let state = self.state();
        let believed = self.engine.believed_lease(state.terms.lease, state.stored);
        now < sent.after(lease::belief(believed))
    }

    /// A release of another client's has granted what the last try asked for. `false`: that was too
    /// long ago, or an earlier one.
    pub(crate) fn granted_by_release(&self, request: &Request, sent: Moment, grant: Grant) -> bool {
        let waiting = self.engine.gate.queued(&self.key);
        let now = Moment::now();
        let lease = {
            let mut state = self.state();
            let lease = request.stand_by(state.asks).lease;
            if state.asks != grant.ask || now >= sent.after(lease::belief(lease)) {
                return false;
            }
            *state.stored.of_mut(request.mode) = 1;
            state.turns = request.turns_to_follow(waiting, false);
            state.row = Some(grant.row);
            state.first_lease = true;
            lease
        };
        self.granted(request, sent, now, lease, Some(grant.token));
        true
    }

    fn granted(
        &self,
        request: &Request,
        sent: Moment,
        now: Moment,
        lease: Duration,
        token: Option<FencingToken>,
    ) {
        let mut state = self.state();
        let believed = self.engine.believed_lease(lease, state.stored);
        state.granted_at = now;
        state.turns_begin(sent, lease);
        state.confirm(sent, believed, now);
        state.token = token;
        state.in_line = None;
        *state.confirmed.of_mut(request.mode) = 1;
        state.add_guard(request.mode);
        if let Some(permit) = &mut state.permit {
            permit.wait_no_more();
            permit.stay();
        }
        state.granted_to_others();
        drop(state);
        self.announce();
    }

    /// Takes in a refusal: this hold's own, or of another that was asked for together with it,
    /// which says nothing of this one's place in line.
    fn refused(&self, request: &Request, own: Option<Acquired>) {
        self.asked_in_vain();
        let mut state = self.state();
        *state.stored.of_mut(request.mode) = 0;
        (state.waited, state.refused) = (true, true);
        if self.engine.backend.grants() {
            state.row = Some(0);
        }
        if let Some(answer) = own {
            let stands = state.asks > 0 || matches!(answer, Acquired::Busy { in_line: true, .. });
            state.in_line = stands.then_some(request.mode);
            if let Some(permit) = &mut state.permit {
                permit.refused();
            }
        }
    }

    /// It becomes one of those who wait for the store, unless too many do.
    pub(crate) fn waits(&self, request: &Request) -> Result<(), Overloaded> {
        let mut state = self.state();
        let Some(permit) = &mut state.permit else { return Ok(()) };
        permit.wait(request.asked.max_waiters)
    }

    pub(crate) fn waits_no_more(&self) {
        if let Some(permit) = &mut self.state().permit {
            permit.wait_no_more();
        }
    }

    /// Gives up the place in a fair line in which this one of several stands, since another one is
    /// in the way now: those behind it can be served. Without an answer the place ends by itself.
    pub(crate) async fn leave_line(&self) {
        let in_line = self.state().in_line;
        let Some(mode) = in_line.filter(|_| self.kind.is_fair()) else { return };
        let step = ReleaseStep { holder: self.holder(), mode, holds: 0, in_line: true, row: None };
        if self.engine.backend.release(&step).await.is_ok() {
            self.state().in_line = None;
        }
    }
}
