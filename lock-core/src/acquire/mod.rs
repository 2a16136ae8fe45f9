//! From a request to its guard: by re-entry of what the scope holds, or by a new acquisition.

mod attempt;
mod reentry;
mod scope_holds;
mod wait_loop;

use std::{future::Future, pin::pin, sync::Arc};

use futures_util::future::select_all;

use crate::{
    guard::LockGuard,
    hold::{ClientInner, Hold, LockRequest, WaitDeadline},
    types::{AcquireError, Kind, Lost},
};
use reentry::reenter;
pub(crate) use scope_holds::ScopeHolds;

/// Acquires all requests or none; they are sorted by key and of one client. Returns the guards in
/// their order.
// No async function, which would have room for its arguments twice.
pub(crate) fn enter<'a>(
    engine: &'a Arc<ClientInner>,
    scope: Option<Arc<ScopeHolds>>,
    requests: &'a [LockRequest],
    wait_deadline: WaitDeadline,
) -> impl Future<Output = Result<Vec<LockGuard>, AcquireError>> + Send + 'a {
    if cfg!(debug_assertions) {
        let held = scope.as_ref().map(|scope| scope.held(engine.owners.client()));
        engine.lock_order.note(&held.unwrap_or_default(), requests);
    }
    async move {
        engine.tasks.attach_runtime()?;
        match (scope, requests) {
            (None, [_]) => {
                let holds = wait_loop::acquire(engine, requests, &wait_deadline).await?;
                Ok(guards(engine, holds, requests).collect())
            }
            (scope, _) => Box::pin(enter_all(engine, scope, requests, wait_deadline)).await,
        }
    }
}

async fn enter_all(
    engine: &Arc<ClientInner>,
    scope: Option<Arc<ScopeHolds>>,
    requests: &[LockRequest],
    wait_deadline: WaitDeadline,
) -> Result<Vec<LockGuard>, AcquireError> {
    let guards = match scope {
        Some(scope) => enter_in(engine, &scope, requests, wait_deadline).await?,
        None => acquire_anew(engine, requests, wait_deadline).await?,
    };
    // While the last of several was waited for, the lease of the first may have ended: the caller must
    // not start work that is not covered by all of them.
    if let [_, _, ..] = guards.as_slice() {
        guards.iter().try_for_each(|guard| guard.hold().check())?;
    }
    Ok(guards)
}

async fn enter_in(
    engine: &Arc<ClientInner>,
    scope: &ScopeHolds,
    requests: &[LockRequest],
    wait_deadline: WaitDeadline,
) -> Result<Vec<LockGuard>, AcquireError> {
    let place = |request: &LockRequest| {
        // Every permit of a semaphore is acquired separately.
        let reentrant = request.kind != Kind::Semaphore;
        reentrant.then(|| scope.slot(engine.owners.client(), &request.key))
    };
    let places: Vec<_> = requests.iter().map(place).collect();
    // Two acquisitions of one scope at the same time: without the turn both would contend in the store
    // with owners of their own, and the second would wait for the first, which is its own scope. With
    // it the second re-enters what the first has acquired.
    let mut turns = Vec::with_capacity(places.len());
    for (place, request) in places.iter().zip(requests) {
        let Some(place) = place else { continue };
        let turn_by = wait_deadline.or_within(engine.settings.command_timeout);
        let turn = tokio::time::timeout_at(turn_by, place.turn.lock()).await;
        turns.push(turn.map_err(|_| wait_deadline.busy(request, None))?);
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
        let anew = pin!(acquire_anew(engine, &missing, wait_deadline));
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

/// Acquires in one command where the store supports that; otherwise one key after another, in the
/// order of the keys, so that no two acquisitions wait for each other.
async fn acquire_anew(
    engine: &Arc<ClientInner>,
    requests: &[LockRequest],
    wait_deadline: WaitDeadline,
) -> Result<Vec<LockGuard>, AcquireError> {
    let at_once = match requests {
        [_] => 1,
        several => {
            let keys: Vec<_> = several.iter().map(|request| &request.key).collect();
            if engine.store.supports_atomic_multi(&keys) { keys.len() } else { 1 }
        }
    };
    let mut all = Vec::with_capacity(requests.len());
    for requests in requests.chunks(at_once.max(1)) {
        let acquired = pin!(wait_loop::acquire(engine, requests, &wait_deadline));
        let holds = unless_lost(all.iter(), acquired).await??;
        all.extend(guards(engine, holds, requests));
    }
    Ok(all)
}

/// Guards for what was just granted. From here on it is renewed.
fn guards(
    engine: &ClientInner,
    holds: Vec<Arc<Hold>>,
    requests: &[LockRequest],
) -> impl Iterator<Item = LockGuard> {
    holds.into_iter().zip(requests).map(|(hold, request)| {
        engine.schedule.add(&hold.lease);
        LockGuard::new(hold, request.mode)
    })
}

/// Returns the output of `future`, unless one of these locks is lost first.
async fn unless_lost<'a, F: Future>(
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
