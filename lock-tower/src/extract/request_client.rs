use std::{ops::Deref, sync::Arc};

use axum::{body::Body, extract::FromRequestParts, response::Response};
use http::request::Parts;
use lock_core::LockClient;

use crate::{
    outcome::{caller::Caller, rejection::Rejection},
    pipeline::reject,
    request::context::RequestContext,
};

/// The lock client of the layer around a handler: an extractor for handlers that acquire locks themselves.
/// It is the client of the innermost layer of this crate, such as [`RequestScopeLayer`](crate::RequestScopeLayer).
/// Locks that it acquires in the handler share the request's [`Scope`](crate::Scope).
///
/// ```
/// use axum::{Router, routing::post};
/// use lock_tower::{LockClient, LockRejection, RequestClient, RequestScopeLayer};
///
/// async fn close_books(RequestClient(locks): RequestClient) -> Result<&'static str, LockRejection> {
///     Ok(locks.write("books").run(async { "closed" }).await?)
/// }
///
/// let app: Router = Router::new()
///     .route("/books/close", post(close_books))
///     .layer(RequestScopeLayer::new(LockClient::in_memory()));
/// ```
///
/// A handler without such a layer is answered 500 `lock-misconfigured`.
#[derive(Debug, Clone)]
pub struct RequestClient(pub LockClient);

impl Deref for RequestClient {
    type Target = LockClient;

    fn deref(&self) -> &LockClient {
        &self.0
    }
}

impl<S: Sync> FromRequestParts<S> for RequestClient {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Response> {
        let why = "a handler takes `RequestClient` and has no layer of lock-tower around it: add \
                   `RequestScopeLayer` or `RequestLockLayer` to its router";
        match RequestContext::find(parts) {
            Some(context) => Ok(Self(context.client)),
            None => {
                let rejection = Rejection::misconfigured(&Arc::new(Caller::of(parts)), why);
                Err(reject::answer_at_once(rejection).map(Body::from))
            }
        }
    }
}
