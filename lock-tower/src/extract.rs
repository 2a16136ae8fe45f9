//! The extractor side of [`Locked`].

use axum::{body::Body, extract::FromRequestParts, response::Response};
use http::request::Parts;

use crate::{
    Locked,
    outcome::{Caller, Refusal},
};

impl<S: Sync> FromRequestParts<S> for Locked {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Response> {
        Self::from_extensions(&parts.extensions).ok_or_else(|| {
            let why = "a handler asks for `Locked` and has no lock: add `RequestLockLayer` by \
                       `Router::route_layer`, or `#[distributed_lock]` to the handler";
            Refusal::misconfigured(&Caller::of(parts), why).answer_at_once().map(Body::from)
        })
    }
}
