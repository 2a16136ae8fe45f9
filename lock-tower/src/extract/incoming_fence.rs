use axum::{
    body::Body,
    extract::FromRequestParts,
    response::{IntoResponse, Response},
};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header::CONTENT_TYPE, request::Parts};
use lock_core::FencingToken;
use serde_json::json;
use thiserror::Error;

use super::{fence_store::FenceStore, fence_trust::FenceTrust};
use crate::pipeline::serve::FENCE;

/// The header by which a fencing token goes from one service to another: a decimal number.
///
/// In an answer it is the token of the lock that the request had, where the lock's settings ask for it:
/// see [`RequestLockLayer::fence_header`](crate::RequestLockLayer::fence_header). A service that calls
/// another one under its lock sends it along:
///
/// ```
/// use http::Request;
/// use lock_tower::{fence::LOCK_FENCE, LockGuard};
///
/// fn to_the_warehouse(lock: &LockGuard) -> http::Result<Request<()>> {
///     Request::put("http://warehouse/orders/7").header(LOCK_FENCE, lock.fencing_token().get()).body(())
/// }
/// # let _ = to_the_warehouse;
/// ```
pub const LOCK_FENCE: HeaderName = FENCE;

/// The fencing token that another service has sent with its request in the header [`LOCK_FENCE`]: an
/// extractor for a service that is called under a lock which it does not have itself.
///
/// Requests whose tokens count are named by a [`FenceTrust`]; without one every request is refused. A
/// request without the header, or with another value than one number, is answered 400. A token that is
/// older than the newest seen is refused by [`admit`](Self::admit), or by whatever the resource
/// itself claims with [`token`](Self::token), such as `lock_sqlx::claim`.
///
/// # Examples
///
/// ```
/// use axum::{Extension, Router, extract::{Path, State}, http::request::Parts, routing::put};
/// use lock_tower::fence::{FenceTrust, IncomingFence, IncomingFenceError, MemoryFences};
///
/// async fn ship(
///     fence: IncomingFence,
///     Path(id): Path<u64>,
///     State(fences): State<&'static MemoryFences>,
/// ) -> Result<String, IncomingFenceError> {
///     fence.admit(fences, &format!("order:{id}")).await?;
///     Ok(format!("order {id} is shipped"))
/// }
///
/// # fn of_the_shop(request: &Parts) -> bool { request.headers.contains_key("authorization") }
/// let app: Router<&'static MemoryFences> = Router::new()
///     .route("/orders/{id}", put(ship))
///     .layer(Extension(FenceTrust::when(of_the_shop)));
/// # let _ = app;
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IncomingFence(FencingToken);

impl IncomingFence {
    /// Returns the token.
    #[must_use]
    pub fn token(self) -> FencingToken {
        self.0
    }

    /// Admits the token for this resource, unless a greater one was admitted before: then its holder
    /// has lost the lock, and nothing of the request may be done.
    ///
    /// # Errors
    ///
    /// [`IncomingFenceError`], which is an answer: 409 for a token that is too old, 500 when the store
    /// fails.
    ///
    /// # Cancel safety
    ///
    /// The token may have been admitted.
    pub async fn admit(
        self,
        fences: &impl FenceStore,
        resource: &str,
    ) -> Result<(), IncomingFenceError> {
        match fences.admit(resource, self.0).await {
            Ok(true) => Ok(()),
            Ok(false) => Err(IncomingFenceError::Stale),
            Err(error) => {
                tracing::error!(%error, "the newest fencing token of a resource is not known");
                Err(IncomingFenceError::Unavailable)
            }
        }
    }
}

