//! The reply of a server.

use ::http::{HeaderMap, response::Parts};
use hyper::body::Bytes;
use serde_json::Value;

/// A complete response.
#[derive(Clone, Debug)]
pub struct Reply {
    /// The status code, such as 423.
    pub status: u16,
    /// All headers.
    pub headers: HeaderMap,
    /// The whole body.
    pub body: Bytes,
}

impl Reply {
    pub(super) fn new(head: Parts, body: Bytes) -> Self {
        Self { status: head.status.as_u16(), headers: head.headers, body }
    }

    /// Returns a header's value, or `None` without it.
    pub fn header(&self, name: &str) -> Option<&str> {
        let value = self.headers.get(name)?;
        Some(value.to_str().expect("a header of visible characters"))
    }

    /// The body as text.
    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.body).expect("a body in UTF-8")
    }

    /// The body as JSON.
    pub fn json(&self) -> Value {
        match serde_json::from_str(self.text()) {
            Ok(value) => value,
            Err(error) => panic!("no JSON, {error}: {}", self.text()),
        }
    }
}
