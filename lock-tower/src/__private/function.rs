use std::{future::Future, time::Duration};

use lock_core::{
    __private::{OneOrMany, Spec, ValueError, lock_keys},
    Acquire, LockClient, LockError, LockKey,
};

use super::in_force::of_function;
use crate::{
    Enforce,
    context::{Enclosing, RequestContext},
    enforce::Split,
    kill_switch, observe,
    shadow::{Shadow, Would},
    time_left::TimeLeft,
};

/// Runs a function's body under its attribute's locks, as far as a policy file around the request,
/// and the environment, let it.
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
    // It would stand in this future once for each way that it can go, and functions are nested.
    let body = Box::pin(body);
    let rules = RequestContext::ambient().and_then(|context| context.attributes);
    let (policy, mode) = of_function(rules.as_ref(), &spec);
    let conduct = &policy.conduct;
    (spec.kind, spec.mode) = (policy.kind, mode);
    (spec.wait, spec.lease) = (conduct.wait, conduct.lease);
    (spec.max_hold, spec.renew) = (conduct.max_hold, conduct.renew);
    let enforce = kill_switch::in_force(&policy.name, conduct.enforce.unwrap_or_default());
    let keys = match keys(&spec) {
        Some(keys) if enforce != Enforce::On => keys,
        // A lock that is tried out refuses nobody.
        None if enforce.lets_keyless_pass() => {
            if enforce != Enforce::Off {
                observe::shadow(&policy.name, Would::Refuse);
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
    let Split { enforced, shadowed } = enforce.split(&keys);
    let mut shadow = (!shadowed.is_empty()).then(|| {
        let acquire = conduct.applied_to(lock_keys(client, policy.kind, mode, shadowed));
        let acquire = acquire.in_scope(&context.scope).called_from(&policy.name);
        Shadow::new(policy.name.clone(), acquire)
    });
    let body = inside.run(Shadow::beside(shadow.as_mut(), body));
    if enforced.is_empty() {
        return Ok(body.await);
    }
    spec.keys = Ok(enforced.iter().map(|key| key.key.to_string()).collect());
    acquire(client, spec)?.run(body).await
}

/// What the attribute asks for; within a request for no longer than that has time, and of a store
/// that is known not to answer not at all.
fn acquire(client: &LockClient, spec: Spec) -> Result<Acquire<OneOrMany>, ValueError> {
    let acquire = spec.acquire(client)?;
    let Some(context) = RequestContext::ambient() else { return Ok(acquire) };
    let acquire = acquire.fail_fast(true);
    let at_once = acquire.clone().wait(Duration::ZERO);
    Ok(TimeLeft::of(context.deadline, Duration::ZERO).limit(acquire).unwrap_or(at_once))
}

/// `None`: a value is no key, which is told by whoever acquires it.
fn keys(spec: &Spec) -> Option<Vec<crate::key::RequestKey>> {
    let keys = spec.keys.as_ref().ok()?.iter();
    keys.map(|key| LockKey::try_from(key).ok().map(Into::into)).collect()
}
