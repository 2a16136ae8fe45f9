//! The wait loop: try, sleep until woken or due, try again.

use std::{sync::Arc, time::Duration};

use tokio::time::Instant;

use crate::{
    LockKey, Lost, LostCause, Mode,
    backend::{AcquireStep, Acquired, Wakeups},
    clock::Moment,
    engine::Engine,
    error::{AcquireError, Busy, Unavailable, WrongKind},
    gate::{Entry, Patience, Permit, QueuePlace},
    hold::Hold,
    terms::{Asked, Terms},
};

/// How long the mark of the waiter that is next lives unless it is renewed, and how often it is: a
/// waiter that died holds others back for no longer.
const MARK_LIFE: Duration = Duration::from_millis(1_500);
const MARK_REFRESH: Duration = Duration::from_millis(500);
/// How much longer than its wait an acquisition waits for the answer to its last try.
const LAST_ANSWER: Duration = Duration::from_millis(50);
/// A waiter looks by itself this often, whatever it was told or has heard.
const SLOW_POLL: Duration = Duration::from_secs(3);

/// One acquisition that is not granted yet: what was asked, and until when it may take.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    pub(crate) key: LockKey,
    pub(crate) mode: Mode,
    pub(crate) asked: Asked,
    /// What the hold lives by if this is its outermost acquisition.
    pub(crate) terms: Terms,
    pub(crate) asked_at: Instant,
    /// `None`: wait for nobody.
    pub(crate) deadline: Option<Instant>,
}

impl Request {
    pub(crate) fn busy(&self, holder_remaining: Option<Duration>) -> AcquireError {
        AcquireError::Busy(Busy {
            key: self.key.clone(),
            mode: self.mode,
            waited: self.asked_at.elapsed(),
            holder_remaining,
        })
    }
}

/// A hold whose acquisition is under way. Dropped at any point, it leaves nothing in the store.
struct Attempt(Option<Arc<Hold>>);

impl Drop for Attempt {
    fn drop(&mut self) {
        let Some(hold) = self.0.take() else { return };
        if !hold.finish() {
            hold.state().set_leaving(true);
            hold.engine.clone().settle(hold);
        }
    }
}

/// Acquires a hold that no scope has yet.
pub(crate) async fn acquire(
    engine: &Arc<Engine>,
    request: &Request,
) -> Result<Arc<Hold>, AcquireError> {
    let mut draining = engine.draining.subscribe();
    tokio::select! {
        biased;
        _ = draining.wait_for(|draining| *draining) => Err(AcquireError::Draining),
        granted = async {
            let permit = pass_gate(engine, request).await?;
            contend(engine, request, permit).await
        } => granted,
    }
}

async fn pass_gate(engine: &Arc<Engine>, request: &Request) -> Result<Permit, AcquireError> {
    let patience = if request.deadline.is_some() { Patience::Waits } else { Patience::Hurries };
    match engine.gate.enter(&request.key, request.mode, patience) {
        Entry::Admitted(permit) => Ok(permit),
        Entry::Busy => Err(request.busy(None)),
        Entry::Full(waiters) => {
            Err(AcquireError::Overloaded(crate::Overloaded { key: request.key.clone(), waiters }))
        }
        Entry::Queued(place) => stand_in_queue(engine, request, place).await,
    }
}

async fn stand_in_queue(
    engine: &Arc<Engine>,
    request: &Request,
    mut place: QueuePlace,
) -> Result<Permit, AcquireError> {
    loop {
        let look_up = Instant::now() + engine.settings.command_timeout;
        let limit = request.deadline.map_or(look_up, |deadline| deadline.min(look_up));
        if let Ok(permit) = tokio::time::timeout_at(limit, place.admitted()).await {
            return Ok(permit);
        }
        // While the store cannot be reached, whoever is inside gets nowhere.
        engine.backend.link()?;
        let Some(deadline) = request.deadline else {
            let why = "an earlier release of this process is not confirmed";
            return Err(Unavailable::unsent(why).into());
        };
        if Instant::now() >= deadline {
            return Err(request.busy(None));
        }
    }
}

