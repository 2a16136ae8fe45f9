//! The keys of requests whose templates may name parameters of the route.

use axum::extract::{FromRequestParts, RawPathParams, rejection::RawPathParamsRejection};
use http::request::Parts;
use lock_policy::{
    __private::{KeyTemplates, RequestKeys, RequestValues},
    KeyRejection, KeyValues,
};

/// Returns the request's keys, at least one.
pub(crate) async fn keys(
    templates: &KeyTemplates,
    parts: &mut Parts,
    registered: &KeyValues,
) -> Result<RequestKeys, KeyRejection> {
    let path = if templates.name_path_parameters() { Some(parameters(parts).await?) } else { None };
    templates.keys(&RequestValues { parts, path: path.iter().flatten().collect(), registered })
}

async fn parameters(parts: &mut Parts) -> Result<RawPathParams, KeyRejection> {
    // Axum has percent-decoded the values once. The template encodes them again for the key.
    let parameters = RawPathParams::from_request_parts(parts, &()).await;
    parameters.map_err(|rejection| match rejection {
        RawPathParamsRejection::InvalidUtf8InPathParam(_) => KeyRejection::path_is_not_utf8(),
        _ => KeyRejection::misconfigured(
            "the request has no path parameters where the layer is: add the layer by \
             `Router::route_layer`, inside the router, or take the key by \
             `RequestLockLayer::with_key`",
        ),
    })
}
