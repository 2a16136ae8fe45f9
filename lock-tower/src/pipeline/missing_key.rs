//! Requests that do not name their lock, or not rightly.

use std::sync::Arc;

use lock_core::Mode;
use lock_policy::{
    __private::{RequestKey, ShadowOutcome, kill_switch},
    Enforce, KeyRejection,
};

use crate::{
    enforcement::split::lets_keyless_pass,
    outcome::{caller::Caller, rejection::Rejection},
    settings::policy::Policy,
    telemetry::record,
};

/// The keys, or the answer to a request that has none. Where the lock counts for no request, or
/// only for some keys, one without a key is let through: a lock that is tried out refuses nobody.
pub(crate) fn keys_of(
    policy: &Arc<Policy>,
    mode: Mode,
    caller: &Caller,
    keys: Result<Vec<RequestKey>, KeyRejection>,
) -> Result<Vec<RequestKey>, Rejection> {
    let bad = match keys {
        Ok(keys) => return Ok(keys),
        Err(bad) => bad,
    };
    let configured = policy.settings.enforce.unwrap_or_default();
    let enforce = kill_switch::in_force(&policy.name, configured);
    if !lets_keyless_pass(enforce) {
        return Err(policy.reject(mode, Rejection::key_rejected(caller, bad)));
    }
    if enforce != Enforce::Off {
        record::shadow(&policy.name, ShadowOutcome::Refuse);
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
