//! Parsers of client input, exposed for tests that send arbitrary input.

use std::time::Duration;

use http::{HeaderMap, HeaderName};

/// Returns the deadline that the header sets for a request.
///
/// # Errors
///
/// The reason why the header is invalid.
pub fn deadline(name: &HeaderName, headers: &HeaderMap) -> Result<Option<Duration>, String> {
    crate::request::deadline_header::read(name, headers)
}

/// Returns the time that `grpc-timeout` gives a request.
///
/// # Errors
///
/// The reason why the header is invalid.
pub fn grpc_timeout(headers: &HeaderMap) -> Result<Option<Duration>, String> {
    crate::request::grpc_timeout::read(headers)
}

/// Returns the keys that these templates produce for a request.
///
/// # Errors
///
/// The reason why there is no key.
#[cfg(feature = "axum")]
pub async fn keys(
    templates: &[&str],
    parts: &mut http::request::Parts,
) -> Result<Vec<String>, lock_policy::KeyRejection> {
    let templates = lock_policy::__private::KeyTemplates::parse(templates.iter().copied());
    let templates =
        templates.map_err(|error| lock_policy::KeyRejection::misconfigured(error.to_string()))?;
    let keys = crate::request_key::route_parameters::keys(
        &templates,
        parts,
        &lock_policy::KeyValues::default(),
    )
    .await?;
    Ok(keys.into_iter().map(|key| key.key.to_string()).collect())
}
