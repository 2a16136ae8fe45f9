//! How an attribute's lock client gets into a handler.

use axum::{
    body::Body,
    extract::{FromRef, FromRequestParts},
    response::Response,
};
use http::request::Parts;
use lock_core::LockClient;

use crate::{
    context::RequestContext,
    outcome::{Caller, Refusal},
    slot::Slot,
};

/// What `run_handler` needs to know of the request.
#[derive(Debug)]
pub struct Handle {
    /// None: there is no layer around the handler.
    pub(super) context: Option<RequestContext>,
    pub(super) slot: Slot,
    /// For a function that answers in place of the handler, if there is one.
    pub(super) request: Option<Parts>,
}

impl Handle {
    fn of(context: RequestContext, parts: &mut Parts) -> Self {
        let slot = Slot::default();
        parts.extensions.insert(slot.clone());
        let rules = context.attributes.as_ref();
        let has_fallbacks = rules.is_some_and(|rules| rules.has_fallbacks());
        let request = has_fallbacks.then(|| parts.clone());
        Self { context: Some(context), slot, request }
    }
}

/// Carries the client of the layer around the handler.
#[derive(Debug)]
pub struct LayerHandle(Handle);

/// Carries the client out of the router's state: `LockClient: FromRef<S>`.
#[derive(Debug)]
pub struct StateHandle(Handle);

impl From<LayerHandle> for Handle {
    fn from(handle: LayerHandle) -> Self {
        handle.0
    }
}

impl From<StateHandle> for Handle {
    fn from(handle: StateHandle) -> Self {
        handle.0
    }
}

impl<S: Sync> FromRequestParts<S> for LayerHandle {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Response> {
        match RequestContext::find(parts) {
            Some(context) => {
                let context = context.no_later_than(parts.extensions.get().copied());
                Ok(Self(Handle::of(context, parts)))
            }
            None => Err(no_client(&Caller::of(parts)).answer_at_once().map(Body::from)),
        }
    }
}

impl<S: Sync> FromRequestParts<S> for StateHandle
where
    LockClient: FromRef<S>,
{
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Response> {
        let context = RequestContext::join(&LockClient::from_ref(state), parts);
        Ok(Self(Handle::of(context, parts)))
    }
}

/// For a handler without arguments, which sees nothing of the request: the client of the layer
/// around it comes with the task.
#[must_use]
pub fn ambient_handle() -> LayerHandle {
    LayerHandle(Handle { context: RequestContext::ambient(), slot: Slot::default(), request: None })
}

pub(super) fn no_client(caller: &Caller) -> Refusal {
    let why = "a handler under `#[distributed_lock]` has no lock client: add `RequestLockLayer` \
               or `RequestScopeLayer` around its route, or write `client = state`";
    Refusal::misconfigured(caller, why)
}
