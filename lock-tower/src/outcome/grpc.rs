//! Answers to gRPC requests: a [`Status`] with details.
//!
//! With the feature `tonic` the layers answer a request whose content type is `application/grpc`
//! by a status, in the place of a problem document:
//!
//! | outcome | code | may be repeated |
//! |---|---|---|
//! | [`Busy`](Outcome::Busy), [`Deadlock`](Outcome::Deadlock) | `ABORTED` | yes |
//! | [`Skipped`](Outcome::Skipped) | `ALREADY_EXISTS` | no need |
//! | [`Overloaded`](Outcome::Overloaded), [`Unavailable`](Outcome::Unavailable), [`Draining`](Outcome::Draining), [`BodyTimeout`](Outcome::BodyTimeout) | `UNAVAILABLE` | yes |
//! | [`OverLimit`](Outcome::OverLimit) | `RESOURCE_EXHAUSTED` | yes, later |
//! | [`Replaced`](Outcome::Replaced) | `CANCELLED` | no |
//! | [`Lost`](Outcome::Lost) | `UNKNOWN` | only after a look at what was done |
//! | [`KeyMissing`](Outcome::KeyMissing), [`KeyInvalid`](Outcome::KeyInvalid), [`DeadlineInvalid`](Outcome::DeadlineInvalid), [`BodyTooLarge`](Outcome::BodyTooLarge) | `INVALID_ARGUMENT` | no |
//! | [`Misconfigured`](Outcome::Misconfigured) | `INTERNAL` | no |
//!
//! Its details are those of [`google.rpc`](tonic_types): an `ErrorInfo` whose domain is
//! `lock-tower`, whose reason is the last part of the problem type, such as `lock-busy`, and whose
//! metadata has `executed` (`false`, `true` or `unknown`), and `lock`, `busy`, `kind`, `mode` and `permits` where
//! they are known; and a `RetryInfo` beside the outcomes that have a `Retry-After`.
//!
//! A status that a layer ([`answer_status`](crate::RequestLockLayer::answer_status)), an attribute or a
//! policy file sets, such as `busy_status = 409`, concerns HTTP alone: the codes stay. A policy's text
//! and its function answer gRPC requests too.
//!
//! With `grpc-timeout` as the [`deadline_header`](crate::RequestLockLayer::deadline_header) the wait for
//! a lock ends with that of the request, less the layer's [`reserve`](crate::RequestLockLayer::reserve).

use std::{collections::HashMap, time::Duration};

use bytes::Bytes;
use http::Response;
use lock_core::LockError;
use lock_policy::Outcome;
use tonic::{Code, Status};
use tonic_types::{ErrorDetails, StatusExt};

use super::{
    problem::{detail, public_name},
    rejection::Rejection,
    table::{Executed, row},
};

const DOMAIN: &str = "lock-tower";

/// Returns the status for a lock that a method acquires itself.
///
/// # Examples
///
/// ```
/// use lock_tower::{LockClient, grpc};
/// use tonic::{Response, Status};
///
/// async fn close_books(locks: &LockClient) -> Result<Response<()>, Status> {
///     let books = locks.write("books").acquire().await.map_err(grpc::status)?;
///     // ...
///     books.release().await.ok();
///     Ok(Response::new(()))
/// }
/// # let _ = close_books;
/// ```
pub fn status(error: impl Into<LockError>) -> Status {
    let error = error.into();
    let outcome = match &error {
        LockError::Acquire(error) => Outcome::from(error),
        LockError::Lost(_) => Outcome::Lost,
        LockError::Value(_) => Outcome::KeyInvalid,
        _ => Outcome::Misconfigured,
    };
    // The error itself may name the key.
    let row = row(outcome);
    with_details(outcome, row.executed, row.detail.to_owned(), HashMap::new(), None)
}

/// The answer to a request that is not carried out under its lock.
pub(super) fn respond(rejection: &Rejection, retry_after: Option<Duration>) -> Response<Bytes> {
    let mut metadata = HashMap::new();
    if let Some(lock) = &rejection.lock {
        metadata.insert("lock".to_owned(), public_name(&lock.label.name).to_owned());
        if let Some(busy) = &lock.busy {
            metadata.insert("busy".to_owned(), busy.template.to_string());
        }
        if let Some(kind) = lock.kind() {
            metadata.insert("kind".to_owned(), kind.as_str().to_owned());
        }
        metadata.insert("mode".to_owned(), lock.mode().as_str().to_owned());
        if let Some(permits) = lock.permits() {
            metadata.insert("permits".to_owned(), permits.to_string());
        }
    }
    let (outcome, executed) = (rejection.outcome, rejection.executed());
    let status = with_details(outcome, executed, detail(rejection), metadata, retry_after);
    let mut response = status.into_http::<Bytes>();
    response.extensions_mut().insert(outcome);
    response
}

fn with_details(
    outcome: Outcome,
    executed: Executed,
    message: String,
    mut metadata: HashMap<String, String>,
    retry_after: Option<Duration>,
) -> Status {
    let (executed, code) = match executed {
        Executed::No => ("false", code(outcome)),
        Executed::Yes => ("true", code(outcome)),
        // Clients repeat `UNAVAILABLE` by themselves, which is wrong for a request that may have been
        // carried out.
        Executed::Unknown => ("unknown", Code::Unknown),
    };
    metadata.insert("executed".to_owned(), executed.to_owned());
    let mut details = ErrorDetails::with_error_info(outcome.as_str(), DOMAIN, metadata);
    if retry_after.is_some() {
        details.set_retry_info(retry_after);
    }
    Status::with_error_details(code, message, details)
}

fn code(outcome: Outcome) -> Code {
    match outcome {
        Outcome::Busy | Outcome::Deadlock => Code::Aborted,
        Outcome::Overloaded | Outcome::Unavailable | Outcome::Draining | Outcome::BodyTimeout => {
            Code::Unavailable
        }
        Outcome::Skipped => Code::AlreadyExists,
        Outcome::Replaced => Code::Cancelled,
        Outcome::OverLimit => Code::ResourceExhausted,
        Outcome::KeyMissing
        | Outcome::KeyInvalid
        | Outcome::DeadlineInvalid
        | Outcome::BodyTooLarge => Code::InvalidArgument,
        _ => Code::Internal,
    }
}
