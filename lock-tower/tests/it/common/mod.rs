//! Shared by the tests of this crate, each of which uses a part.
#![allow(dead_code, unreachable_pub, clippy::unwrap_used)]

pub mod logs;
pub mod metrics;
pub mod socket;
pub mod spans;
mod subscriber;

use std::{sync::Arc, time::Duration};

use axum::{Router, body::Body};
use futures_util::future::BoxFuture;
use http::{HeaderMap, Request, StatusCode};
use http_body_util::BodyExt;
use lock_tower::Locked;
use serde_json::Value;
use tokio::sync::{Semaphore, mpsc};
use tower::ServiceExt;

/// Longer than any test waits for an expected event.
pub const NEVER: Duration = Duration::from_secs(60 * 60);

/// Longer than a release takes, and shorter than a lease: what is free within this time was released.
pub const RELEASED: Duration = Duration::from_secs(10);

#[derive(Debug)]
pub struct Answer {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub text: String,
}

impl Answer {
    /// The body, which has to be a problem document.
    pub fn problem(&self) -> Value {
        assert_eq!(self.headers["content-type"], "application/problem+json", "{self:?}");
        serde_json::from_str(&self.text).unwrap()
    }

    pub fn assert_problem(&self, status: u16, problem: &str) -> Value {
        let document = self.problem();
        assert_eq!(self.status, status, "{document}");
        assert_eq!(document["type"], format!("urn:lock-tower:problem:{problem}"), "{document}");
        document
    }
}

/// A handler that sends its lock when it begins, and answers once the semaphore has a permit for it.
pub fn gated_work(
    answer: &'static str,
) -> (
    impl Fn(Locked) -> BoxFuture<'static, &'static str> + Clone + Send + Sync + 'static,
    mpsc::UnboundedReceiver<Locked>,
    Arc<Semaphore>,
) {
    let (tell, began) = mpsc::unbounded_channel();
    let goes_on = Arc::new(Semaphore::new(0));
    let gate = Arc::clone(&goes_on);
    let work = move |lock| -> BoxFuture<'static, &'static str> {
        tell.send(lock).unwrap();
        let gate = Arc::clone(&gate);
        Box::pin(async move {
            gate.acquire().await.unwrap().forget();
            answer
        })
    };
    (work, began, goes_on)
}

pub fn request(method: &str, uri: &str) -> Request<Body> {
    Request::builder().method(method).uri(uri).body(Body::empty()).unwrap()
}

pub async fn send(app: &Router, request: Request<Body>) -> Answer {
    let response = app.clone().oneshot(request).await.unwrap();
    let (parts, body) = response.into_parts();
    let bytes = body.collect().await.unwrap().to_bytes();
    Answer {
        status: parts.status,
        headers: parts.headers,
        text: String::from_utf8(bytes.to_vec()).unwrap(),
    }
}

pub async fn call(app: &Router, method: &str, uri: &str) -> Answer {
    send(app, request(method, uri)).await
}
