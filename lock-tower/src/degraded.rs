//! What a policy has for its requests while the store does not answer.

use std::{fmt, time::Duration};

use lock_core::{
    __private::{held_beside, local, store_is_down},
    AcquireError, MultiGuard,
};

use crate::{
    OnStoreDown, Unlocked, asked::Asked, context::RequestContext, key::RequestKey,
    outcome::Refusal, time_left::TimeLeft,
};

/// What the store, or the policy instead of it, has given.
pub(crate) struct Granted {
    pub(crate) guard: Option<MultiGuard>,
    pub(crate) unlocked: Option<Unlocked>,
}

impl Asked {
    /// The locks, of the store or of what stands in for it.
    pub(crate) async fn granted(
        &self,
        context: &RequestContext,
        keys: &[RequestKey],
    ) -> Result<Granted, Refusal> {
        match self.wait(&self.client, context, keys).await? {
            Ok(guard) => Ok(Granted { guard: Some(guard), unlocked: None }),
            Err((error, waited)) => {
                // Nobody runs without a lock because a wait has ended.
                let down = store_is_down(&error);
                match self.policy.conduct.on_store_down.filter(|_| down).unwrap_or_default() {
                    OnStoreDown::Closed => Err(self.refused(context, &error, waited)),
                    OnStoreDown::Open if self.time_left(context) == TimeLeft::None => {
                        Err(self.too_late(context).after(waited))
                    }
                    OnStoreDown::Open => {
                        self.degraded(context, Unlocked::Open, &error);
                        Ok(Granted { guard: None, unlocked: Some(Unlocked::Open) })
                    }
                    OnStoreDown::Local => self.granted_locally(context, keys, &error).await,
                }
            }
        }
    }

    /// What stands in this process' memory is there whatever becomes of the store. Who has the
    /// store's lock in this process still believes in it, and rightly, until its lease is over.
    async fn granted_locally(
        &self,
        context: &RequestContext,
        keys: &[RequestKey],
        down: &AcquireError,
    ) -> Result<Granted, Refusal> {
        let granted = self.wait(local(&self.client), context, keys).await?;
        let held =
            |key: &RequestKey| held_beside(&self.client, &context.scope, &key.key, self.mode);
        match granted {
            Ok(_) if keys.iter().any(held) => Err(self.refused(context, down, Duration::ZERO)),
            Ok(guard) => {
                self.degraded(context, Unlocked::Local, down);
                Ok(Granted { guard: Some(guard), unlocked: Some(Unlocked::Local) })
            }
            Err((error, waited)) => Err(self.refused(context, &error, waited)),
        }
    }

    fn degraded(&self, context: &RequestContext, to: Unlocked, error: &AcquireError) {
        tracing::warn!(
            policy = &*self.policy.name,
            route = context.caller.route(),
            degraded = to.as_str(),
            reason = %Reason(error),
            "the lock store does not answer: the request runs without its lock"
        );
    }
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
