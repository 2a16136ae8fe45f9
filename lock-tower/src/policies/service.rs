use std::{
    mem,
    sync::Arc,
    task::{Context, Poll},
};

use axum::extract::MatchedPath;
use bytes::Bytes;
use http::{Request, Response, StatusCode, request::Parts};
use http_body::Body;
use lock_policy::KeyRejection;
use tower_service::Service;

use super::{Policies, near_misses, version::Version};
use crate::{
    lock_settings::attribute_rules::AttributeRules,
    pipeline::{
        body::LockBody, preflight::PreflightRoutes, reject, response_future::ResponseFuture,
        serve::serve,
    },
    request::context::RequestContext,
};

/// Runs each request under its policy's lock: from [`PolicyLayer`](super::PolicyLayer).
#[derive(Debug, Clone)]
pub struct PolicyService<S> {
    inner: S,
    policies: Policies,
}

impl<S> PolicyService<S> {
    pub(super) fn new(inner: S, policies: Policies) -> Self {
        Self { inner, policies }
    }
}

impl<S, B, R> Service<Request<B>> for PolicyService<S>
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
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        // Tower requires that the instance polled ready is the one that is called.
        let clone = self.inner.clone();
        let inner = mem::replace(&mut self.inner, clone);
        // The request keeps this version, even if a new one comes into force meanwhile.
        let version = self.policies.current();
        let client = self.policies.0.registered.client.clone();
        let (mut parts, body) = request.into_parts();
        if let Some(route) = parts.extensions.get::<MatchedPath>()
            && self.policies.0.seen.add(route.as_str())
        {
            near_misses::log(&version, route.as_str());
        }
        let time = version.limit_time(&mut parts);
        let mut context = RequestContext::join(&client, &parts);
        let around = context.attributes.take();
        context.attributes = Some(AttributeRules::inside(&version.attributes, around));
        ResponseFuture::new(work(version, context, inner, (parts, time), body))
    }
}

const NO_ROUTE: &str = "the request's path is that of a policy, and its route is not known where \
                        the layer is: add the layer by `Router::route_layer`, to the router that \
                        has the route";

async fn work<S, B, R>(
    version: Arc<Version>,
    context: RequestContext,
    mut inner: S,
    (mut parts, time): (Parts, Result<(), String>),
    body: B,
) -> Result<Response<LockBody<R>>, S::Error>
where
    S: Service<Request<B>, Response = Response<R>> + Send + 'static,
    S::Future: Send,
    S::Error: Send + 'static,
    B: Send + 'static,
    R: Body<Data = Bytes> + Send + 'static,
{
    let found = version.find(&parts);
    #[cfg(feature = "testing")]
    super::rules_found::note(&parts, found.as_ref().map(|found| &*found.lock.policy.name));
    let missed = if found.is_some() { None } else { version.with_the_end_of(&parts) };
    let Some(found) = found.filter(|found| !found.lock.preflights.answers(&parts)) else {
        parts.extensions.insert(context.clone());
        let request = Request::from_parts(parts, body);
        let answer = context.run(async move { inner.call(request).await }).await?;
        if let Some(rule) = missed.filter(|_| answer.status() != StatusCode::NOT_FOUND) {
            near_misses::log_end_of_path(rule);
        }
        return Ok(answer.map(LockBody::passed_on));
    };
    let pending = if let Err(why) = time {
        Err(found.lock.bad_deadline(&context, &parts, why))
    } else if found.is_sure {
        found.lock.pending_locks(&context, &mut parts).await
    } else {
        // Letting the request pass would silently disable every lock when the layer is in the wrong
        // place.
        found.lock.pending_locks_for(&context, &parts, Err(KeyRejection::misconfigured(NO_ROUTE)))
    };
    match pending {
        Ok(pending) => {
            let preflight = PreflightRoutes::route_of(&parts);
            let answer = serve(pending, context, inner, parts, body).await;
            if let Ok(answer) = &answer {
                found.lock.preflights.learn(preflight, answer.headers());
            }
            answer
        }
        Err(rejection) => Ok(reject::answer(rejection, Some(parts)).await.map(LockBody::ours)),
    }
}
