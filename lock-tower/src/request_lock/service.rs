use std::{
    mem,
    sync::Arc,
    task::{Context, Poll},
};

use bytes::Bytes;
use futures_util::TryFutureExt;
use http::{Request, Response};
use http_body::Body;
use tower_service::Service;

use crate::{
    pipeline::{
        body::LockBody, preflight::PreflightRoutes, reject, response_future::ResponseFuture,
        route_lock::RouteLock, serve::serve,
    },
    request::context::RequestContext,
};

/// Runs each request under its lock: from [`RequestLockLayer`](super::RequestLockLayer).
///
/// See the [module docs](crate::request_lock).
#[derive(Debug, Clone)]
pub struct RequestLock<S> {
    inner: S,
    lock: Arc<RouteLock>,
}

impl<S> RequestLock<S> {
    pub(super) fn new(inner: S, lock: Arc<RouteLock>) -> Self {
        Self { inner, lock }
    }
}

impl<S, B, R> Service<Request<B>> for RequestLock<S>
where
    S: Service<Request<B>, Response = Response<R>> + Clone + Send + 'static,
    S::Future: Send,
    S::Error: Send + 'static,
    B: Send + 'static,
    R: Body<Data = Bytes> + Send + 'static,
{
    type Response = Response<LockBody<R>>;
    type Error = S::Error;
    type Future = ResponseFuture<Self::Response, S::Error>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        // Do not wait for the lock here: readiness comes before the request, so the key is unknown.
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        // Tower requires that the instance polled ready is the one that is called.
        let clone = self.inner.clone();
        let inner = mem::replace(&mut self.inner, clone);
        let lock = Arc::clone(&self.lock);
        let (mut parts, body) = request.into_parts();
        if lock.preflights.answers(&parts) {
            let mut inner = inner;
            let answer = async move { inner.call(Request::from_parts(parts, body)).await };
            return ResponseFuture::new(answer.map_ok(|answer| answer.map(LockBody::passed_on)));
        }
        ResponseFuture::new(async move {
            let time = lock.limit_time(&mut parts);
            let context = RequestContext::join(&lock.client, &parts);
            if let Err(why) = time {
                let rejection = lock.bad_deadline(&context, &parts, why);
                return Ok(reject::answer(rejection, Some(parts)).await.map(LockBody::ours));
            }
            match lock.pending_locks(&context, &mut parts).await {
                Ok(pending) => {
                    let preflight = PreflightRoutes::route_of(&parts);
                    let answer = serve(pending, context, inner, parts, body).await;
                    if let Ok(answer) = &answer {
                        lock.preflights.learn(preflight, answer.headers());
                    }
                    answer
                }
                Err(rejection) => {
                    Ok(reject::answer(rejection, Some(parts)).await.map(LockBody::ours))
                }
            }
        })
    }
}
