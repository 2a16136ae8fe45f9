//! Preflights of CORS: a browser's request about another request, sent before it.
//!
//! A preflight does nothing to the resource. Under the lock it would wait behind a writer, and be refused
//! without the headers of CORS, so the browser would not send the request itself. But a client can send one
//! to any route, and a handler for every method would run for it without its lock. So preflights are passed
//! on only on routes where a CORS layer inside of the lock was seen to answer one, before the handler.

use std::sync::Arc;

use http::{
    HeaderMap, Method,
    header::{ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_REQUEST_METHOD, ORIGIN},
    request::Parts,
};

use crate::request::seen_routes::SeenRoutes;

/// The routes on which a CORS layer inside of the lock answers preflights.
#[derive(Debug, Clone, Default)]
pub(crate) struct PreflightRoutes(Arc<SeenRoutes>);

impl PreflightRoutes {
    /// Whether this is a preflight that a CORS layer inside will answer.
    pub(crate) fn answers(&self, request: &Parts) -> bool {
        is_preflight(request) && route(request).is_some_and(|route| self.0.has(route))
    }

    /// Returns the route if this is a preflight, for [`learn`](Self::learn).
    pub(crate) fn route_of(request: &Parts) -> Option<Box<str>> {
        route(request).filter(|_| is_preflight(request)).map(Box::from)
    }

    /// Learns from the answer to a preflight on this route, which had the lock.
    pub(crate) fn learn(&self, route: Option<Box<str>>, answer: &HeaderMap) {
        if let Some(route) = route
            && answer.contains_key(ACCESS_CONTROL_ALLOW_METHODS)
        {
            self.0.add(&route);
        }
    }
}

/// See <https://fetch.spec.whatwg.org/#cors-preflight-request>.
fn is_preflight(request: &Parts) -> bool {
    request.method == Method::OPTIONS
        && request.headers.contains_key(ORIGIN)
        && request.headers.contains_key(ACCESS_CONTROL_REQUEST_METHOD)
}

/// Returns the route; `None` where it is unknown, or where a nested service has routes of which only some may
/// have a CORS layer.
fn route(request: &Parts) -> Option<&str> {
    #[cfg(feature = "axum")]
    let route = request.extensions.get().map(axum::extract::MatchedPath::as_str);
    #[cfg(not(feature = "axum"))]
    let route = None::<&str>.filter(|_| request.extensions.is_empty());
    route.filter(|route| !route.contains("{*"))
}
