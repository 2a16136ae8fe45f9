//! From a request to its guard: by re-entry of the scope's hold, or by a new acquisition.

mod attempt;
mod lease_attempt;
mod pass_gate;
mod reentry;
mod resume;
mod wait_loop;

use std::{future::Future, pin::pin, slice, sync::Arc};

use futures_util::{TryFutureExt, future::select_all};
use lock_store::Kind;
use tokio::sync::MutexGuard;

use crate::{
    guard::LockGuard,
    hold::{ClientInner, Hold, LockRequest, ScopeHolds, ScopeSlot, WaitDeadline},
    types::{AcquireError, Lost},
};
pub(crate) use pass_gate::stand_in_queue;
use reentry::reenter;
pub(crate) use resume::resume;

/// Acquires one lock, past the gate if the scope holds its key already.
// No async function, which would have room for its arguments twice.
pub(crate) fn enter<'a>(
    client: &'a Arc<ClientInner>,
    request: &'a LockRequest,
    wait_deadline: WaitDeadline,
) -> impl Future<Output = Result<LockGuard, AcquireError>> + Send + 'a {
    note_order(client, slice::from_ref(request));
    let entered = async move {
        client.tasks.attach_runtime()?;
        // Every permit of a semaphore is acquired separately.
        let scope = request.scope.as_ref().filter(|_| request.kind != Kind::Semaphore);
        let slot = scope.map(|scope| scope.slot(client.owners.client(), &request.key));
        let _turn = match &slot {
            Some(slot) => Some(slot_turn(client, slot, request, &wait_deadline).await?),
            None => None,
        };
        if let Some(hold) = slot.as_ref().and_then(|slot| slot.hold())
            && Box::pin(reenter(&hold, request, wait_deadline)).await?
        {
            return Ok(LockGuard::new(hold, request.mode));
        }
        let hold = wait_loop::acquire_one(client, request, &wait_deadline).await?;
        if let Some(slot) = &slot {
            // Set while the turn is held: the next acquisition of the scope then finds this hold.
            // Without it that acquisition would contend with a new owner, and wait for its own
            // scope.
            slot.set(&hold);
        }
        Ok(renewed_guard(client, hold, request, &wait_deadline))
    };
    entered.inspect_err(move |error| client.report_refused(request, &wait_deadline, error))
}

/// Acquires all requests or none; they are sorted by key and of one client. Returns the guards in
/// their order. A refusal is reported by the caller, which may make several such attempts.
pub(crate) async fn enter_all(
    client: &Arc<ClientInner>,
    requests: &[LockRequest],
    wait_deadline: WaitDeadline,
) -> Result<Vec<LockGuard>, AcquireError> {
    note_order(client, requests);
    client.tasks.attach_runtime()?;
    let scope = requests.first().and_then(|request| request.scope.as_ref());
    let guards = match scope {
        Some(scope) => enter_in(client, scope, requests, wait_deadline).await?,
        None => acquire_anew(client, requests, wait_deadline).await?,
    };
    // While the last of several was waited for, the lease of the first may have ended: the caller must
    // not start work that is not covered by all of them.
    guards.iter().try_for_each(|guard| guard.hold().check())?;
    Ok(guards)
}

/// In debug builds, records in which order locks are acquired.
fn note_order(client: &ClientInner, requests: &[LockRequest]) {
    if cfg!(debug_assertions) {
        let scope = requests.first().and_then(|request| request.scope.as_ref());
        let held = scope.map(|scope| scope.held(client.owners.client()));
        let held = held.unwrap_or_default();
        let anew: Vec<_> = requests
            .iter()
            .filter(|request| request.options.in_order)
            .filter(|request| held.iter().all(|(key, _)| *key != request.key))
            .map(|request| (request.key.clone(), request.options.site.clone()))
            .collect();
        client.lock_order.note(&held, &anew);
    }
}

/// Waits until no other acquisition of the scope contends for the slot's key. Without this both
/// would contend in the store with different owners, and the second would wait for the first, which
/// is its own scope. With it the second re-enters the hold of the first.
async fn slot_turn<'a>(
    client: &ClientInner,
    slot: &'a ScopeSlot,
    request: &LockRequest,
    wait_deadline: &WaitDeadline,
) -> Result<MutexGuard<'a, ()>, AcquireError> {
    if let Ok(turn) = slot.turn.try_lock() {
        return Ok(turn);
    }
    let limit = wait_deadline.or_within(client.settings.command_timeout);
    let turn = Box::pin(tokio::time::timeout_at(limit, slot.turn.lock())).await;
    turn.map_err(|_| wait_deadline.busy(request, None))
}

