//! One try at a hold, or at several at once, and what is remembered of it.

use std::{sync::Arc, time::Duration};

use tokio::time::Instant;

use crate::{
    FencingToken,
    clock::Moment,
    error::{AcquireError, Overloaded, Unavailable},
    hold::Hold,
    lease,
    request::{Patience, Request},
    store::{AcquireCommand, Acquired, AcquiredAll, ReleaseCommand, StoreError},
};

/// How long a waiter's place in line lives unless it is renewed, and how often it is: a waiter that
/// died holds others back for no longer, and a waiter looks by itself this often, whatever it was told.
const PLACE: Duration = Duration::from_secs(3);
pub(crate) const REFRESH: Duration = Duration::from_secs(1);

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
    /// `sent` is when it was sent, by the clock of timers.
    Refused {
        at: usize,
        answer: Acquired,
        sent: Instant,
    },
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
        let (sent, sent_at) = (Instant::now(), Moment::now());
        let alone = requests.len() == 1;
        let steps: Vec<_> = self
            .holds
            .iter()
            .zip(requests)
            .map(|(hold, request)| hold.first_step(request, patience, sent_at, yields, alone))
            .collect();
        let asked = async {
            match <[AcquireCommand; 1]>::try_from(steps) {
                Ok([step]) => Ok(match first.engine.store.acquire(step).await? {
                    Acquired::Granted(token) => AcquiredAll::Granted(vec![token]),
                    answer => AcquiredAll::Refused { at: 0, answer },
                }),
                Err(steps) => first.engine.store.acquire_all(steps).await,
            }
        };
        let answer = match limit {
            Some(limit) => {
                let answer = tokio::time::timeout_at(limit, asked).await;
                answer.unwrap_or_else(|_| Err(Unavailable::late().into()))
            }
            None => asked.await,
        };
        if let Err(why) = &answer
            && why.is_silent()
        {
            first.engine.open_breaker(&first.key, sent_at);
        }
        let lease = requests.iter().map(|request| request.terms.lease).max().unwrap_or_default();
        if let Err(StoreError::Unsupported(what)) = answer {
            // Nothing is held, so nothing is released.
            for (hold, request) in self.holds.iter().zip(requests) {
                hold.refused(request, None);
                hold.state().in_line = None;
            }
            return Err(what.into());
        }
        match answer.map_err(|why| why.held_for(lease))? {
            AcquiredAll::Granted(tokens) => {
                let now = Moment::now();
                if !self.holds.iter().all(|hold| hold.in_time(sent_at, now)) {
                    return Err(late(lease));
                }
                for ((hold, request), token) in self.holds.iter().zip(requests).zip(tokens) {
                    hold.granted(request, sent_at, now, token);
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
    fn first_step(
        &self,
        request: &Request,
        patience: Patience,
        sent: Moment,
        yields: bool,
        alone: bool,
    ) -> AcquireCommand {
        let waits = patience.deadline.is_some();
        let waiting = if alone { self.engine.gate.queued(&self.key) } else { 0 };
        let place = waits.then_some(PLACE);
        let reserves = alone && self.engine.store.reserves_tokens();
        let turns = if reserves { request.turns_to_follow(waiting) } else { 0 };
        {
            let mut state = self.state();
            state.turns = turns;
            *state.stored.of_mut(request.mode) = 1;
            state.in_line = waits.then_some(request.mode);
            state.may_be_stored(sent, request.terms.lease);
        }
        AcquireCommand {
            kind: request.kind,
            key: request.key.clone(),
            owner: self.owner.clone(),
            mode: request.mode,
            holds: 1,
            lease: request.terms.lease,
            yields,
            place,
            waited: patience.asked_at.elapsed(),
            turns,
            permits: request.permits,
        }
    }

    /// Whether a grant of what was sent then is still of use.
    fn in_time(&self, sent: Moment, now: Moment) -> bool {
        let state = self.state();
        let believed = self.engine.believed_lease(state.terms.lease, state.stored);
        now < sent.after(lease::belief(believed))
    }

    fn granted(&self, request: &Request, sent: Moment, now: Moment, token: Option<FencingToken>) {
        let lease = request.terms.lease;
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
        state.waited = true;
        if let Some(answer) = own {
            let stands = matches!(
                answer,
                Acquired::Busy { in_line: true, .. } | Acquired::Yield { in_line: true, .. }
            );
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

    /// Gives up the place in line of this one of several locks, since another one is in
    /// the way now: other waiters would be held back from a lock that this acquisition does not wait
    /// for any more. Without an answer the place ends by itself.
    pub(crate) async fn leave_line(&self) {
        let in_line = self.state().in_line;
        let Some(mode) = in_line else { return };
        let step = ReleaseCommand { holder: self.holder(), mode, holds: 0, in_line: true };
        if self.engine.store.release(step).await.is_ok() {
            self.state().in_line = None;
        }
    }
}
