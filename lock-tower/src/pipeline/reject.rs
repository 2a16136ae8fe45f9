//! Ends a request that is not carried out under its lock: one line in the log, one count, one
//! answer.

use std::time::Duration;

use bytes::Bytes;
use http::{Response, request::Parts};
use lock_policy::Outcome;

use crate::{
    outcome::{caller::Caller, rejected_request::RejectedRequest, rejection::Rejection},
    telemetry::{milliseconds, record},
};

/// Logs and counts the rejection, and returns the policy's own answer or the table's. `request` is
/// the request without its body.
pub(crate) async fn answer(rejection: Rejection, request: Option<Parts>) -> Response<Bytes> {
    let outcome = rejection.outcome;
    let fallback = rejection.lock.as_ref().and_then(|lock| lock.fallback.clone());
    let rejected = observed(rejection, request);
    match fallback {
        Some(fallback) => {
            let mut response = fallback(rejected).await;
            response.extensions_mut().insert(outcome);
            response
        }
        None => rejected.problem(),
    }
}

/// Returns the answer of an outcome as the table has it, for code that finds out by itself that a
/// request was not carried out under its lock: a resource, say, that refuses a late holder. Nothing is
/// logged and nothing counted.
#[must_use]
pub fn default_answer(outcome: Outcome) -> Response<Bytes> {
    let rejection = Rejection::new(outcome, &Caller::none());
    let retry_after = rejection.retry_after();
    RejectedRequest::new(rejection, retry_after, None).problem()
}

/// Like [`answer`], when no policy is known yet.
#[cfg(feature = "axum")]
pub(crate) fn answer_at_once(rejection: Rejection) -> Response<Bytes> {
    observed(rejection, None).problem()
}

fn observed(rejection: Rejection, request: Option<Parts>) -> RejectedRequest {
    let retry_after = rejection.retry_after();
    log(&rejection, retry_after);
    if let Some(lock) = rejection.label()
        && !rejection.granted
    {
        record::refused(&lock.name, lock.mode, rejection.outcome);
    }
    RejectedRequest::new(rejection, retry_after, request)
}

fn log(rejection: &Rejection, retry_after: Option<Duration>) {
    let lock = rejection.label();
    macro_rules! line {
        ($level:ident) => {
            tracing::$level!(
                outcome = rejection.outcome.as_str(),
                policy = lock.map(|lock| &*lock.name),
                route = rejection.caller.route(),
                kind = lock.map(|lock| lock.kind.as_str()),
                mode = lock.map(|lock| lock.mode.as_str()),
                waited_ms = milliseconds(rejection.waited),
                retry_after_ms = retry_after.map(milliseconds),
                request_id = rejection.caller.request_id.as_deref(),
                reason = rejection.reason.as_deref(),
                "request not carried out under its lock"
            )
        };
    }
    match rejection.outcome {
        // The operator that took it away knows of it.
        Outcome::Lost if rejection.taken => line!(info),
        Outcome::Busy
        | Outcome::Draining
        | Outcome::KeyMissing
        | Outcome::KeyInvalid
        | Outcome::DeadlineInvalid
        | Outcome::BodyTooLarge
        | Outcome::BodyTimeout => line!(info),
        Outcome::Deadlock
        | Outcome::Overloaded
        | Outcome::OverLimit
        | Outcome::Unavailable
        | Outcome::Lost => line!(warn),
        _ => line!(error),
    }
}
