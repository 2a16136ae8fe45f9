//! Re-entry: a scope that holds a key takes it once more, past the gate, on the live hold's owner.

use std::{sync::Arc, time::Duration};

use tokio::{sync::SemaphorePermit, time::Instant};

use crate::{
    Kind, LostCause, Mode,
    backend::{AcquireStep, Acquired},
    clock::Moment,
    convert::UNCONFIRMED,
    error::{AcquireError, Unavailable, WrongKind},
    hold::{Hold, HoldState},
    request::{Patience, Request},
};

/// Settles the hold unless the re-entry got to its end: a lost reply may have raised the count.
struct Attempt<'a>(&'a Arc<Hold>);

impl Drop for Attempt<'_> {
    fn drop(&mut self) {
        if !self.0.state().is_settled() {
            self.0.engine.settle(Arc::clone(self.0));
        }
    }
}

/// The right to the hold's next step, once no earlier one is in doubt. What is lost or has ended is
/// not entered in any case.
async fn settled_steps<'a>(
    hold: &'a Arc<Hold>,
    request: &Request,
) -> Result<SemaphorePermit<'a>, Unavailable> {
    let mut changes = hold.changes();
    loop {
        let steps = hold.steps().await;
        let is_in_doubt = |state: &HoldState| !state.guards.none() && state.in_doubt();
        if hold.check().is_err() || !is_in_doubt(&hold.state()) {
            return Ok(steps);
        }
        drop(steps);
        hold.engine.check_breaker(request)?;
        // The releaser has it in hand, and says when it is done.
        let _ = changes.changed().await;
    }
}

/// Refuses what no answer of the store could allow.
fn may_be_entered(hold: &Hold, request: &Request) -> Result<(), AcquireError> {
    let key = || hold.key.clone();
    let state = hold.state();
    match hold.kind {
        _ if state.guards.none() => Ok(()),
        kind if kind != request.kind => Err(WrongKind { key: key(), kind: request.kind }.into()),
        Kind::NonReentrant => Err(AcquireError::AlreadyHeld { key: key() }),
        _ if reads_alone(&state, request.mode) => Err(AcquireError::ReadHeld { key: key() }),
        _ => Ok(()),
    }
}

/// Whether somebody wants to write who only reads.
fn reads_alone(state: &HoldState, mode: Mode) -> bool {
    mode == Mode::Write && state.guards.write == 0
}

/// Adds a guard to a hold; `false` when the hold has ended and the lock must be acquired anew.
pub(crate) async fn reenter(
    hold: &Arc<Hold>,
    request: &Request,
    patience: Patience,
) -> Result<bool, AcquireError> {
    let mode = request.mode;
    if hold.check().is_ok() {
        may_be_entered(hold, request)?;
    }
    let limit = patience.or_within(hold.engine.settings.command_timeout).max(Instant::now());
    let settled = tokio::time::timeout_at(limit, settled_steps(hold, request)).await;
    // Nobody else is in the way: an answer of the store to an earlier step is.
    let _steps = settled.unwrap_or_else(|_| Err(Unavailable::unsent(UNCONFIRMED)))?;
    if hold.state().guards.none() {
        return Ok(false);
    }
    hold.check()?;
    let engine = &hold.engine;
    if mode == Mode::Read || hold.state().guards.write > 0 {
        engine.check_breaker(request)?;
    }
    let (holds, terms) = {
        let mut state = hold.state();
        // The last guard may have gone since, or the one that writes.
        if state.guards.none() {
            return Ok(false);
        }
        if reads_alone(&state, mode) {
            return Err(AcquireError::ReadHeld { key: hold.key.clone() });
        }
        let terms = state.terms.longest(&request.asked);
        let holds = state.guards.of(mode) + 1;
        let stored = state.stored.of_mut(mode);
        *stored = holds.max(*stored);
        state.turns = 0;
        state.may_be_stored(terms.lease);
        (holds, terms)
    };
    let attempt = Attempt(hold);
    let step = AcquireStep {
        kind: hold.kind,
        key: &hold.key,
        owner: &hold.owner,
        mode,
        holds,
        lease: terms.lease,
        yields: false,
        place: None,
        waited: Duration::ZERO,
        turns: 0,
        permits: request.permits,
    };
    let sent = Moment::now();
    let answer = engine.backend.acquire(&step).await;
    if let Err(why) = &answer
        && why.silent
    {
        engine.open_breaker(&hold.key, sent);
    }
    match answer.map_err(|unavailable| unavailable.held_for(terms.lease))? {
        // With a token it is a new outermost hold: the one that was to be entered is gone.
        Acquired::Granted(Some(_)) => {
            hold.lose(LostCause::Refused);
            return Err(hold.lost(LostCause::Refused).into());
        }
        Acquired::Granted(None) => {
            let mut state = hold.state();
            *state.stored.of_mut(mode) = holds;
            // Lost while the answer was on its way: what was granted is released.
            if let Some(cause) = state.lost {
                return Err(hold.lost(cause).into());
            }
            state.terms = terms;
            *state.confirmed.of_mut(mode) = holds;
            let believed = hold.engine.believed_lease(terms.lease, state.stored);
            state.confirm(sent, believed);
            state.add_guard(mode);
        }
        Acquired::WrongKind => {
            hold.lose(LostCause::Refused);
            return Err(WrongKind { key: hold.key.clone(), kind: hold.kind }.into());
        }
        Acquired::Lost | Acquired::Busy { .. } | Acquired::Yield { .. } => {
            hold.lose(LostCause::Refused);
            return Err(hold.lost(LostCause::Refused).into());
        }
    }
    drop(attempt);
    hold.engine.schedule.add(hold);
    hold.announce();
    Ok(true)
}
