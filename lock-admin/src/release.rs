//! Answers `POST`: requesting a release, and taking a lock away.

use std::sync::Arc;

use axum::{
    Json,
    body::{Body, to_bytes},
    extract::State,
};
use http::Request;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    access::{AdminAction, AdminRequest, check_same_site},
    answer::Refusal,
    query::Format,
    reader::Reader,
};

/// As users of lock-tower know this crate: their filters name it.
const TARGET: &str = "lock_tower::admin";
/// A form cannot set a header, and a script of another site only with a permission that is
/// never given.
const HEADER: &str = "x-lock-admin";
const VALUE: &str = "release";
/// Longer than the longest key, however its characters are escaped.
const MAX_BODY: usize = 16 * 1024;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ReleaseBody {
    key: String,
    action: Action,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Action {
    Request,
    Force,
}

pub(crate) async fn release(
    State(reader): State<Arc<Reader>>,
    request: Request<Body>,
) -> Result<Json<Value>, Refusal> {
    if !reader.release_allowed {
        return Err(Refusal::forbidden(
            "This page is read-only: it was mounted without allow_release().",
        ));
    }
    let (parts, body) = request.into_parts();
    reader.access.check_host(&parts)?;
    check_same_site(&parts)?;
    if parts.headers.get(HEADER).is_none_or(|value| value != VALUE) {
        return Err(Refusal::forbidden("The request needs the header `x-lock-admin: release`."));
    }
    let unreadable = |why: String| Refusal::bad_request(why, Format::Json);
    let body = to_bytes(body, MAX_BODY).await;
    let body = body.map_err(|why| unreadable(format!("the body cannot be read: {why}")))?;
    let body: ReleaseBody = serde_json::from_slice(&body).map_err(|why| {
        unreadable(format!(
            "the body must be {{\"key\": text, \"action\": \"request\" | \"force\"}}: {why}"
        ))
    })?;
    let action = match body.action {
        Action::Request => AdminAction::RequestRelease,
        Action::Force => AdminAction::Force,
    };
    let operator = reader.access.check(&AdminRequest { parts: &parts, key: &body.key, action })?;
    if let Some(operator) = operator {
        // The key is named, because an audit needs it, and the service has set this up.
        tracing::info!(target: TARGET, ?operator, ?action, key = ?body.key, "an operator acts on a lock");
    }
    let done = carry_out(&reader, &body).await;
    // Also when it is not known whether it was executed.
    reader.forget().await;
    done
}

async fn carry_out(reader: &Reader, body: &ReleaseBody) -> Result<Json<Value>, Refusal> {
    let (key, locks) = (body.key.as_str(), &reader.client);
    match body.action {
        Action::Request => {
            let requested = locks.request_release(key).await;
            let requested = requested.map_err(|why| Refusal::not_read(&why, Format::Json))?;
            tracing::debug!(target: TARGET, { lock.key = key, requested }, "an operator requested a release");
            Ok(Json(json!({ "key": key, "action": "request", "requested": requested })))
        }
        Action::Force => {
            let forced = locks.force_release(key).await.map_err(|why| {
                Refusal::not_read(&why, Format::Json)
                    .with_note("; it may have been done: inspect the lock before you repeat it")
            })?;
            tracing::warn!(target: TARGET, was_held = forced.was_held, "an operator took a lock away");
            tracing::debug!(target: TARGET, { lock.key = key }, "the lock that was taken away");
            Ok(Json(json!({
                "key": key,
                "action": "force",
                "was_held": forced.was_held,
                "fencing_token": forced.fencing_token.map(lock_core::FencingToken::get),
            })))
        }
    }
}
