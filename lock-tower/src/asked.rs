//! From a request to its locks, or to what its policy has instead.

use std::{pin::pin, sync::Arc, time::Duration};

use lock_core::{AcquireError, LockClient, LockKey, Mode, MultiGuard};

use crate::{
    Enforce, Unlocked, conflict,
    context::{Enclosing, RequestContext},
    degraded::Granted,
    enforce::Split,
    held::Held,
    key::RequestKey,
    kill_switch, observe,
    outcome::Refusal,
    policy::Policy,
    principal_limit::{Counted, Limited},
    shadow::{Shadow, Would},
    slot::{Again, Entry, Slot},
    time_left::TimeLeft,
};

/// What is about to be locked for a request: all the keys, or none.
pub(crate) struct Asked {
    pub(crate) policy: Arc<Policy>,
    pub(crate) client: LockClient,
    /// None: the request names no lock, and its policy lets it pass.
    pub(crate) keys: Vec<RequestKey>,
    pub(crate) mode: Mode,
    pub(crate) slot: Slot,
    /// Who has only so many locks.
    pub(crate) limited: Option<Limited>,
}

impl Asked {
    /// Acquires the locks, waiting as the policy and the request's deadline allow. With them comes
    /// the context for what runs under them.
    ///
    /// # Cancel safety
    ///
    /// Dropping this gives up the place in the queue.
    pub(crate) async fn enter(
        mut self,
        context: &RequestContext,
    ) -> Result<(Held, RequestContext), Refusal> {
        let configured = self.policy.conduct.enforce.unwrap_or_default();
        let enforce = kill_switch::in_force(&self.policy.name, configured);
        let Split { enforced, shadowed } = enforce.split(&self.keys);
        let shadow = self.shadow(context, enforce, shadowed);
        let counted = self.count(context, enforced.len())?;
        let granted = if !enforced.is_empty() {
            self.granted(context, &enforced).await?
        } else {
            let unlocked = match enforce {
                _ if self.keys.is_empty() => Unlocked::NoKey,
                Enforce::Off => Unlocked::Off,
                _ => Unlocked::Shadow,
            };
            Granted { guard: None, unlocked: Some(unlocked) }
        };
        let all_enforced = granted.unlocked.is_none() && enforced.len() == self.keys.len();
        self.slot.fill(Entry {
            name: self.policy.name.clone(),
            mode: self.mode,
            views: granted.guard.iter().flat_map(MultiGuard::views).collect(),
            unlocked: granted.unlocked,
            again: granted.unlocked.is_none().then(|| Again {
                policy: Arc::clone(&self.policy),
                client: self.client.clone(),
                scope: context.scope.clone(),
                mode: self.mode,
                keys: enforced.into_iter().map(|key| key.key).collect(),
            }),
        });
        // An attribute's handler has asked before anybody could know.
        if let Some((outcome, why)) = self.slot.fence_refused() {
            let refusal = Refusal::without_fence(&context.caller, outcome, why);
            return Err(refusal.of_lock(&self.policy, self.mode));
        }
        // Counted where nothing is in the way of the work any more: each request once.
        match granted.unlocked {
            None => observe::granted(&self.policy.name, self.mode),
            Some(why) => observe::unlocked(&self.policy.name, self.mode, why),
        }
        let inside = context.inside(Enclosing {
            name: self.policy.name.clone(),
            keys: self.keys,
            kind: self.policy.kind,
            mode: self.mode,
            enforced: all_enforced,
            around: None,
        });
        let Granted { guard, unlocked } = granted;
        let held = Held::new(inside.clone(), self.policy, self.mode, guard, unlocked, shadow);
        Ok((held.counted(counted), inside))
    }

    /// These locks count for whoever has only so many, from now on.
    fn count(
        &mut self,
        context: &RequestContext,
        locks: usize,
    ) -> Result<Option<Counted>, Refusal> {
        let limited = self.limited.take().filter(|_| locks > 0);
        let counted = limited.map(|limited| limited.count(locks)).transpose();
        counted.map_err(|most| {
            Refusal::over_limit(&context.caller, most).of_lock(&self.policy, self.mode)
        })
    }

    /// What measures the keys for which the lock does not count.
    fn shadow(
        &self,
        context: &RequestContext,
        enforce: Enforce,
        keys: Vec<LockKey>,
    ) -> Option<Shadow> {
        let name = &self.policy.name;
        if keys.is_empty() {
            if enforce == Enforce::Shadow && !self.keys.is_empty() {
                observe::shadow(name, Would::NotMeasured);
            }
            return None;
        }
        let acquire = self.policy.acquire(&self.client, &context.scope, self.mode, keys);
        let acquire = self.time_left(context).limit(acquire);
        if acquire.is_none() {
            observe::shadow(name, Would::Refuse);
        }
        Some(Shadow::new(name.clone(), acquire?))
    }

    /// Waits for the locks of `client` as long as the policy says and the request has time.
    pub(crate) async fn wait(
        &self,
        client: &LockClient,
        context: &RequestContext,
        keys: &[RequestKey],
    ) -> Result<Result<MultiGuard, (AcquireError, Duration)>, Refusal> {
        let keys = keys.iter().map(|key| key.key.clone());
        let acquire = self.policy.acquire(client, &context.scope, self.mode, keys);
        let Some(acquire) = self.time_left(context).limit(acquire) else {
            return Err(self.too_late(context));
        };
        let acquired = pin!(acquire.acquire());
        let (granted, waited) = observe::wait(context, &self.policy, self.mode, acquired).await;
        Ok(match granted {
            // The store may have taken longer than the wait: the time of the handler is its own.
            Ok(_) if self.time_left(context) == TimeLeft::None => {
                return Err(self.too_late(context).after(waited));
            }
            Ok(guard) => {
                observe::waited(&self.policy.name, &guard);
                Ok(guard)
            }
            Err(error) => Err((error, waited)),
        })
    }

    pub(crate) fn time_left(&self, context: &RequestContext) -> TimeLeft {
        TimeLeft::of(context.deadline, self.policy.conduct.reserve.unwrap_or_default())
    }

    pub(crate) fn too_late(&self, context: &RequestContext) -> Refusal {
        Refusal::too_late(&context.caller, &self.policy, self.mode)
    }

    pub(crate) fn refused(
        &self,
        context: &RequestContext,
        error: &AcquireError,
        waited: Duration,
    ) -> Refusal {
        let keys: Vec<&LockKey> = self.keys.iter().map(|key| &key.key).collect();
        let (name, kind) = (&self.policy.name, self.policy.kind);
        // Never above debug: a key may be personal.
        tracing::debug!(policy = &**name, route = context.caller.route(), ?keys, %error, "lock not acquired");
        let refusal = match conflict::told(context, name, kind, error) {
            Some(why) => Refusal::misconfigured(&context.caller, why),
            None => Refusal::not_acquired(&context.caller, error, &self.policy.holds),
        };
        refusal.of_lock(&self.policy, self.mode).after(waited)
    }
}
