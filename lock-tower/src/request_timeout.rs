//! A timeout that the locks inside know of.

use std::{
    task::{Context, Poll},
    time::Duration,
};

use http::{Request, Response, StatusCode};
use tower_http::timeout::Timeout;
use tower_layer::Layer;
use tower_service::Service;

use crate::request::deadline::RequestDeadline;

/// Ends requests after a time, as [`tower_http::timeout::TimeoutLayer`] does, and gives them a
/// [`RequestDeadline`], so that no lock inside is waited for any longer.
///
/// The deadline is a twentieth of the limit before its end, at most 100 ms: a request that waited
/// in vain is then answered by its lock, with the reason, and not by the timeout.
///
/// # Examples
///
#[cfg_attr(feature = "axum", doc = "```")]
#[cfg_attr(not(feature = "axum"), doc = "```ignore")]
/// use std::time::Duration;
/// use axum::{Router, http::StatusCode, routing::put};
/// use lock_tower::{LockClient, RequestLockLayer, RequestTimeoutLayer};
///
/// let lock = RequestLockLayer::new(LockClient::in_memory(), "order:{id:u64}")?
///     .wait(Duration::from_secs(30)) // at most what is left of the ten seconds, less the reserve
///     .reserve(Duration::from_secs(2));
/// let timeout =
///     RequestTimeoutLayer::with_status_code(StatusCode::GATEWAY_TIMEOUT, Duration::from_secs(10));
/// let app: Router = Router::new()
///     .route("/orders/{id}", put(|| async { "changed" }))
///     .route_layer(lock)
///     .layer(timeout); // outside of the lock
/// # Ok::<(), lock_tower::KeyTemplateError>(())
/// ```
#[derive(Debug, Clone, Copy)]
#[must_use = "a layer does nothing until it is added to a router or a service"]
pub struct RequestTimeoutLayer {
    status: StatusCode,
    limit: Duration,
}

impl RequestTimeoutLayer {
    /// Creates a layer that answers `status` to a request that takes longer than `limit`, on this
    /// process' clock.
    pub fn with_status_code(status: StatusCode, limit: Duration) -> Self {
        Self { status, limit }
    }
}

impl<S> Layer<S> for RequestTimeoutLayer {
    type Service = RequestTimeout<S>;

    fn layer(&self, inner: S) -> RequestTimeout<S> {
        let Self { status, limit } = *self;
        RequestTimeout { inner: Timeout::with_status_code(inner, status, limit), limit }
    }
}

/// Ends requests after a time: from [`RequestTimeoutLayer`].
#[derive(Debug, Clone, Copy)]
pub struct RequestTimeout<S> {
    inner: Timeout<S>,
    limit: Duration,
}

impl<S, B, R> Service<Request<B>> for RequestTimeout<S>
where
    S: Service<Request<B>, Response = Response<R>>,
    R: Default,
{
    type Response = Response<R>;
    type Error = S::Error;
    type Future = <Timeout<S> as Service<Request<B>>>::Future;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, mut request: Request<B>) -> Self::Future {
        RequestDeadline::before(self.limit).shorten(request.extensions_mut());
        self.inner.call(request)
    }
}
