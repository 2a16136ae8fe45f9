use std::{future::Future, time::Duration};

use lock_core::{
    __private::{OneOrMany, Spec, ValueError, called_from, lock_keys},
    Acquire, LockClient, LockError, LockKey,
};
use lock_policy::{
    __private::{RequestKey, ShadowOutcome, kill_switch},
    Enforce,
};

use super::settings_in_force::of_function;
use crate::{
    enforcement::{
        shadow::Shadow,
        split::{EnforcementSplit, lets_keyless_pass, split},
    },
    request::{
        context::{Enclosing, RequestContext},
        wait_budget::WaitBudget,
    },
    telemetry::record,
};

/// Runs a function's body under its attribute's locks, as a policy file around the request and the
/// environment allow.
///
/// # Errors
///
/// See [`LockError`].
///
/// # Cancel safety
///
/// Dropping the future drops the body and releases the locks in the background.
pub async fn run<F: Future>(
    client: &LockClient,
    mut spec: Spec,
    body: F,
) -> Result<F::Output, LockError> {
    // Unboxed, the body would be stored in this future once for each branch, and functions are
    // nested.
    let body = Box::pin(body);
    let rules = RequestContext::ambient().and_then(|context| context.attributes);
    let (policy, mode) = of_function(rules.as_ref(), &spec);
    let settings = &policy.settings;
    (spec.kind, spec.mode) = (policy.kind, mode);
    (spec.wait, spec.lease) = (settings.wait, settings.lease);
    (spec.max_hold, spec.renew) = (settings.max_hold, settings.renew);
    spec.hold_at_least = settings.hold_at_least;
    (spec.permits, spec.weight) = (settings.permits, settings.weight);
    let enforce = kill_switch::in_force(&policy.name, settings.enforce.unwrap_or_default());
    let keys = match keys(&spec) {
        Some(keys) if enforce != Enforce::On => keys,
        // A shadow lock never rejects a request.
        None if lets_keyless_pass(enforce) => {
            if enforce != Enforce::Off {
                record::shadow(&policy.name, ShadowOutcome::Refuse);
            }
            Vec::new()
        }
        _ => return acquire(client, spec)?.run(body).await,
    };
    let context = RequestContext::ambient().unwrap_or_else(|| RequestContext::of(client.scope()));
    let inside = context.inside(Enclosing {
        name: policy.name.clone(),
        keys: keys.clone(),
        kind: policy.kind,
        mode,
        enforced: false,
        around: None,
    });
    let EnforcementSplit { enforced, shadowed } = split(enforce, &keys);
    let mut shadow = (!shadowed.is_empty()).then(|| {
        let acquire = settings.applied_to(lock_keys(client, policy.kind, mode, shadowed));
        let acquire = called_from(acquire.in_scope(&context.scope), &policy.name);
        Shadow::new(policy.name.clone(), acquire)
    });
    let body = inside.run(Shadow::beside(shadow.as_mut(), body));
    if enforced.is_empty() {
        return Ok(body.await);
    }
    spec.keys = Ok(enforced.iter().map(|key| key.key.to_string()).collect());
    acquire(client, spec)?.run(body).await
}

/// Creates the acquisition that the attribute describes. Within a request its wait ends with the
/// request's time, and it does not wait for a store that is known to be down.
fn acquire(client: &LockClient, spec: Spec) -> Result<Acquire<OneOrMany>, ValueError> {
    let acquire = spec.acquire(client)?;
    let Some(context) = RequestContext::ambient() else { return Ok(acquire) };
    let acquire = acquire.fail_fast(true);
    let at_once = acquire.clone().wait(Duration::ZERO);
    Ok(WaitBudget::of(context.deadline, Duration::ZERO).limit(acquire).unwrap_or(at_once))
}

/// Returns the keys; `None` if a value is not a valid key, which the acquisition then reports.
fn keys(spec: &Spec) -> Option<Vec<RequestKey>> {
    let keys = spec.keys.as_ref().ok()?.iter();
    keys.map(|key| LockKey::try_from(key).ok().map(Into::into)).collect()
}
