//! Re-entry: a scope that holds a key takes it once more, past the gate, on the live hold's owner.

use std::{sync::Arc, time::Duration};

use tokio::time::Instant;

use crate::{
    Kind, LostCause, Mode,
    clock::Moment,
    convert::UNCONFIRMED,
    error::{AcquireError, Unavailable, WrongKind},
    hold::{Hold, HoldState, ReconcileOnDrop, Steps},
    request::{Patience, Request},
    store::{AcquireCommand, Acquired},
    terms::Terms,
};

/// The right to the next step of the hold that the store has, once no earlier one is in doubt. What
/// is lost or has ended is not entered in any case.
async fn settled_steps(hold: &Arc<Hold>, request: &Request) -> Result<Steps, Unavailable> {
    loop {
        let part = hold.store_part();
        let mut changes = part.changes();
        let steps = part.steps().await;
        if !Arc::ptr_eq(&part, &hold.store_part()) {
            continue;
        }
        let is_in_doubt = |state: &HoldState| !state.counted().none() && state.in_doubt();
        if hold.check().is_err() || !is_in_doubt(&part.state()) {
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
    let steps = settled.unwrap_or_else(|_| Err(Unavailable::unsent(UNCONFIRMED)))?;
    let part = steps.of();
    if hold.state().guards.none() {
        return Ok(false);
    }
    hold.check()?;
    let engine = &hold.engine;
    engine.check_breaker(request)?;
    let (holds, terms) = {
        let mut state = part.state();
        // The last guard may have gone since, or the one that writes.
        if state.counted().none() {
            return Ok(false);
        }
        if mode == Mode::Write && state.counted().write == 0 {
            return Err(AcquireError::ReadHeld { key: hold.key.clone() });
        }
        let terms = state.terms.longest(&request.asked);
        let holds = state.counted().of(mode) + 1;
        let stored = state.stored.of_mut(mode);
        *stored = holds.max(*stored);
        state.turns = 0;
        state.may_be_stored(Moment::now(), terms.lease);
        (holds, terms)
    };
    // A lost reply may have raised the count.
    let reconcile = ReconcileOnDrop(part);
    let step = AcquireCommand {
        kind: hold.kind,
        key: hold.key.clone(),
        owner: part.owner.clone(),
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
    let answer = engine.store.acquire(step).await;
    if let Err(why) = &answer
        && why.is_silent()
    {
        engine.open_breaker(&hold.key, sent);
    }
    match answer.map_err(|unavailable| unavailable.held_for(terms.lease))? {
        // With a token it is a new outermost hold: the one that was to be entered is gone.
        Acquired::Granted(Some(_)) => {
            part.lose(LostCause::Refused);
            return Err(hold.lost(LostCause::Refused).into());
        }
        Acquired::Granted(None) => {
            let own = Arc::ptr_eq(hold, part);
            part.granted_again(mode, holds, terms, sent, own).map_err(|cause| hold.lost(cause))?;
            if !own && !hold.guest_enters_again(part, &request.asked)? {
                return Ok(false);
            }
        }
        Acquired::WrongKind => {
            part.lose(LostCause::Refused);
            return Err(WrongKind { key: hold.key.clone(), kind: hold.kind }.into());
        }
        Acquired::Lost | Acquired::Busy { .. } | Acquired::Yield { .. } => {
            part.lose(LostCause::Refused);
            return Err(hold.lost(LostCause::Refused).into());
        }
    }
    drop(reconcile);
    engine.schedule.add(part);
    part.announce();
    Ok(true)
}

impl Hold {
    /// The store has one more for this owner, for a guard of this hold's own or of a guest. Lost
    /// while the answer was on its way, it is released.
    fn granted_again(
        &self,
        mode: Mode,
        holds: u32,
        terms: Terms,
        sent: Moment,
        own: bool,
    ) -> Result<(), LostCause> {
        let mut state = self.state();
        *state.stored.of_mut(mode) = holds;
        if let Some(cause) = state.lost {
            return Err(cause);
        }
        state.terms = terms;
        *state.confirmed.of_mut(mode) = holds;
        let believed = self.engine.believed_lease(terms.lease, state.stored);
        state.confirm(sent, believed, Moment::now());
        if own {
            state.add_guard(mode);
        }
        Ok(())
    }
}
