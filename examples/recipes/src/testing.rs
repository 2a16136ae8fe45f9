//! Requests to a router, for the tests of the recipes.

use axum::{Router, body::Body};
use http::{HeaderMap, Request, StatusCode, request::Builder};
use http_body_util::BodyExt;
use tower::ServiceExt;

pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) text: String,
}

pub(crate) async fn send(app: &Router, request: Builder, body: impl Into<Body>) -> Answer {
    let request: Request<Body> = request.body(body.into()).expect("a request");
    let (parts, body) = app.clone().oneshot(request).await.expect("an answer").into_parts();
    let bytes = body.collect().await.expect("a body").to_bytes();
    let text = String::from_utf8_lossy(&bytes).into_owned();
    Answer { status: parts.status, headers: parts.headers, text }
}
