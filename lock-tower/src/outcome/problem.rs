use std::time::Duration;

use bytes::Bytes;
use http::{
    HeaderValue, Response, StatusCode,
    header::{CONNECTION, CONTENT_TYPE, RETRY_AFTER},
};
use lock_policy::Outcome;
use serde_json::json;

use super::{
    rejection::Rejection,
    retry_after::whole_seconds,
    table::{Executed, row},
};
use crate::telemetry::milliseconds;

/// A newer request has replaced this one while its handler ran.
const CANCELLED: &str = "A newer request for this resource has taken the place of this one, which was stopped \
                         while it was carried out. Some of it may have been done; do not repeat it.";

/// The text for a client whose request's own time is over, however few others wait.
const TOO_LATE: &str = "The time that this request has is over, or leaves none to carry it out. Nothing was \
                        done; you can repeat this request with more time.";

/// The text for a client whose handler had done something before it acquired this lock.
const AFTER_WORK: &str = "This resource could not be locked, and the request was cut short. Some of it may have \
                          been done; find out before you repeat it.";

/// The answer: a problem document (RFC 9457), or to a gRPC request a status.
pub(super) fn respond(rejection: &Rejection, retry_after: Option<Duration>) -> Response<Bytes> {
    #[cfg(feature = "tonic")]
    if rejection.caller.speaks_grpc {
        return super::grpc::respond(rejection, retry_after);
    }
    problem(rejection, retry_after)
}

/// Returns the text for the client.
pub(super) fn detail(rejection: &Rejection) -> String {
    let row = row(rejection.outcome);
    let custom = rejection.lock.as_ref().and_then(|lock| lock.answer.as_ref());
    let ours = match () {
        () if rejection.is_after_work => AFTER_WORK,
        () if rejection.is_late => TOO_LATE,
        () if rejection.is_cancelled => CANCELLED,
        () => row.detail,
    };
    let detail = custom.and_then(|custom| custom.detail.as_deref()).unwrap_or(ours);
    // The developer of a service may see the mistake in its answer. Its clients may not.
    let shows_reason =
        row.shows_reason || (cfg!(debug_assertions) && rejection.outcome == Outcome::Misconfigured);
    match &rejection.reason {
        Some(reason) if shows_reason => format!("{}: {reason}. {detail}", row.title),
        _ => detail.to_owned(),
    }
}

/// Returns the name of a lock that a client may see. An attribute without a name has that of its function
/// with its modules, which concern the service alone: here it is the function's.
pub(super) fn public_name(name: &str) -> &str {
    let is_path = name.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | ':'));
    match name.rsplit_once("::") {
        Some((_, function)) if is_path => function,
        _ => name,
    }
}

/// The problem document.
pub(super) fn problem(rejection: &Rejection, retry_after: Option<Duration>) -> Response<Bytes> {
    let outcome = rejection.outcome;
    let row = row(outcome);
    let custom = rejection.lock.as_ref().and_then(|lock| lock.answer.as_ref());
    let custom_status = custom.and_then(|custom| custom.status_of(outcome));
    let status = rejection.status.or(custom_status).unwrap_or(outcome.status());
    let mut document = json!({
        "type": format!("urn:lock-tower:problem:{}", outcome.as_str()),
        "title": row.title,
        "status": status.as_u16(),
        "detail": detail(rejection),
        "executed": match rejection.executed() {
            Executed::No => json!(false),
            Executed::Yes => json!(true),
            Executed::Unknown => json!("unknown"),
        },
    });
    let caller = &rejection.caller;
    if let Some(lock) = &rejection.lock {
        document["lock"] = json!(public_name(&lock.label.name));
        if let Some(busy) = &lock.busy {
            document["busy"] = json!(&*busy.template);
        }
        if let Some(kind) = lock.kind() {
            document["kind"] = json!(kind.as_str());
        }
        document["mode"] = json!(lock.mode().as_str());
        if let Some(permits) = lock.permits() {
            document["permits"] = json!(permits);
        }
    }
    if let Some(retry_after) = retry_after {
        document["retry_after_ms"] = json!(milliseconds(retry_after));
    }
    if let Some(request_id) = &caller.request_id {
        document["request_id"] = json!(&**request_id);
    }

    let no_content = [StatusCode::NO_CONTENT, StatusCode::RESET_CONTENT, StatusCode::NOT_MODIFIED]
        .contains(&status);
    let body = if no_content { Bytes::new() } else { Bytes::from(document.to_string()) };
    let mut response = Response::new(body);
    *response.status_mut() = status;
    response.extensions_mut().insert(outcome);
    let headers = response.headers_mut();
    if !no_content {
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
    }
    if let Some(retry_after) = retry_after {
        headers.insert(RETRY_AFTER, whole_seconds(retry_after).into());
    }
    if row.closes && caller.speaks_http1 {
        headers.insert(CONNECTION, HeaderValue::from_static("close"));
    }
    response
}
