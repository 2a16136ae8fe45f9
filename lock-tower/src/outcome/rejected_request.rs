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

/// Boxes the function.
pub(crate) fn fallback<F, A>(answer: F) -> Fallback
where
    F: Fn(RejectedRequest) -> A + Send + Sync + 'static,
    A: Future<Output = Response<Bytes>> + Send + 'static,
{
    Arc::new(move |refused| Box::pin(answer(refused)))
}

/// A request that was not carried out under its lock. It is passed to a function that answers it
/// differently from [`Outcome`]'s table: from a cache, with a `202`, or in the service's own
/// format.
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

    /// Returns the reason for the rejection.
    #[must_use]
    pub fn outcome(&self) -> Outcome {
        self.rejection.outcome
    }

    /// Returns the lock's name in logs; `None` if the lock is unknown.
    #[must_use]
    pub fn policy(&self) -> Option<&str> {
        self.rejection.label().map(|lock| &*lock.name)
    }

    /// Returns the kind of the lock; of several that of the one that was in the way, `None` if that is
    /// unknown.
    #[must_use]
    pub fn kind(&self) -> Option<Kind> {
        self.rejection.lock.as_ref().and_then(|lock| lock.kind())
    }

    /// Returns the requested mode.
    #[must_use]
    pub fn mode(&self) -> Option<Mode> {
        self.rejection.lock.as_ref().map(|lock| lock.mode())
    }

    /// Returns which of several locks was busy: the template of its key, such as `exports:{tenant}`. `None`
    /// for a request with one lock, and after other outcomes.
    #[must_use]
    pub fn busy(&self) -> Option<&str> {
        self.rejection.lock.as_ref()?.busy.as_ref().map(|busy| &*busy.template)
    }

    /// Returns how long the request has waited for other holders.
    #[must_use]
    pub fn waited(&self) -> Duration {
        self.rejection.waited
    }

    /// Returns when the client may retry; `None` if a retry would not help.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        self.retry_after
    }

    /// Returns the request without its body. `None` for an attribute on a handler without
    /// arguments, which has no access to its request.
    #[must_use]
    pub fn request(&self) -> Option<&Parts> {
        self.request.as_ref()
    }

    /// Returns the default answer with its headers, for the function to change.
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
