use std::sync::{Arc, LazyLock};

use http::{HeaderName, HeaderValue, Method, Version, request::Parts};
use lock_core::{WorkInfo, WorkOrigin};

/// Longer request ids are not repeated to the client.
const LONGEST_REQUEST_ID: usize = 128;

// As text, each look-up would check and hash the name first.
const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");

/// The facts about a request that its answer needs, and those that operators see beside its locks.
#[derive(Debug, Clone, Default)]
pub(crate) struct Caller {
    pub(crate) request_id: Option<Arc<str>>,
    /// The pattern of the route, which may be logged where the path may not.
    route: Option<MatchedPath>,
    method: Method,
    /// The position in a trace, as the W3C writes it: <https://www.w3.org/TR/trace-context/>.
    traceparent: Option<HeaderValue>,
    /// Whether the request uses HTTP/1. HTTP/2 and later have no header that closes a connection.
    pub(crate) speaks_http1: bool,
    /// Whether the answer is to be a gRPC status.
    #[cfg(feature = "tonic")]
    pub(super) speaks_grpc: bool,
}

impl Caller {
    pub(crate) fn of(parts: &Parts) -> Self {
        let request_id = parts.headers.get(REQUEST_ID);
        let request_id = request_id.and_then(|id| id.to_str().ok());
        Self {
            request_id: request_id.filter(|id| id.len() <= LONGEST_REQUEST_ID).map(Arc::from),
            route: parts.extensions.get().cloned(),
            method: parts.method.clone(),
            traceparent: parts.headers.get(TRACEPARENT).cloned(),
            speaks_http1: parts.version < Version::HTTP_2,
            #[cfg(feature = "tonic")]
            speaks_grpc: is_grpc(&parts.headers),
        }
    }

    /// Whether the server sends the body of its answer.
    pub(crate) fn wants_body(&self) -> bool {
        self.method != Method::HEAD
    }

    pub(crate) fn route(&self) -> Option<&str> {
        self.route.as_ref().map(MatchedPath::as_str)
    }

    /// For work outside of a request.
    pub(crate) fn none() -> Arc<Self> {
        static NONE: LazyLock<Arc<Caller>> = LazyLock::new(Arc::default);
        Arc::clone(&NONE)
    }
}

impl WorkOrigin for Caller {
    fn describe(&self, work: &mut WorkInfo) {
        work.route = self.route().map(|route| format!("{} {route}", self.method));
        work.request_id = self.request_id.as_deref().map(str::to_owned);
        let parent = self.traceparent.as_ref().and_then(|parent| parent.to_str().ok());
        if let Some((trace, span)) = parent.and_then(trace_and_span) {
            (work.trace_id, work.span_id) = (Some(trace.to_owned()), Some(span.to_owned()));
        }
    }
}

/// The ids in a `traceparent`: `00-<32 digits>-<16 digits>-<2 digits>`.
fn trace_and_span(parent: &str) -> Option<(&str, &str)> {
    let mut parts = parent.split('-');
    let mut digits = |count| {
        let is_hex = |text: &&str| text.bytes().all(|byte| byte.is_ascii_hexdigit());
        parts.next().filter(|text| text.len() == count).filter(is_hex)
    };
    digits(2)?;
    let ids = (digits(32)?, digits(16)?);
    digits(2).map(|_| ids)
}

/// Whether this is a gRPC request: `application/grpc`, with or without the name of its encoding.
/// gRPC-Web is another protocol.
#[cfg(feature = "tonic")]
fn is_grpc(headers: &http::HeaderMap) -> bool {
    let content_type = headers.get(http::header::CONTENT_TYPE).map(|value| value.as_bytes());
    let rest = content_type.and_then(|value| value.strip_prefix(b"application/grpc"));
    rest.is_some_and(|rest| matches!(rest.first(), None | Some(b'+' | b';')))
}

#[cfg(feature = "axum")]
use axum::extract::MatchedPath;

/// Without Axum a request has no route.
#[cfg(not(feature = "axum"))]
#[derive(Debug, Clone)]
enum MatchedPath {}

#[cfg(not(feature = "axum"))]
impl MatchedPath {
    fn as_str(&self) -> &str {
        match *self {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_traceparent_is_read_and_nothing_else() {
        let (trace, span) = ("4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7");
        let parent = format!("00-{trace}-{span}-01");
        assert_eq!(trace_and_span(&parent), Some((trace, span)));
        for wrong in ["", "00", "x", &parent[1..], &parent[..40], &parent.replace('b', "g")] {
            assert_eq!(trace_and_span(wrong), None, "{wrong}");
        }
    }
}
