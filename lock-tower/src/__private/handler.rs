use std::{future::Future, time::Duration};

use axum::response::{IntoResponse, Response};
use lock_core::{__private::Spec, Acquire, LockKey, MultiLock};

use super::handle::{Handle, no_client};
use crate::{
    context::RequestContext,
    hold_times,
    key::RequestKey,
    name::Name,
    outcome::{Caller, Refusal},
    under_lock::Asked,
};

/// Runs a handler's body under its attribute's locks.
///
/// # Cancel safety
///
/// Dropping the future drops the body and releases the locks in the background.
pub async fn run_handler<F>(handle: impl Into<Handle>, spec: Spec, body: F) -> Response
where
    F: Future<Output: IntoResponse>,
{
    let handle = handle.into();
    let name = Name::from(spec.name);
    let (kind, mode) = (spec.kind, spec.mode);
    let Some(context) = &handle.context else {
        let refusal = no_client(&Caller::default());
        return refusal.of_lock(&name, kind, mode).respond();
    };
    let waits = spec.wait != Some(Duration::ZERO);
    let holds = hold_times::of_attribute(spec.name);
    let (keys, acquire) = match keys_and_acquire(spec, context) {
        Ok(asked) => asked,
        Err(refusal) => return refusal.of_lock(&name, kind, mode).respond(),
    };
    let asked =
        Asked { name: &name, keys, kind, mode, waits, acquire, holds: &holds, slot: handle.slot };
    let answer = asked.run(context, |_| async move { body.await.into_response() }).await;
    answer.unwrap_or_else(Refusal::respond)
}

/// The values of an attribute's keys come from the request: one that is refused is the client's
/// fault.
fn keys_and_acquire(
    spec: Spec,
    context: &RequestContext,
) -> Result<(Vec<RequestKey>, Acquire<MultiLock>), Refusal> {
    let bad_key = |bad| Refusal::bad_key(&context.caller, bad);
    let keys = spec.keys.as_ref().map_err(|error| bad_key(error.clone().into()))?;
    let keys = keys.iter().map(|key| LockKey::try_from(key).map(RequestKey::from));
    let keys = keys.collect::<Result<_, _>>().map_err(|error| bad_key(error.into()))?;
    let acquire = spec.acquire(&context.client).map_err(|error| bad_key(error.into()))?;
    Ok((keys, acquire))
}
