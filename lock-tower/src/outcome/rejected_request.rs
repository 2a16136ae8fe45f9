use std::{fmt, future::Future, sync::Arc, time::Duration};

use bytes::Bytes;
use futures_util::future::BoxFuture;
use http::{Response, request::Parts};
use lock_core::{Kind, Mode};
use lock_policy::Outcome;

use super::{problem, rejection::Rejection};

/// A function that answers in place of the table.
pub(crate) type Fallback =
    Arc<dyn Fn(RejectedRequest) -> BoxFuture<'static, Response<Bytes>> + Send + Sync>;

/// The function as it is kept.
pub(crate) fn fallback<F, A>(answer: F) -> Fallback
where
    F: Fn(RejectedRequest) -> A + Send + Sync + 'static,
    A: Future<Output = Response<Bytes>> + Send + 'static,
{
    Arc::new(move |refused| Box::pin(answer(refused)))
}

/// A request that was not carried out under its lock, for a function that answers it in another way
/// than [`Outcome`]'s table: from a cache, with a `202`, in the service's own format.
///
/// See [`RequestLockLayer::answer`](crate::RequestLockLayer::answer).
pub struct RejectedRequest {
    rejection: Rejection,
    retry_after: Option<Duration>,
    request: Option<Parts>,
}

impl RejectedRequest {
    pub(crate) fn new(
        rejection: Rejection,
        retry_after: Option<Duration>,
        request: Option<Parts>,
    ) -> Self {
        Self { rejection, retry_after, request }
    }

    /// Why.
    #[must_use]
    pub fn outcome(&self) -> Outcome {
        self.rejection.outcome
    }

    /// What logs call the lock; `None`: it is not known which one it would have been.
    #[must_use]
    pub fn policy(&self) -> Option<&str> {
        self.rejection.label().map(|lock| &*lock.name)
    }

    /// The kind of the lock.
    #[must_use]
    pub fn kind(&self) -> Option<Kind> {
        self.rejection.label().map(|lock| lock.kind)
    }

    /// The mode that was asked for.
    #[must_use]
    pub fn mode(&self) -> Option<Mode> {
        self.rejection.label().map(|lock| lock.mode)
    }

    /// How long the request has waited for others.
    #[must_use]
    pub fn waited(&self) -> Duration {
        self.rejection.waited
    }

    /// When the client may come back; `None`: that would not help.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        self.retry_after
    }

    /// The request without its body. `None` for an attribute on a handler without arguments, which
    /// sees nothing of its request.
    #[must_use]
    pub fn request(&self) -> Option<&Parts> {
        self.request.as_ref()
    }

    /// The answer that the request would get otherwise, with its headers: to be changed.
    #[must_use]
    pub fn problem(&self) -> Response<Bytes> {
        problem::respond(&self.rejection, self.retry_after)
    }
}

impl fmt::Debug for RejectedRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RejectedRequest")
            .field("outcome", &self.outcome())
            .field("policy", &self.policy())
            .field("waited", &self.waited())
            .finish_non_exhaustive()
    }
}
