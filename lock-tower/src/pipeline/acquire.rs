//! Acquires a request's locks, or applies what its policy has instead.

use std::{borrow::Cow, sync::Arc};

use lock_core::MultiGuard;
use lock_policy::{
    __private::{RequestKey, ShadowOutcome},
    Enforce, Unlocked,
};

use super::{
    pending_locks::PendingLocks,
    request_hold::RequestHold,
    store_down::{self, Acquisition},
};
use crate::{
    enforcement::{
        shadow::Shadow,
        shadow_log::LoggedRequest,
        split::{EnforcementSplit, split},
    },
    outcome::rejection::Rejection,
    request::{
        context::{Enclosing, RequestContext},
        lock_slot::{Reacquire, SlotEntry},
        principal_limit::{LimitPermit, LimitedPrincipal},
        wait_budget::WaitBudget,
    },
    telemetry::record,
};

impl PendingLocks {
    /// Acquires the locks, waiting as the policy and the request's deadline allow. Returns them
    /// with the context for the work that runs under them.
    ///
    /// # Cancel safety
    ///
    /// Dropping this leaves the queue.
    pub(crate) async fn enter(
        mut self,
        context: &RequestContext,
    ) -> Result<(RequestHold, RequestContext), Rejection> {
        let limited = self.limited.take();
        let (enforced, shadow) = match self.enforce {
            Enforce::On => (Cow::Borrowed(&*self.keys), None),
            enforce => {
                let EnforcementSplit { enforced, shadowed } = split(enforce, &self.keys);
                (enforced, self.shadow(context, shadowed))
            }
        };
        let counted = self.count(context, limited, enforced.len())?;
        let granted = if !enforced.is_empty() {
            if let Some(why) = self.policy.mistake(&enforced) {
                let rejection = Rejection::misconfigured(&context.caller, why);
                return Err(self.policy.reject(self.mode, rejection));
            }
            store_down::acquire(&self, context, &enforced).await?
        } else {
            let unlocked = match self.enforce {
                _ if self.keys.is_empty() => Unlocked::NoKey,
                Enforce::Off => Unlocked::Off,
                _ => Unlocked::Shadow,
            };
            Acquisition { guard: None, unlocked: Some(unlocked) }
        };
        let all_enforced = granted.unlocked.is_none() && enforced.len() == self.keys.len();
        self.slot.fill(SlotEntry {
            name: self.policy.name.clone(),
            mode: self.mode,
            views: granted.guard.iter().flat_map(MultiGuard::views).collect(),
            unlocked: granted.unlocked,
            reacquire: granted.unlocked.is_none().then(|| Reacquire {
                policy: Arc::clone(&self.policy),
                client: self.client.clone(),
                scope: context.scope.clone(),
                mode: self.mode,
            }),
        });
        // An attribute's extractors run before its lock, so a `Fence` may have been requested
        // already.
        if let Some((outcome, why)) = self.slot.fence_refused() {
            let rejection = Rejection::without_fence(&context.caller, outcome, why);
            return Err(self.policy.reject(self.mode, rejection));
        }
        // Count here, where nothing can stop the work any more, so that each request counts once.
        match granted.unlocked {
            None => record::granted(self.policy.metric_keys(), self.mode),
            Some(why) => record::unlocked(&self.policy.name, self.mode, why),
        }
        let inside = context.inside(Enclosing {
            name: self.policy.name.clone(),
            keys: self.keys,
            lock: self.policy.lock(self.mode),
            enforced: all_enforced,
            around: None,
        });
        let Acquisition { guard, unlocked } = granted;
        let context = inside.clone();
        let held =
            RequestHold::new(context, self.policy, self.mode, guard, unlocked, shadow, counted);
        Ok((held, inside))
    }

    /// Counts these locks for the limited principal from now on.
    fn count(
        &self,
        context: &RequestContext,
        limited: Option<LimitedPrincipal>,
        locks: usize,
    ) -> Result<Option<LimitPermit>, Rejection> {
        let limited = limited.filter(|_| locks > 0);
        let counted = limited.map(|limited| limited.count(locks)).transpose();
        counted.map_err(|most| {
            self.policy.reject(self.mode, Rejection::over_limit(&context.caller, most))
        })
    }

    /// Creates the measurement of the keys for which the lock is not enforced.
    fn shadow(&self, context: &RequestContext, keys: Vec<RequestKey>) -> Option<Shadow> {
        let name = &self.policy.name;
        if keys.is_empty() {
            if self.enforce == Enforce::Shadow && !self.keys.is_empty() {
                record::shadow(name, ShadowOutcome::NotMeasured);
            }
            return None;
        }
        let path = self.path.as_deref();
        let logged =
            LoggedRequest::begin(&self.client, &self.policy, self.mode, &keys, path, || {
                self.keys.iter().any(|key| context.encloses(&key.key))
            });
        let budget = self.wait_budget(context);
        if budget == WaitBudget::None {
            record::shadow(name, ShadowOutcome::Refuse);
            return None;
        }
        let acquire = self.policy.acquire(&self.client, &context.scope, self.mode, &keys);
        Some(Shadow::new(name.clone(), budget.limit(acquire), logged))
    }
}
