//! What a policy has for its requests while the store does not answer.

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

/// What the store, or the policy instead of it, has given.
pub(crate) struct Acquisition {
    pub(crate) guard: Option<MultiGuard>,
    pub(crate) unlocked: Option<Unlocked>,
}

/// The locks, of the store or of what stands in for it.
pub(crate) async fn acquire(
    pending: &PendingLocks,
    context: &RequestContext,
    keys: &[RequestKey],
) -> Result<Acquisition, Rejection> {
    let (error, waited) = match pending.wait(&pending.client, context, keys).await? {
        Ok(guard) => return Ok(Acquisition { guard: Some(guard), unlocked: None }),
        Err(failed) => failed,
    };
    // A wait that ended is no reason to run without a lock; a store that is down may be.
    let down = store_is_down(&error);
    match pending.policy.settings.on_store_down.filter(|_| down).unwrap_or_default() {
        OnStoreDown::Open if pending.wait_budget(context) == WaitBudget::None => {
            Err(pending.too_late(context).after(waited))
        }
        OnStoreDown::Open => {
            warn(pending, context, Unlocked::Open, &error);
            Ok(Acquisition { guard: None, unlocked: Some(Unlocked::Open) })
        }
        OnStoreDown::Local => acquire_locally(pending, context, keys, &error).await,
        _ => Err(pending.refused(context, &error, waited)),
    }
}

/// The locks of this process' memory. A request of this process that still holds the store's lock
/// holds it rightly until its lease ends, so it excludes this one.
async fn acquire_locally(
    pending: &PendingLocks,
    context: &RequestContext,
    keys: &[RequestKey],
    down: &AcquireError,
) -> Result<Acquisition, Rejection> {
    let granted = pending.wait(&local(&pending.client), context, keys).await?;
    let held =
        |key: &RequestKey| held_beside(&pending.client, &context.scope, &key.key, pending.mode);
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

/// An error without its key.
struct Reason<'a>(&'a AcquireError);

impl fmt::Display for Reason<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            AcquireError::Unavailable(unavailable) => unavailable.fmt(f),
            _ => f.write_str("the store refused"),
        }
    }
}