/// The reason why a request is refused that another service has sent under a lock. As an answer it
/// is a problem document, with `"executed": false`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum IncomingFenceError {
    /// 400 `fence-missing`: there is no such header.
    #[error("the header `lock-fence` is missing: send the fencing token of the lock")]
    Missing,
    /// 400 `fence-invalid`: it is not one number.
    #[error("the header `lock-fence` is not one number from 1 to {max}", max = u64::MAX)]
    Invalid,
    /// 400 `fence-ahead`: it is further ahead of this process' clock than any token of Redis.
    #[error(
        "the header `lock-fence` is more than an hour ahead of this service's clock, which no \
         token from Redis is: send the token of the lock, and check the clocks"
    )]
    Ahead,
    /// 403 `fence-untrusted`: the service does not take tokens from the sender of this request.
    #[error("this service does not accept fencing tokens from the sender of this request")]
    Untrusted,
    /// 500 `fence-misconfigured`: the service has no [`FenceTrust`].
    #[error("this service does not define whose fencing tokens it accepts")]
    NoTrust,
    /// 409 `fence-stale`: a newer holder has used the resource. Repeating the request cannot help.
    #[error(
        "a newer holder has already used this resource: your lock was lost, and nothing was done"
    )]
    Stale,
    /// 500 `fence-unavailable`: the newest token is not known.
    #[error("the newest fencing token of this resource is not known at the moment")]
    Unavailable,
}

impl IncomingFenceError {
    fn answer(self) -> (StatusCode, &'static str) {
        match self {
            Self::Missing => (StatusCode::BAD_REQUEST, "fence-missing"),
            Self::Invalid => (StatusCode::BAD_REQUEST, "fence-invalid"),
            Self::Ahead => (StatusCode::BAD_REQUEST, "fence-ahead"),
            Self::Untrusted => (StatusCode::FORBIDDEN, "fence-untrusted"),
            Self::NoTrust => (StatusCode::INTERNAL_SERVER_ERROR, "fence-misconfigured"),
            Self::Stale => (StatusCode::CONFLICT, "fence-stale"),
            Self::Unavailable => (StatusCode::INTERNAL_SERVER_ERROR, "fence-unavailable"),
        }
    }
}

impl IntoResponse for IncomingFenceError {
    fn into_response(self) -> Response {
        let (status, problem) = self.answer();
        let document = json!({
            "type": format!("urn:lock-tower:problem:{problem}"),
            "title": "Request under a lock is refused",
            "status": status.as_u16(),
            "detail": self.to_string(),
            "executed": false,
        });
        let mut response = Response::new(Body::from(document.to_string()));
        *response.status_mut() = status;
        let problem = HeaderValue::from_static("application/problem+json");
        response.headers_mut().insert(CONTENT_TYPE, problem);
        response
    }
}

impl<S: Sync> FromRequestParts<S> for IncomingFence {
    type Rejection = IncomingFenceError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, IncomingFenceError> {
        let Some(trust) = parts.extensions.get::<FenceTrust>() else {
            tracing::error!(
                "a fencing token is refused: add Extension(FenceTrust::when(..)) to the router"
            );
            return Err(IncomingFenceError::NoTrust);
        };
        if !trust.trusts(parts) {
            return Err(IncomingFenceError::Untrusted);
        }
        let fence = read(&parts.headers)?;
        if trust.is_too_far_ahead(fence.0) { Err(IncomingFenceError::Ahead) } else { Ok(fence) }
    }
}

fn read(headers: &HeaderMap) -> Result<IncomingFence, IncomingFenceError> {
    let mut values = headers.get_all(LOCK_FENCE).iter();
    let value = match (values.next(), values.next()) {
        (None, _) => return Err(IncomingFenceError::Missing),
        (Some(value), None) => value.to_str().ok(),
        (Some(_), Some(_)) => None,
    };
    let digits = value.filter(|value| value.bytes().all(|byte| byte.is_ascii_digit()));
    match digits.and_then(|digits| digits.parse().ok()).map(FencingToken::new) {
        // A sender without a lock has no token.
        Some(FencingToken::NONE) | None => Err(IncomingFenceError::Invalid),
        Some(token) => Ok(IncomingFence(token)),
    }
}
