//! Re-entry: a scope that holds a key acquires it once more, past the gate, on the live lease.

use std::sync::Arc;

use lock_store::{AcquireCommand, Acquired, Kind, Mode, Unavailable, runtime::LeaseInstant};
use tokio::time::Instant;

use crate::{
    hold::{
        Hold, LeaseInner, LockRequest, ReconcileOnDrop, Stage, StepPermit, UNCONFIRMED,
        WaitDeadline,
    },
    types::{AcquireError, LostCause, WrongKind},
};

/// Returns the right to the lease's next step, once the outcome of every earlier step is known: the
/// count that a re-entry sends depends on them. A hold that has ended is not entered in any case.
async fn settled_step(hold: &Arc<Hold>, request: &LockRequest) -> Result<StepPermit, Unavailable> {
    let lease = &hold.lease;
    loop {
        let step = lease.step().await;
        if hold.check().is_err() || !lease.state().in_doubt() {
            return Ok(step);
        }
        drop(step);
        let check_breaker = || lease.client.check_breaker(request);
        check_breaker()?;
        // The reconciler resolves the doubt and announces it, or announces that the store is silent.
        // The step permit was dropped above: with it the reconciler could not send anything.
        let news = |state: &mut LeaseInner| {
            let waits = state.in_doubt() && state.stage == Stage::Held && check_breaker().is_ok();
            (!waits).then_some(())
        };
        lease.until(news).await;
    }
}

/// Refuses requests that no answer of the store could allow.
fn may_be_entered(hold: &Hold, request: &LockRequest) -> Result<(), AcquireError> {
    let key = || request.key.clone();
    match hold.lease.kind {
        kind if kind != request.kind => Err(WrongKind { key: key(), kind: request.kind }.into()),
        Kind::NonReentrant => Err(AcquireError::AlreadyHeld { key: key() }),
        // The scope's own read is in the way of the write, and is not released while this waits.
        _ if request.mode == Mode::Write && hold.state().guards.write == 0 => {
            Err(AcquireError::ReadHeld { key: key() })
        }
        _ => Ok(()),
    }
}

/// Adds a guard to a hold; `false` when the hold has ended and the lock must be acquired anew.
pub(crate) async fn reenter(
    hold: &Arc<Hold>,
    request: &LockRequest,
    wait_deadline: WaitDeadline,
) -> Result<bool, AcquireError> {
    let (mode, lease) = (request.mode, &hold.lease);
    let client = &lease.client;
    if hold.check().is_ok() {
        may_be_entered(hold, request)?;
    }
    let limit = wait_deadline.or_within(client.settings.command_timeout).max(Instant::now());
    let settled = tokio::time::timeout_at(limit, settled_step(hold, request)).await;
    // Not busy: no other holder is in the way, but the missing answer to an earlier command.
    let _step = settled.unwrap_or_else(|_| Err(Unavailable::unsent(UNCONFIRMED)))?;
    // The lease may have ended while this waited: then the lock must be acquired anew.
    let _ = hold.check();
    if !hold.is_live()? {
        return Ok(false);
    }
    client.check_breaker(request)?;
    let (holds, length) = {
        let mut state = lease.state();
        // Under the lock of the lease: the last guard may have been dropped since the check above,
        // and its release would take back the grant of this re-entry.
        if !hold.is_live()? {
            return Ok(false);
        }
        may_be_entered(hold, request)?;
        let length = request.options.lease.map_or(state.length, |lease| lease.max(state.length));
        let holds = state.desired().of(mode) + 1;
        let remote = state.remote.of_mut(mode);
        *remote = holds.max(*remote);
        state.handoffs.left = 0;
        state.may_be_stored(LeaseInstant::now(), length);
        (holds, length)
    };
    // If the reply is lost, the store may count one more than there are guards.
    let reconcile = ReconcileOnDrop(lease);
    let mut command = AcquireCommand::new(lease.holder(), mode, length);
    (command.holds, command.yields) = (holds, false);
    let began = Instant::now();
    let sent = LeaseInstant::of(began);
    let answer = client.store.acquire(command).await;
    client.statistics.acquire.add(began, Instant::now());
    if let Err(why) = &answer
        && why.is_silent()
    {
        client.open_breaker(&lease.key, sent);
    }
    match answer.map_err(|unavailable| unavailable.held_for(length))? {
        Acquired::Granted(None) => {
            if !hold.entered_again(request, holds, length, sent)? {
                return Ok(false);
            }
        }
        Acquired::WrongKind => {
            lease.lose(LostCause::Refused);
            return Err(WrongKind { key: lease.key.clone(), kind: lease.kind }.into());
        }
        // A token means a new outermost hold: the store has lost the one that was to be re-entered, and
        // another holder may have had the lock in between. The work under the old guards must end.
        Acquired::Granted(Some(_))
        | Acquired::Lost
        | Acquired::Busy { .. }
        | Acquired::Yield { .. } => {
            lease.lose(LostCause::Refused);
            return Err(hold.lost(LostCause::Refused).into());
        }
    }
    drop(reconcile);
    client.schedule.add(lease);
    lease.announce();
    Ok(true)
}
