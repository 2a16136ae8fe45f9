//! The locks that a request waits for.

use std::{pin::pin, sync::Arc, time::Duration};

use lock_core::{AcquireError, LockClient, LockKey, Mode, MultiGuard};
use lock_policy::{
    __private::{RequestKey, RequestKeys},
    Enforce,
};

use super::conflict;
use crate::{
    lock_settings::policy::Policy,
    outcome::rejection::Rejection,
    request::{
        context::RequestContext, lock_slot::LockSlot, principal_limit::LimitedPrincipal,
        wait_budget::WaitBudget,
    },
    telemetry::record,
};

/// The locks to acquire for a request: on all keys, or none.
pub(crate) struct PendingLocks {
    pub(crate) policy: Arc<Policy>,
    pub(crate) client: LockClient,
    /// The keys. Empty if the request lacks its key and the policy allows that.
    pub(crate) keys: RequestKeys,
    pub(crate) mode: Mode,
    /// For which keys the locks are enforced.
    pub(crate) enforce: Enforce,
    /// The request's path, if the shadow log may need it.
    pub(crate) path: Option<String>,
    pub(crate) slot: LockSlot,
    /// The principal whose number of locks is limited.
    pub(crate) limited: Option<LimitedPrincipal>,
}

impl PendingLocks {
    /// Acquires the locks from `client`, within the policy's wait and the request's deadline.
    pub(crate) async fn wait(
        &self,
        client: &LockClient,
        context: &RequestContext,
        keys: &[RequestKey],
    ) -> Result<Result<MultiGuard, (AcquireError, Duration)>, Rejection> {
        let budget = self.wait_budget(context);
        if budget == WaitBudget::None {
            return Err(self.too_late(context));
        }
        let acquire = self.policy.acquire(client, &context.scope, self.mode, keys);
        let acquire = budget.limit(acquire);
        let label = self.policy.label(self.mode);
        let acquired = pin!(acquire.acquire());
        let keys = self.policy.metric_keys();
        let (route, outcome) = (context.caller.route(), |refused| self.policy.outcome(refused));
        let (granted, waited) = record::wait(route, &label, keys, outcome, acquired).await;
        Ok(match granted {
            // The store may have answered after the wait ended. The remaining time is reserved for
            // the handler, so do not start it.
            Ok(_) if self.wait_budget(context) == WaitBudget::None => {
                return Err(self.too_late(context).after(waited));
            }
            Ok(guard) => {
                record::handed_off(keys, &guard);
                Ok(guard)
            }
            Err(error) => Err((error, waited)),
        })
    }

    pub(crate) fn wait_budget(&self, context: &RequestContext) -> WaitBudget {
        WaitBudget::of(context.deadline, self.policy.settings.reserve.unwrap_or_default())
    }

    pub(crate) fn too_late(&self, context: &RequestContext) -> Rejection {
        self.policy.reject(self.mode, Rejection::too_late(&context.caller))
    }

    pub(crate) fn refused(
        &self,
        context: &RequestContext,
        error: &AcquireError,
        waited: Duration,
    ) -> Rejection {
        let keys: Vec<&LockKey> = self.keys.iter().map(|key| &key.key).collect();
        // Log keys at debug level only: they may be personal data.
        let holder = match error {
            AcquireError::Busy(busy) => busy.holder(),
            _ => None,
        };
        let (name, route) = (&*self.policy.name, context.caller.route());
        tracing::debug!(policy = name, route, ?keys, ?holder, %error, "lock not acquired");
        let rejection = match conflict::describe(context, &self.policy, &self.keys, error) {
            Some(why) => Rejection::misconfigured(&context.caller, why),
            None => Rejection::not_acquired(&context.caller, error, &self.policy.holds),
        };
        let rejection = self.policy.reject(self.mode, rejection).after(waited);
        rejection.naming_busy(&self.keys, error)
    }
}
