//! Preflights of CORS: a browser's request about another request, sent before it.

use http::{
    HeaderMap, Method,
    header::{ACCESS_CONTROL_REQUEST_METHOD, ORIGIN},
};

/// Whether this is a preflight (<https://fetch.spec.whatwg.org/#cors-preflight-request>). It does nothing to
/// the resource. Under the lock it would wait behind a writer, and be refused without the headers of CORS,
/// so the browser would not send the request itself.
pub(crate) fn is_preflight(method: &Method, headers: &HeaderMap) -> bool {
    method == Method::OPTIONS
        && headers.contains_key(ORIGIN)
        && headers.contains_key(ACCESS_CONTROL_REQUEST_METHOD)
}
