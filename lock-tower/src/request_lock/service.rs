use std::{
    mem,
    sync::Arc,
    task::{Context, Poll},
};

use http::{Request, Response};
use tower_service::Service;

use super::{ResponseFuture, policy::Policy};
use crate::context::RequestContext;

/// Works on each request under its lock: from [`RequestLockLayer`](super::RequestLockLayer).
///
/// See the [module docs](crate::request_lock).
#[derive(Debug, Clone)]
pub struct RequestLock<S> {
    inner: S,
    policy: Arc<Policy>,
}

impl<S> RequestLock<S> {
    pub(super) fn new(inner: S, policy: Arc<Policy>) -> Self {
        Self { inner, policy }
    }
}

impl<S, B, R> Service<Request<B>> for RequestLock<S>
where
    S: Service<Request<B>, Response = Response<R>> + Clone + Send + 'static,
    S::Future: Send,
    B: Send + 'static,
    R: From<String> + 'static,
{
    type Response = Response<R>;
    type Error = S::Error;
    type Future = ResponseFuture<Response<R>, S::Error>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        // The lock is not waited for here: readiness has no request yet, and so no key.
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        // The instance that was polled ready has to be the one that is called.
        let clone = self.inner.clone();
        let inner = mem::replace(&mut self.inner, clone);
        ResponseFuture::new(carry_out(Arc::clone(&self.policy), inner, request))
    }
}

async fn carry_out<S, B, R>(
    policy: Arc<Policy>,
    mut inner: S,
    request: Request<B>,
) -> Result<Response<R>, S::Error>
where
    S: Service<Request<B>, Response = Response<R>>,
    R: From<String>,
{
    let (mut parts, body) = request.into_parts();
    let context = RequestContext::join(&policy.client, &parts);
    let asked = match policy.asked(&context, &mut parts).await {
        Ok(asked) => asked,
        Err(refusal) => return Ok(refusal.respond()),
    };
    let slot = asked.slot.clone();
    let answer = asked.run(&context, |inside| {
        parts.extensions.insert(inside);
        parts.extensions.insert(slot);
        inner.call(Request::from_parts(parts, body))
    });
    match answer.await {
        Ok(answer) => answer,
        Err(refusal) => Ok(refusal.respond()),
    }
}
