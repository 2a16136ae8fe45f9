//! Whatever a client may send, taken apart as for a request: for tests that send anything at all.

use std::time::Duration;

use http::{HeaderMap, HeaderName};

/// What the header says of the time that a request has.
///
/// # Errors
///
/// What is wrong with it.
pub fn deadline(name: &HeaderName, headers: &HeaderMap) -> Result<Option<Duration>, String> {
    crate::deadline_header::read(name, headers)
}

/// The keys that these templates give for a request.
///
/// # Errors
///
/// Why there is none.
#[cfg(feature = "axum")]
pub async fn keys(
    templates: &[&str],
    parts: &mut http::request::Parts,
) -> Result<Vec<String>, crate::BadKey> {
    let templates = crate::key::KeyTemplates::parse(templates.iter().copied());
    let templates = templates.map_err(|error| crate::BadKey::misconfigured(error.to_string()))?;
    let keys = templates.keys(parts, &crate::KeyValues::default()).await?;
    Ok(keys.into_iter().map(|key| key.key.to_string()).collect())
}
