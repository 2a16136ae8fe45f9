//! Whatever a client may send, taken apart as for a request: for tests that send anything at all.

use std::time::Duration;

use http::{HeaderMap, HeaderName};

/// What the header says of the time that a request has.
///
/// # Errors
///
/// What is wrong with it.
pub fn deadline(name: &HeaderName, headers: &HeaderMap) -> Result<Option<Duration>, String> {
    crate::request::deadline_header::read(name, headers)
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
) -> Result<Vec<String>, lock_policy::KeyRejection> {
    let templates = lock_policy::__private::KeyTemplates::parse(templates.iter().copied());
    let templates =
        templates.map_err(|error| lock_policy::KeyRejection::misconfigured(error.to_string()))?;
    let keys =
        crate::key::route_parameters::keys(&templates, parts, &lock_policy::KeyValues::default())
            .await?;
    Ok(keys.into_iter().map(|key| key.key.to_string()).collect())
}
