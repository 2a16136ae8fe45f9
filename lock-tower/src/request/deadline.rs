use std::time::Duration;

use http::Extensions;
use lock_key::MAX_DURATION;
use tokio::time::Instant;

/// The time when a request ends, on this process' clock. Among a request's extensions it bounds the
/// wait for every lock inside, so that no lock is granted to a request that a timeout has already
/// answered.
///
/// `RequestTimeoutLayer` (feature `timeout`) sets it, and so can a
/// [policy file](crate::policy_file) (`[request] deadline`), the client of a request
/// ([`deadline_header`](crate::RequestLockLayer::deadline_header)), and a middleware that has a
/// timeout. The earliest of several applies.
///
#[cfg_attr(feature = "axum", doc = "```")]
#[cfg_attr(not(feature = "axum"), doc = "```ignore")]
/// use std::time::Duration;
/// use axum::{extract::Request, middleware::Next, response::Response};
/// use lock_tower::RequestDeadline;
/// use tokio::time::Instant;
///
/// async fn two_seconds(mut request: Request, next: Next) -> Response {
///     let deadline = RequestDeadline::at(Instant::now() + Duration::from_secs(2));
///     request.extensions_mut().insert(deadline);
///     next.run(request).await
/// }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct RequestDeadline(Instant);

impl RequestDeadline {
    /// Creates a deadline at this moment of Tokio's clock.
    #[must_use]
    pub fn at(moment: Instant) -> Self {
        Self(moment)
    }

    pub(crate) fn within(time: Duration) -> Self {
        // Clamp, because larger sums overflow.
        Self(Instant::now() + time.min(MAX_DURATION))
    }

    /// Creates a deadline shortly before `timeout`, which then still has the time for the answer to
    /// a request that waited in vain: a twentieth of it, at most 100 ms.
    pub(crate) fn before(timeout: Duration) -> Self {
        const MOST_FOR_THE_ANSWER: Duration = Duration::from_millis(100);
        Self::within(timeout.saturating_sub((timeout / 20).min(MOST_FOR_THE_ANSWER)))
    }

    /// Sets this deadline for the request, unless an earlier one is set.
    pub(crate) fn shorten(self, extensions: &mut Extensions) {
        let known: Option<Self> = extensions.get().copied();
        extensions.insert(known.map_or(self, |known| known.min(self)));
    }

    /// Returns the moment.
    #[must_use]
    pub fn moment(self) -> Instant {
        self.0
    }
}
