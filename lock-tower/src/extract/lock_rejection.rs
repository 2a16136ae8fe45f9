//! The answer of a handler that acquires a lock itself.

use std::{error::Error, fmt, sync::Arc};

use bytes::Bytes;
use http::{Response, StatusCode};
use lock_core::{AcquireError, EnsureError, LockError, Lost};
use lock_policy::Outcome;

use crate::{
    outcome::{caller::Caller, hold_time::HoldTimes, rejection::Rejection},
    pipeline::reject,
    request::context::RequestContext,
};

/// The answer to a request whose handler acquires a lock itself and does not get it, or loses it: the same
/// problem document, `Retry-After` and log line as those of a layer. A handler returns it as its error, and
/// `?` makes it from the lock's errors.
///
#[cfg_attr(feature = "axum", doc = "```")]
#[cfg_attr(not(feature = "axum"), doc = "```ignore")]
/// use axum::{Router, extract::Path, routing::post};
/// use lock_tower::{LockClient, LockRejection, RequestClient, RequestScopeLayer};
///
/// async fn ship(
///     RequestClient(locks): RequestClient,
///     Path(id): Path<u64>,
/// ) -> Result<String, LockRejection> {
///     let shipped = async { format!("order {id} is shipped") };
///     Ok(locks.write(format!("order:{id}")).run(shipped).await?) // busy: 423, lost: 503, ..
/// }
///
/// let app: Router = Router::new()
///     .route("/orders/{id}/ship", post(ship))
///     .layer(RequestScopeLayer::new(LockClient::in_memory()));
/// ```
///
/// An error type of the service can have a variant for it:
///
#[cfg_attr(feature = "axum", doc = "```")]
#[cfg_attr(not(feature = "axum"), doc = "```ignore")]
/// # use axum::response::{IntoResponse, Response};
/// # use lock_tower::{LockError, LockRejection};
/// enum ShopError {
///     Lock(LockRejection),
///     SoldOut,
/// }
///
/// impl From<LockError> for ShopError {
///     fn from(error: LockError) -> Self {
///         Self::Lock(error.into())
///     }
/// }
///
/// impl IntoResponse for ShopError {
///     fn into_response(self) -> Response {
///         match self {
///             Self::Lock(rejection) => rejection.into_response(),
///             Self::SoldOut => http::StatusCode::CONFLICT.into_response(),
///         }
///     }
/// }
/// ```
///
/// # Whether the request may be repeated
///
/// As in a layer's answer, `executed` is `false` unless a lock was lost: nothing was done under the lock. A
/// handler that has done something before it acquires the lock calls [`after_work`](Self::after_work).
pub struct LockRejection {
    rejection: Box<Rejection>,
}

/// The error itself names the key.
const TOO_LONG: &str = "the handler needs the lock for longer than its lease and `max_hold` allow";

impl LockRejection {
    fn new(make: impl FnOnce(&Arc<Caller>) -> Rejection) -> Self {
        let caller = RequestContext::ambient().map_or_else(Caller::none, |context| context.caller);
        Self { rejection: Box::new(make(&caller)) }
    }

    /// Returns the reason for the rejection.
    #[must_use]
    pub fn outcome(&self) -> Outcome {
        self.rejection.outcome
    }

    /// Returns the rejection of a handler that has already done something: the document says
    /// `"executed": "unknown"`, and there is no `Retry-After`.
    #[must_use]
    pub fn after_work(self) -> Self {
        let rejection = Rejection { is_after_work: true, ..*self.rejection };
        Self { rejection: Box::new(rejection) }
    }

    /// Sets another status for this outcome, as
    /// [`RequestLockLayer::answer_status`](crate::RequestLockLayer::answer_status) does: from 400 to 599, and
    /// from 200 for [`Outcome::Skipped`]. Any other status is ignored.
    #[must_use]
    pub fn answer_status(mut self, outcome: Outcome, status: StatusCode) -> Self {
        let is_legal = (outcome.least_status()..600).contains(&status.as_u16());
        if self.rejection.outcome == outcome && is_legal {
            self.rejection.status = Some(status);
        }
        self
    }

    /// Returns the answer, and logs it as an answer of a layer is logged. For services without Axum:
    /// elsewhere the rejection is a response by itself.
    #[must_use]
    pub fn into_http(self) -> Response<Bytes> {
        reject::answer_at_once(*self.rejection)
    }
}

impl From<AcquireError> for LockRejection {
    fn from(error: AcquireError) -> Self {
        Self::new(|caller| Rejection::not_acquired(caller, &error, &HoldTimes::default()))
    }
}

impl From<Lost> for LockRejection {
    fn from(lost: Lost) -> Self {
        Self::new(|caller| Rejection::lost(caller, &lost))
    }
}

impl From<LockError> for LockRejection {
    fn from(error: LockError) -> Self {
        Self::new(|caller| Rejection::not_finished(caller, error, &HoldTimes::default()))
    }
}

/// For [`Locked::ensure`](crate::Locked::ensure): the handler runs, so some work may have been done.
impl From<EnsureError> for LockRejection {
    fn from(error: EnsureError) -> Self {
        match error {
            EnsureError::Lost(lost) => lost.into(),
            EnsureError::Unavailable(error) => {
                Self::from(AcquireError::Unavailable(error)).after_work()
            }
            _ => Self::new(|caller| Rejection::misconfigured(caller, TOO_LONG)).after_work(),
        }
    }
}

/// For code that finds out by itself that a request was not carried out under its lock: a resource, say, that
/// refuses a late holder.
impl From<Outcome> for LockRejection {
    fn from(outcome: Outcome) -> Self {
        Self::new(|caller| Rejection::new(outcome, caller))
    }
}

#[cfg(feature = "axum")]
impl axum::response::IntoResponse for LockRejection {
    fn into_response(self) -> axum::response::Response {
        self.into_http().map(axum::body::Body::from)
    }
}

impl fmt::Display for LockRejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "request not carried out under its lock: {}", self.outcome().as_str())?;
        match &self.rejection.reason {
            Some(reason) => write!(f, ": {reason}"),
            None => Ok(()),
        }
    }
}

impl fmt::Debug for LockRejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LockRejection").field("outcome", &self.outcome()).finish_non_exhaustive()
    }
}

impl Error for LockRejection {}
