//! How an attribute's lock client gets into a handler.

use std::sync::Arc;

use axum::{
    body::Body,
    extract::{FromRef, FromRequestParts},
    response::Response,
};
use http::request::Parts;
use lock_core::LockClient;

use crate::{
    outcome::{caller::Caller, rejection::Rejection},
    pipeline::reject,
    request::{context::RequestContext, lock_slot::LockSlot},
};

/// The facts about a request that `run_handler` needs.
#[derive(Debug)]
pub struct ClientHandle {
    /// `None` if there is no layer around the handler.
    pub(super) context: Option<RequestContext>,
    pub(super) slot: LockSlot,
    /// The request, for a function that answers in place of the handler, if one is set.
    pub(super) request: Option<Parts>,
}

impl ClientHandle {
    fn of(context: RequestContext, parts: &mut Parts) -> Self {
        let slot = LockSlot::default();
        parts.extensions.insert(slot.clone());
        let rules = context.attributes.as_ref();
        let has_fallbacks = rules.is_some_and(|rules| rules.has_fallbacks());
        let request = has_fallbacks.then(|| parts.clone());
        Self { context: Some(context), slot, request }
    }
}

/// Takes the client from the layer around the handler.
#[derive(Debug)]
pub struct LayerHandle(ClientHandle);

/// Takes the client from the router's state: `LockClient: FromRef<S>`.
#[derive(Debug)]
pub struct StateHandle(ClientHandle);

impl From<LayerHandle> for ClientHandle {
    fn from(handle: LayerHandle) -> Self {
        handle.0
    }
}

impl From<StateHandle> for ClientHandle {
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
                Ok(Self(ClientHandle::of(context, parts)))
            }
            None => {
                Err(reject::answer_at_once(no_client(&Arc::new(Caller::of(parts)))).map(Body::from))
            }
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
        Ok(Self(ClientHandle::of(context, parts)))
    }
}

/// For a handler without arguments, which has no access to its request: takes the client of the
/// layer around it from the task.
#[must_use]
pub fn ambient_handle() -> LayerHandle {
    LayerHandle(ClientHandle {
        context: RequestContext::ambient(),
        slot: LockSlot::default(),
        request: None,
    })
}

pub(super) fn no_client(caller: &Arc<Caller>) -> Rejection {
    let why = "a handler under `#[distributed_lock]` has no lock client: add `RequestLockLayer` \
               or `RequestScopeLayer` around its route, or write `client = state`";
    Rejection::misconfigured(caller, why)
}
