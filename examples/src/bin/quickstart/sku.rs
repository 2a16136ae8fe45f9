//! The name of an item.

use std::{borrow::Cow, fmt};

use axum::{
    Json,
    extract::{FromRequestParts, Path},
    http::{StatusCode, header::CONTENT_TYPE, request::Parts},
    response::{IntoResponse, Response},
};
use lock_tower::key::KeyPart;
use serde::{Deserialize, Serialize};

const EXPECTED: &str = "a sku is 1 to 64 letters, digits, `_` and `-`";

/// 1 to 64 letters, digits, `_` and `-`: valid in a file name. Anything else is answered 400.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct Sku(String);

impl TryFrom<String> for Sku {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let legal = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
        match text.len() {
            1..=64 if text.bytes().all(legal) => Ok(Self(text)),
            _ => Err(EXPECTED),
        }
    }
}

/// Read from the path. Other text is answered as a refused lock is: by a problem document.
impl<S: Send + Sync> FromRequestParts<S> for Sku {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Response> {
        match Path::from_request_parts(parts, state).await {
            Ok(Path(sku)) => Ok(sku),
            Err(_) => Err(invalid().into_response()),
        }
    }
}

#[derive(Serialize)]
struct Problem {
    title: &'static str,
    status: u16,
    detail: &'static str,
}

fn invalid() -> impl IntoResponse {
    let problem = Problem { title: "This is not a sku", status: 400, detail: EXPECTED };
    let problem_json = [(CONTENT_TYPE, "application/problem+json")];
    (StatusCode::BAD_REQUEST, problem_json, Json(problem))
}

impl fmt::Display for Sku {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Allows `{sku}` in the key of an attribute.
impl KeyPart for Sku {
    fn key_part(&self) -> Cow<'_, str> {
        Cow::Borrowed(&self.0)
    }
}
