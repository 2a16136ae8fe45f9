use std::{
    fmt,
    future::Future,
    pin::Pin,
    task::{Context, Poll},
};

/// The answer to a request, from [`RequestLock`](crate::request_lock::RequestLock) and
/// [`RequestScope`](crate::request_scope::RequestScope).
///
/// # Cancel safety
///
/// Dropping it leaves the queue, cancels the inner service's work, and releases held locks in the
/// background. With [`OnDisconnect::Finish`](crate::settings::OnDisconnect::Finish) work that has begun first
/// runs to its end.
#[must_use = "nothing happens until it is polled"]
pub struct ResponseFuture<R, E>(Pin<Box<dyn Future<Output = Result<R, E>> + Send>>);

impl<R, E> ResponseFuture<R, E> {
    pub(crate) fn new(work: impl Future<Output = Result<R, E>> + Send + 'static) -> Self {
        Self(Box::pin(work))
    }
}

impl<R, E> Future for ResponseFuture<R, E> {
    type Output = Result<R, E>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        self.0.as_mut().poll(context)
    }
}

impl<R, E> fmt::Debug for ResponseFuture<R, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResponseFuture").finish_non_exhaustive()
    }
}
