use std::time::Duration;

use http::request::Parts;
use lock_key::MAX_DURATION;
use tokio::time::Instant;

/// The time when a request ends, on this process' clock. Among a request's extensions it bounds the
/// wait for every lock inside, so that no lock is granted to a request that a timeout has already
/// answered.
///
/// Insert it where the timeout is set, outside of the lock's layer; a [policy
/// file](crate::policy_file) can also set it (`[request] deadline`). The earliest of several
/// applies.
///
#[cfg_attr(feature = "axum", doc = "```")]
#[cfg_attr(not(feature = "axum"), doc = "```ignore")]
/// use std::time::Duration;
/// use axum::{Router, extract::Request, middleware::map_request, routing::put};
/// use lock_tower::{LockClient, RequestDeadline, RequestLockLayer};
/// use tokio::time::Instant;
/// use tower_http::timeout::TimeoutLayer;
///
/// const LIMIT: Duration = Duration::from_secs(10);
/// let lock = RequestLockLayer::new(LockClient::in_memory(), "order:{id:u64}")?
///     .wait(Duration::from_secs(30)) // at most what is left of the ten seconds, less the reserve
///     .reserve(Duration::from_secs(2));
/// let app: Router = Router::new()
///     .route("/orders/{id}", put(|| async { "changed" }))
///     .route_layer(lock)
///     .layer(map_request(async |mut request: Request| {
///         request.extensions_mut().insert(RequestDeadline::at(Instant::now() + LIMIT));
///         request
///     }))
///     .layer(TimeoutLayer::with_status_code(axum::http::StatusCode::GATEWAY_TIMEOUT, LIMIT));
/// # Ok::<(), lock_tower::KeyTemplateError>(())
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

    /// Sets this deadline for the request, unless an earlier one is set.
    pub(crate) fn shorten(self, parts: &mut Parts) {
        let known: Option<Self> = parts.extensions.get().copied();
        parts.extensions.insert(known.map_or(self, |known| known.min(self)));
    }

    /// Returns the moment.
    #[must_use]
    pub fn moment(self) -> Instant {
        self.0
    }
}
