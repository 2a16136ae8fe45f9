use std::sync::Arc;

use http::{HeaderMap, Method, Version, header::CONTENT_TYPE, request::Parts};

/// Longer request ids are not repeated to the client.
const LONGEST_REQUEST_ID: usize = 128;

/// The facts about a request that its answer needs.
#[derive(Debug, Clone, Default)]
pub(crate) struct Caller {
    pub(crate) request_id: Option<Arc<str>>,
    /// The pattern of the route, which may be logged where the path may not.
    route: Option<Route>,
    /// Whether the request uses HTTP/1. HTTP/2 and later have no header that closes a connection.
    pub(crate) speaks_http1: bool,
    is_head: bool,
    /// Whether the answer is to be a gRPC status.
    #[cfg(feature = "tonic")]
    pub(super) speaks_grpc: bool,
}

impl Caller {
    pub(crate) fn of(parts: &Parts) -> Self {
        let request_id = parts.headers.get("x-request-id");
        let request_id = request_id.and_then(|id| id.to_str().ok());
        Self {
            request_id: request_id.filter(|id| id.len() <= LONGEST_REQUEST_ID).map(Arc::from),
            route: parts.extensions.get().cloned(),
            speaks_http1: parts.version < Version::HTTP_2,
            is_head: parts.method == Method::HEAD,
            #[cfg(feature = "tonic")]
            speaks_grpc: is_grpc(&parts.headers),
        }
    }

    /// Whether the server sends the body of its answer.
    pub(crate) fn wants_body(&self) -> bool {
        !self.is_head
    }

    pub(crate) fn route(&self) -> Option<&str> {
        self.route.as_ref().map(Route::as_str)
    }
}

/// Whether this is a gRPC request: `application/grpc`, with or without the name of its encoding.
/// gRPC-Web is another protocol.
pub(crate) fn is_grpc(headers: &HeaderMap) -> bool {
    let content_type = headers.get(CONTENT_TYPE).map(|value| value.as_bytes());
    let rest = content_type.and_then(|value| value.strip_prefix(b"application/grpc"));
    rest.is_some_and(|rest| matches!(rest.first(), None | Some(b'+' | b';')))
}

#[cfg(feature = "axum")]
use axum::extract::MatchedPath as Route;

/// Without Axum a request has no route.
#[cfg(not(feature = "axum"))]
#[derive(Debug, Clone)]
enum Route {}

#[cfg(not(feature = "axum"))]
impl Route {
    fn as_str(&self) -> &str {
        match *self {}
    }
}