async fn enter_in(
    client: &Arc<ClientInner>,
    scope: &ScopeHolds,
    requests: &[LockRequest],
    wait_deadline: WaitDeadline,
) -> Result<Vec<LockGuard>, AcquireError> {
    let place = |request: &LockRequest| {
        // Every permit of a semaphore is acquired separately.
        let reentrant = request.kind != Kind::Semaphore;
        reentrant.then(|| scope.slot(client.owners.client(), &request.key))
    };
    let places: Vec<_> = requests.iter().map(place).collect();
    let mut turns = Vec::with_capacity(places.len());
    for (place, request) in places.iter().zip(requests) {
        let Some(place) = place else { continue };
        // In the order of the keys, as in every acquisition: two acquisitions of one scope would
        // otherwise each wait for the turn that the other has.
        turns.push(slot_turn(client, place, request, &wait_deadline).await?);
    }
    let mut guards: Vec<Option<LockGuard>> = Vec::with_capacity(requests.len());
    for (place, request) in places.iter().zip(requests) {
        guards.push(match place.as_ref().and_then(|place| place.hold()) {
            Some(hold) if reenter(&hold, request, wait_deadline).await? => {
                Some(LockGuard::new(hold, request.mode))
            }
            _ => None,
        });
    }
    let missing: Vec<LockRequest> = requests
        .iter()
        .zip(&guards)
        .filter(|(_, guard)| guard.is_none())
        .map(|(request, _)| request.clone())
        .collect();
    let mut anew = if missing.is_empty() {
        Vec::new().into_iter()
    } else {
        let anew = pin!(acquire_anew(client, &missing, wait_deadline));
        // A re-entered lock may be lost during the wait for the others. The caller could not work
        // under all of them, so waiting on would only keep others out.
        unless_lost(guards.iter().flatten(), anew).await??.into_iter()
    };
    let all = guards.into_iter().zip(&places).map(|(guard, place)| {
        guard.unwrap_or_else(|| {
            let guard = anew.next().expect("BUG: a grant without a guard");
            if let Some(place) = place {
                place.set(guard.hold());
            }
            guard
        })
    });
    Ok(all.collect())
}

/// Acquires in one command if the store supports that. Otherwise acquires one key after another, in
/// the order of the keys, so that no two acquisitions wait for each other.
async fn acquire_anew(
    client: &Arc<ClientInner>,
    requests: &[LockRequest],
    wait_deadline: WaitDeadline,
) -> Result<Vec<LockGuard>, AcquireError> {
    let keys: Vec<_> = requests.iter().map(|request| &request.key).collect();
    let at_once = if client.store.supports_atomic_multi(&keys) { keys.len() } else { 1 };
    let mut all = Vec::with_capacity(requests.len());
    for requests in requests.chunks(at_once.max(1)) {
        let acquired = pin!(acquire_chunk(client, requests, wait_deadline));
        // The earlier keys are held during the wait for this one: if one of them is lost, the wait
        // ends at once.
        all.extend(unless_lost(all.iter(), acquired).await??);
    }
    Ok(all)
}

/// Acquires all of these in one command.
async fn acquire_chunk(
    client: &Arc<ClientInner>,
    requests: &[LockRequest],
    wait_deadline: WaitDeadline,
) -> Result<Vec<LockGuard>, AcquireError> {
    let holds = match requests {
        [request] => vec![wait_loop::acquire_one(client, request, &wait_deadline).await?],
        _ => wait_loop::acquire_all(client, requests, &wait_deadline).await?,
    };
    let guards = holds.into_iter().zip(requests);
    Ok(guards.map(|(hold, request)| renewed_guard(client, hold, request, &wait_deadline)).collect())
}

/// The guard of a lock that was just granted. From here on it is renewed.
fn renewed_guard(
    client: &ClientInner,
    hold: Arc<Hold>,
    request: &LockRequest,
    wait_deadline: &WaitDeadline,
) -> LockGuard {
    client.schedule.add(&hold.lease);
    client.report_granted(&hold, request, wait_deadline);
    LockGuard::new(hold, request.mode)
}

/// Returns the output of `future`, unless one of these locks is lost first.
pub(crate) async fn unless_lost<'a, F: Future>(
    guards: impl Iterator<Item = &'a LockGuard>,
    future: F,
) -> Result<F::Output, Lost> {
    let mut guards = guards.peekable();
    if guards.peek().is_none() {
        return Ok(future.await);
    }
    tokio::select! {
        biased;
        (lost, ..) = select_all(guards.map(LockGuard::lost)) => Err(lost),
        output = future => Ok(output),
    }
}
