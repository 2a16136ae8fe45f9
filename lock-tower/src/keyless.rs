//! Requests that do not name their lock, or not rightly.

use std::sync::Arc;

use lock_core::Mode;

use crate::{
    BadKey, Enforce,
    key::RequestKey,
    kill_switch, observe,
    outcome::{Caller, Refusal},
    policy::Policy,
    shadow::Would,
};

/// The keys, or the answer to a request that has none. Where the lock counts for no request, or
/// only for some keys, one without a key is let through: a lock that is tried out refuses nobody.
pub(crate) fn keys_of(
    policy: &Arc<Policy>,
    mode: Mode,
    caller: &Caller,
    keys: Result<Vec<RequestKey>, BadKey>,
) -> Result<Vec<RequestKey>, Refusal> {
    let bad = match keys {
        Ok(keys) => return Ok(keys),
        Err(bad) => bad,
    };
    let configured = policy.conduct.enforce.unwrap_or_default();
    let enforce = kill_switch::in_force(&policy.name, configured);
    if !enforce.lets_keyless_pass() {
        return Err(Refusal::bad_key(caller, bad).of_lock(policy, mode));
    }
    if enforce != Enforce::Off {
        observe::shadow(&policy.name, Would::Refuse);
        tracing::info!(
            policy = &*policy.name,
            route = caller.route(),
            outcome = bad.outcome().as_str(),
            reason = %bad,
            "shadow: the request would have been refused"
        );
    }
    Ok(Vec::new())
}
