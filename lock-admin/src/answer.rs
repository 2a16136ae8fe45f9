//! Answers that are not what was requested.

use axum::response::{IntoResponse, Response};
use http::{
    HeaderValue, StatusCode,
    header::{CACHE_CONTROL, CONTENT_TYPE, VARY, X_CONTENT_TYPE_OPTIONS},
};
use lock_core::InspectError;
use serde_json::json;

use super::{query::Format, shell};

pub(crate) const TOO_MANY: &str = "others search at this moment: repeat it in a second";

/// Why a request is not answered, as a page or as a problem document (RFC 9457).
#[derive(Debug, Clone)]
pub(crate) struct Refusal {
    status: StatusCode,
    title: &'static str,
    detail: String,
    format: Format,
}

impl Refusal {
    pub(crate) fn bad_request(detail: String, format: Format) -> Self {
        let (status, title) = (StatusCode::BAD_REQUEST, "The request cannot be read");
        Self { status, title, detail, format }
    }

    pub(crate) fn forbidden(detail: &str) -> Self {
        let (status, title) = (StatusCode::FORBIDDEN, "This is not allowed here");
        Self { status, title, detail: detail.to_owned(), format: Format::Json }
    }

    pub(crate) fn not_read(why: &InspectError, format: Format) -> Self {
        let (status, title) = match why {
            InspectError::Key(_) => (StatusCode::BAD_REQUEST, "This is not a valid key"),
            InspectError::WrongKind(_) => (StatusCode::CONFLICT, "This key holds something else"),
            InspectError::Unsupported(_) => {
                (StatusCode::NOT_IMPLEMENTED, "The lock store does not support this")
            }
            _ => (StatusCode::SERVICE_UNAVAILABLE, "The lock store does not answer"),
        };
        Self { status, title, detail: why.to_string(), format }
    }

    /// The store is read as often as it may be for this page.
    pub(crate) fn too_many(format: Format) -> Self {
        let (status, title) = (StatusCode::TOO_MANY_REQUESTS, "The page is read too often");
        Self { status, title, detail: TOO_MANY.to_owned(), format }
    }

    pub(crate) fn in_format(self, format: Format) -> Self {
        Self { format, ..self }
    }

    /// Adds what a caller must know that cannot tell whether its request was executed.
    pub(crate) fn with_note(mut self, note: &str) -> Self {
        if self.status == StatusCode::SERVICE_UNAVAILABLE {
            self.detail.push_str(note);
        }
        self
    }
}

/// Every answer is about this moment, for this operator.
pub(crate) async fn of_this_moment(mut response: Response) -> Response {
    let headers = response.headers_mut();
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(VARY, HeaderValue::from_static("accept"));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        if self.format == Format::Html {
            return (self.status, shell::refused(self.title, &self.detail)).into_response();
        }
        let document = json!({
            "type": "about:blank",
            "title": self.title,
            "status": self.status.as_u16(),
            "detail": self.detail,
        });
        let json = HeaderValue::from_static("application/problem+json");
        (self.status, [(CONTENT_TYPE, json)], document.to_string()).into_response()
    }
}