async fn contend(
    engine: &Arc<Engine>,
    request: &Request,
    permit: Permit,
) -> Result<Arc<Hold>, AcquireError> {
    let hold = Hold::new(engine, request.key.clone(), request.terms, permit);
    let mut attempt = Attempt(Some(Arc::clone(&hold)));
    let mut ears: Option<Wakeups> = None;
    let mut yields_until = None;
    let mut limit = None;
    loop {
        let yields = yields_until.is_none_or(|until| Instant::now() < until);
        let answer = ask(&hold, request, yields, limit).await?;
        let (look_again, holder_remaining) = match answer {
            Acquired::Granted(_) => {
                attempt.0 = None;
                return Ok(hold);
            }
            Acquired::Busy { remaining, marked } => {
                let refresh = if marked { MARK_REFRESH } else { SLOW_POLL };
                (remaining.unwrap_or(SLOW_POLL).min(refresh), remaining)
            }
            Acquired::Yield { remaining } => {
                let until =
                    *yields_until.get_or_insert_with(|| Instant::now() + engine.settings.yielding);
                let left = until.saturating_duration_since(Instant::now());
                (remaining.min(left), Some(remaining))
            }
            Acquired::Lost => {
                return Err(AcquireError::Lost(Lost {
                    key: request.key.clone(),
                    cause: LostCause::Refused,
                }));
            }
            Acquired::WrongKind => {
                return Err(AcquireError::WrongKind(WrongKind { key: request.key.clone() }));
            }
        };
        let Some(deadline) = request.deadline.filter(|deadline| Instant::now() < *deadline) else {
            return Err(request.busy(holder_remaining));
        };
        limit = Some(deadline + LAST_ANSWER);
        match &mut ears {
            None => {
                // Whatever is released before the subscription stands is seen by the next try.
                let ears = ears.insert(engine.backend.wakeups(&request.key));
                let heard = deadline.min(Instant::now() + engine.settings.command_timeout);
                let _ = tokio::time::timeout_at(heard, ears.subscribed()).await;
                ears.listen();
            }
            Some(ears) => {
                // A millisecond more than the holder has, or the try would come too early.
                let due = Instant::now() + look_again + Duration::from_millis(1);
                let _ = tokio::time::timeout_at(deadline.min(due), ears.woken()).await;
                ears.listen();
            }
        }
        if Instant::now() >= deadline {
            return Err(request.busy(holder_remaining));
        }
    }
}

/// Tries once.
async fn ask(
    hold: &Arc<Hold>,
    request: &Request,
    yields: bool,
    limit: Option<Instant>,
) -> Result<Acquired, AcquireError> {
    let (mode, lease) = (request.mode, request.terms.lease);
    {
        let mut state = hold.state();
        *state.stored.of_mut(mode) = 1;
        state.marked = request.deadline.map(|_| mode);
        state.may_be_stored(lease);
    }
    let step = AcquireStep {
        key: &request.key,
        owner: &hold.owner,
        mode,
        holds: 1,
        lease,
        yields,
        mark: request.deadline.map(|_| MARK_LIFE),
        waited: request.asked_at.elapsed(),
    };
    let sent = Moment::now();
    let asked = hold.engine.backend.acquire(&step);
    let answer = match limit {
        Some(limit) => tokio::time::timeout_at(limit, asked).await.unwrap_or_else(|_| {
            Err(Unavailable::unsent("the wait was over before the last try was answered"))
        }),
        None => asked.await,
    };
    let answer = answer.map_err(|unavailable| unavailable.held_for(lease))?;
    let mut state = hold.state();
    match answer {
        Acquired::Granted(token) => {
            let believed = hold.engine.believed_lease(lease, state.stored);
            state.granted_at = Moment::now();
            state.confirm(sent, believed);
            if state.granted_at >= state.believed_until {
                let late = Unavailable::unsent("the lock was granted too late to be of use");
                return Err(late.held_for(lease).into());
            }
            state.token = token.expect("BUG: an outermost grant without a token");
            state.marked = None;
            *state.confirmed.of_mut(mode) = 1;
            state.add_guard(mode);
        }
        Acquired::Busy { marked, .. } => {
            *state.stored.of_mut(mode) = 0;
            state.marked = marked.then_some(mode);
        }
        // Another's mark stands, or none can.
        _ => {
            *state.stored.of_mut(mode) = 0;
            state.marked = None;
        }
    }
    Ok(answer)
}
