//! The spans of a request's wait and hold. They never contain a key.

use std::time::Duration;

use lock_core::{Kind, LostCause};
use tracing::{Span, field};

use super::{LockLabel, metrics, milliseconds};

pub(crate) fn wait(route: Option<&str>, lock: &LockLabel) -> Span {
    tracing::info_span!(
        "lock.wait",
        policy = &*lock.name,
        route,
        kind = lock.kind.map(Kind::as_str),
        mode = lock.mode.as_str(),
        outcome = field::Empty,
        waited_ms = field::Empty,
        // Of a long wait, from lock-core: which process holds the lock, and what for.
        holder = field::Empty,
        holder_name = field::Empty,
        holder_route = field::Empty,
        holder_request_id = field::Empty,
        holder_trace_id = field::Empty,
        holder_span_id = field::Empty,
    )
}

pub(crate) fn waited(span: &Span, outcome: &'static str, waited: Duration) {
    span.record("outcome", outcome).record("waited_ms", milliseconds(waited));
}

pub(crate) fn hold(route: Option<&str>, lock: &LockLabel) -> Span {
    tracing::info_span!(
        "lock.hold",
        policy = &*lock.name,
        route,
        kind = lock.kind.map(Kind::as_str),
        mode = lock.mode.as_str(),
        end = field::Empty,
        reason = field::Empty,
        held_ms = field::Empty,
    )
}

/// Records the end of a hold. Work that is dropped before it is `done` was cancelled, unless its
/// lock was lost.
pub(crate) fn held(span: &Span, done: bool, lost: Option<LostCause>, held: Duration) {
    let end = match lost {
        Some(_) => "lost",
        None if done => "done",
        None => "cancelled",
    };
    span.record("end", end).record("held_ms", milliseconds(held));
    if let Some(cause) = lost {
        span.record("reason", metrics::cause(cause));
    }
}
