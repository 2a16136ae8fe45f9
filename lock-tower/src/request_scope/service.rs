use std::{
    mem,
    task::{Context, Poll},
};

use http::Request;
use lock_core::LockClient;
use tower_service::Service;

use super::ResponseFuture;
use crate::request::context::RequestContext;

/// Runs each request in a scope: from [`RequestScopeLayer`](super::RequestScopeLayer).
///
/// See the [module docs](crate::request_scope).
#[derive(Debug, Clone)]
pub struct RequestScope<S> {
    inner: S,
    client: LockClient,
}

impl<S> RequestScope<S> {
    pub(super) fn new(inner: S, client: LockClient) -> Self {
        Self { inner, client }
    }
}

impl<S, B> Service<Request<B>> for RequestScope<S>
where
    S: Service<Request<B>> + Clone + Send + 'static,
    S::Future: Send,
    B: Send + 'static,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = ResponseFuture<S::Response, S::Error>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        // Tower requires that the instance polled ready is the one that is called.
        let clone = self.inner.clone();
        let mut inner = mem::replace(&mut self.inner, clone);
        let (mut parts, body) = request.into_parts();
        let context = RequestContext::join(&self.client, &parts);
        parts.extensions.insert(context.clone());
        ResponseFuture::new(
            context.run(async move { inner.call(Request::from_parts(parts, body)).await }),
        )
    }
}
