use std::{
    fmt,
    sync::Arc,
    time::{Duration, SystemTime},
};

use http::request::Parts;
use lock_core::FencingToken;

/// A token of Redis follows its clock. One that is further ahead of this process' was made up, or the clocks
/// differ by more than any that are set at all.
const MOST_AHEAD: Duration = Duration::from_secs(60 * 60);

/// Decides which requests may name a fencing token: an axum `Extension` around the routes that
/// extract [`IncomingFence`](crate::fence::IncomingFence), which refuses every request without it.
///
/// There is no default, because a client that may name any number could lock out all later holders of a
/// resource by a great one. Trust the services that hold the locks, and no one else.
///
/// # Examples
///
/// ```
/// use axum::{Extension, Router, http::request::Parts};
/// use lock_tower::fence::FenceTrust;
///
/// /// Inserted by the middleware that authenticates requests.
/// #[derive(Clone)]
/// struct Caller { service: &'static str }
///
/// fn of_the_shop(request: &Parts) -> bool {
///     request.extensions.get().is_some_and(|caller: &Caller| caller.service == "shop")
/// }
///
/// let app: Router = Router::new().layer(Extension(FenceTrust::when(of_the_shop)));
/// # let _ = app;
/// ```
#[derive(Clone)]
pub struct FenceTrust {
    trusted: Arc<dyn Fn(&Parts) -> bool + Send + Sync>,
    any_number: bool,
}

impl fmt::Debug for FenceTrust {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FenceTrust").field("any_number", &self.any_number).finish_non_exhaustive()
    }
}

impl FenceTrust {
    /// Trusts the requests for which `trusted` returns true; others are answered 403 `fence-untrusted`. It
    /// is called when the token is extracted, after every layer around the route.
    ///
    /// A token that is more than an hour ahead of this process' clock, in microseconds since 1970, is
    /// answered 400 `fence-ahead`, so that a mistake of a trusted service ends by itself.
    #[must_use]
    pub fn when(trusted: impl Fn(&Parts) -> bool + Send + Sync + 'static) -> Self {
        Self { trusted: Arc::new(trusted), any_number: false }
    }

    /// Accepts any number. For tokens of ZooKeeper, which count its transactions and follow no clock: they
    /// are less than those of Redis until its ensemble has elected some 3,000 leaders, so that the
    /// limit does not hold for them, and would refuse them then.
    #[must_use]
    pub fn any_number(self) -> Self {
        Self { any_number: true, ..self }
    }

    pub(super) fn trusts(&self, request: &Parts) -> bool {
        (self.trusted)(request)
    }

    pub(super) fn is_too_far_ahead(&self, token: FencingToken) -> bool {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        !self.any_number && u128::from(token.get()) > (now + MOST_AHEAD).as_micros()
    }
}
