use std::{fmt, time::Duration};

use bytes::Bytes;
use http::{Response, request::Parts};
use lock_core::{Kind, Mode};

use super::{Outcome, problem, refusal::Refusal};

/// A request that was not carried out under its lock, for a function that answers it in another way
/// than [`Outcome`]'s table: from a cache, with a `202`, in the service's own format.
///
/// See [`RequestLockLayer::answer`](crate::RequestLockLayer::answer).
pub struct Refused {
    refusal: Refusal,
    retry_after: Option<Duration>,
    request: Option<Parts>,
}

impl Refused {
    pub(super) fn new(
        refusal: Refusal,
        retry_after: Option<Duration>,
        request: Option<Parts>,
    ) -> Self {
        Self { refusal, retry_after, request }
    }

    /// Why.
    #[must_use]
    pub fn outcome(&self) -> Outcome {
        self.refusal.outcome()
    }

    /// What logs call the lock; `None`: it is not known which one it would have been.
    #[must_use]
    pub fn policy(&self) -> Option<&str> {
        self.refusal.lock.as_ref().map(|(policy, _)| &*policy.name)
    }

    /// The kind of the lock.
    #[must_use]
    pub fn kind(&self) -> Option<Kind> {
        self.refusal.lock.as_ref().map(|(policy, _)| policy.kind)
    }

    /// The mode that was asked for.
    #[must_use]
    pub fn mode(&self) -> Option<Mode> {
        self.refusal.lock.as_ref().map(|(_, mode)| *mode)
    }

    /// How long the request has waited for others.
    #[must_use]
    pub fn waited(&self) -> Duration {
        self.refusal.waited
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
        problem::respond(&self.refusal, self.retry_after)
    }
}

impl fmt::Debug for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Refused")
            .field("outcome", &self.outcome())
            .field("policy", &self.policy())
            .field("waited", &self.waited())
            .finish_non_exhaustive()
    }
}
