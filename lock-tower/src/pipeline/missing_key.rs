//! Requests whose key is missing or invalid.

use std::sync::Arc;

use lock_core::Mode;
use lock_policy::{
    __private::{RequestKeys, ShadowOutcome},
    Enforce, KeyRejection,
};

use crate::{
    enforcement::split::lets_keyless_pass,
    lock_settings::policy::Policy,
    outcome::{caller::Caller, rejection::Rejection},
    telemetry::record,
};

/// Returns the keys, or the answer to a request without any. Where the lock is enforced for no
/// request, or only for some keys, a request without a key runs: a shadow lock never rejects a
/// request.
pub(crate) fn keys_of(
    policy: &Arc<Policy>,
    mode: Mode,
    enforce: Enforce,
    caller: &Arc<Caller>,
    keys: Result<RequestKeys, KeyRejection>,
) -> Result<RequestKeys, Rejection> {
    let bad = match keys {
        Ok(keys) => return Ok(keys),
        Err(bad) => bad,
    };
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
    Ok(RequestKeys::new())
}
