//! Ends a request that is not carried out under its lock: one line in the log, one count, one
//! answer.

use std::{sync::Once, time::Duration};

use bytes::Bytes;
use http::{Response, request::Parts};
use lock_policy::Outcome;

use crate::{
    outcome::{rejected_request::RejectedRequest, rejection::Rejection},
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

/// Like [`answer`], when no policy is known.
pub(crate) fn answer_at_once(rejection: Rejection) -> Response<Bytes> {
    observed(rejection, None).problem()
}

fn observed(rejection: Rejection, request: Option<Parts>) -> RejectedRequest {
    let retry_after = rejection.retry_after();
    log(&rejection, retry_after);
    if let Some(lock) = rejection.label()
        && !rejection.is_counted
    {
        record::refused(&lock.name, lock.mode, rejection.outcome, rejection.is_early);
    }
    RejectedRequest::new(rejection, retry_after, request)
}

/// Prints the first mistake of a service that has no subscriber for logs, where it would be a status 500 without
/// a reason.
pub(crate) fn print_without_log(why: &str) {
    static PRINTED: Once = Once::new();
    if !tracing::dispatcher::has_been_set() {
        PRINTED.call_once(|| {
            eprintln!("lock-tower: {why} (further errors are logged, and this process has no subscriber for them)");
        });
    }
}

fn log(rejection: &Rejection, retry_after: Option<Duration>) {
    let lock = rejection.lock.as_deref();
    macro_rules! line {
        ($level:ident) => {
            tracing::$level!(
                outcome = rejection.outcome.as_str(),
                policy = lock.map(|lock| &*lock.label.name),
                busy = lock.and_then(|lock| Some(&*lock.busy.as_ref()?.template)),
                route = rejection.caller.route(),
                kind = lock.and_then(|lock| Some(lock.kind()?.as_str())),
                mode = lock.map(|lock| lock.mode().as_str()),
                waited_ms = milliseconds(rejection.waited),
                retry_after_ms = retry_after.map(milliseconds),
                request_id = rejection.caller.request_id.as_deref(),
                early = rejection.is_early.then_some(true),
                reason = rejection.reason.as_deref(),
                "request not carried out under its lock"
            )
        };
    }
    if let (Outcome::Misconfigured, Some(why)) = (rejection.outcome, &rejection.reason) {
        print_without_log(why);
    }
    match rejection.outcome {
        // The operator that took it away knows of it.
        Outcome::Lost if rejection.taken => line!(info),
        Outcome::Busy
        | Outcome::Skipped
        | Outcome::Replaced
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
