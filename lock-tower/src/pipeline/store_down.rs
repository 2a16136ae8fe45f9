//! Applies a policy's [`OnStoreDown`](crate::OnStoreDown) while the store does not respond.

use std::{fmt, time::Duration};

use lock_core::{
    __private::{held_beside, local, store_is_down},
    AcquireError, MultiGuard,
};
use lock_policy::{__private::RequestKey, OnStoreDown, Unlocked};

use super::pending_locks::PendingLocks;
use crate::{
    outcome::rejection::Rejection,
    request::{context::RequestContext, wait_budget::WaitBudget},
};

/// The result of an acquisition: the store's lock, or what the policy has instead.
pub(crate) struct Acquisition {
    pub(crate) guard: Option<MultiGuard>,
    pub(crate) unlocked: Option<Unlocked>,
}

/// Acquires the locks from the store, or from its replacement.
pub(crate) async fn acquire(
    pending: &PendingLocks,
    context: &RequestContext,
    keys: &[RequestKey],
) -> Result<Acquisition, Rejection> {
    let (error, waited) = match pending.wait(&pending.client, context, keys).await? {
        Ok(guard) => return Ok(Acquisition { guard: Some(guard), unlocked: None }),
        Err(failed) => failed,
    };
    // Only a store that is down may be a reason to run without a lock; an expired wait is not.
    let down = store_is_down(&error);
    match pending.policy.settings.on_store_down.filter(|_| down).unwrap_or_default() {
        OnStoreDown::Open if pending.wait_budget(context) == WaitBudget::None => {
            Err(pending.too_late(context).after(waited))
        }
        OnStoreDown::Open => {
            warn(pending, context, Unlocked::Open, &error);
            Ok(Acquisition { guard: None, unlocked: Some(Unlocked::Open) })
        }
        OnStoreDown::Local => Box::pin(acquire_locally(pending, context, keys, &error)).await,
        _ => Err(pending.refused(context, &error, waited)),
    }
}

/// Acquires locks in this process' memory. A request of this process that still holds the store's
/// lock holds it until its lease ends, so it excludes this request.
async fn acquire_locally(
    pending: &PendingLocks,
    context: &RequestContext,
    keys: &[RequestKey],
    down: &AcquireError,
) -> Result<Acquisition, Rejection> {
    let granted = pending.wait(&local(&pending.client), context, keys).await?;
    let held = |key: &RequestKey| {
        let mode = key.own.map_or(pending.mode, |own| own.mode);
        held_beside(&pending.client, &context.scope, &key.key, mode)
    };
    match granted {
        Ok(_) if keys.iter().any(held) => Err(pending.refused(context, down, Duration::ZERO)),
        Ok(guard) => {
            warn(pending, context, Unlocked::Local, down);
            Ok(Acquisition { guard: Some(guard), unlocked: Some(Unlocked::Local) })
        }
        Err((error, waited)) => Err(pending.refused(context, &error, waited)),
    }
}

fn warn(pending: &PendingLocks, context: &RequestContext, to: Unlocked, error: &AcquireError) {
    tracing::warn!(
        policy = &*pending.policy.name,
        route = context.caller.route(),
        degraded = to.as_str(),
        reason = %Reason(error),
        "the lock store does not answer: the request runs without its lock"
    );
}

/// Displays an error without its key.
struct Reason<'a>(&'a AcquireError);

impl fmt::Display for Reason<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            AcquireError::Unavailable(unavailable) => unavailable.fmt(f),
            _ => f.write_str("the store refused"),
        }
    }
}
