//! The lock's layer in one `ServiceBuilder` with each layer of tower-http, outside and inside of it.

use std::time::Duration;

use axum::{Router, body::Body, routing::any};
use http::{HeaderName, HeaderValue, Request, StatusCode, header};
use lock_tower::{LockClient, Locked, RequestLockLayer, RequestScopeLayer, RequestTimeoutLayer};
use tower::{ServiceBuilder, ServiceExt};
use tower_http::{
    add_extension::AddExtensionLayer,
    auth::AsyncRequireAuthorizationLayer,
    catch_panic::CatchPanicLayer,
    classify::StatusInRangeAsFailures,
    compression::CompressionLayer,
    cors::CorsLayer,
    decompression::DecompressionLayer,
    limit::RequestBodyLimitLayer,
    map_request_body::MapRequestBodyLayer,
    map_response_body::MapResponseBodyLayer,
    metrics::InFlightRequestsLayer,
    normalize_path::NormalizePathLayer,
    propagate_header::PropagateHeaderLayer,
    request_id::{MakeRequestUuid, PropagateRequestIdLayer, SetRequestIdLayer},
    sensitive_headers::SetSensitiveHeadersLayer,
    set_header::{SetRequestHeaderLayer, SetResponseHeaderLayer},
    set_status::SetStatusLayer,
    timeout::{RequestBodyTimeoutLayer, ResponseBodyTimeoutLayer, TimeoutLayer},
    trace::TraceLayer,
    validate_request::ValidateRequestHeaderLayer,
};

use crate::common::{NEVER, call, request, send};

const TRACE: HeaderName = HeaderName::from_static("x-trace");

fn lock(locks: &LockClient) -> RequestLockLayer {
    RequestLockLayer::new(locks.clone(), "order:{id:u64}").unwrap().wait(Duration::ZERO)
}

fn routes() -> Router {
    Router::new().route("/orders/{id}", any(async |lock: Locked| lock.mode().to_string()))
}

/// The lock is taken and given back, and a busy one is answered as ever.
async fn works(app: Router, locks: LockClient) {
    for _ in 0..2 {
        assert_eq!(call(&app, "PUT", "/orders/7").await.text, "write");
    }
    let elsewhere = locks.write("order:7").acquire().await.unwrap();
    let answer = call(&app, "PUT", "/orders/7").await;
    assert_eq!(answer.problem()["type"], "urn:lock-tower:problem:lock-busy", "{answer:?}");
    drop(elsewhere);
    assert_eq!(call(&app, "GET", "/orders/7").await.text, "read");
}

macro_rules! layers {
    ($($name:ident: $layer:expr;)*) => {$(
        mod $name {
            use super::*;

            #[tokio::test]
            async fn outside() {
                let locks = LockClient::in_memory();
                let layers = ServiceBuilder::new().layer($layer).layer(lock(&locks));
                works(routes().route_layer(layers), locks).await;
            }

            #[tokio::test]
            async fn inside() {
                let locks = LockClient::in_memory();
                let layers = ServiceBuilder::new().layer(lock(&locks)).layer($layer);
                works(routes().route_layer(layers), locks).await;
            }
        }
    )*};
}

layers! {
    add_extension: AddExtensionLayer::new(7);
    catch_panic: CatchPanicLayer::new();
    compression: CompressionLayer::new();
    cors: CorsLayer::permissive();
    decompression: DecompressionLayer::new();
    in_flight_requests: InFlightRequestsLayer::new(Default::default());
    map_request_body: MapRequestBodyLayer::new(Body::new);
    map_response_body: MapResponseBodyLayer::new(Body::new);
    normalize_path: NormalizePathLayer::trim_trailing_slash();
    propagate_header: PropagateHeaderLayer::new(TRACE);
    propagate_request_id: PropagateRequestIdLayer::x_request_id();
    request_body_limit: RequestBodyLimitLayer::new(1_000);
    request_body_timeout: RequestBodyTimeoutLayer::new(NEVER);
    request_timeout_of_lock_tower: RequestTimeoutLayer::with_status_code(StatusCode::GATEWAY_TIMEOUT, NEVER);
    require_authorization: AsyncRequireAuthorizationLayer::new(
        async |request: Request<Body>| Ok::<_, http::Response<_>>(request)
    );
    response_body_timeout: ResponseBodyTimeoutLayer::new(NEVER);
    scope_of_lock_tower: RequestScopeLayer::new(LockClient::in_memory());
    sensitive_headers: SetSensitiveHeadersLayer::new([header::AUTHORIZATION]);
    set_request_header: SetRequestHeaderLayer::overriding(TRACE, HeaderValue::from_static("7"));
    set_request_id: SetRequestIdLayer::x_request_id(MakeRequestUuid);
    set_response_header: SetResponseHeaderLayer::overriding(TRACE, HeaderValue::from_static("7"));
    set_status: SetStatusLayer::new(StatusCode::ACCEPTED);
    timeout: TimeoutLayer::with_status_code(StatusCode::GATEWAY_TIMEOUT, NEVER);
    trace: TraceLayer::new_for_http();
    trace_by_status: TraceLayer::new(StatusInRangeAsFailures::new(500..=599).into_make_classifier());
    validate_request: ValidateRequestHeaderLayer::accept("*/*");
}

/// A timeout outside drops the request, and its lock is released.
#[tokio::test(start_paused = true)]
async fn a_timeout_ends_the_lock() {
    let locks = LockClient::in_memory();
    let timeout =
        TimeoutLayer::with_status_code(StatusCode::GATEWAY_TIMEOUT, Duration::from_secs(1));
    let layers = ServiceBuilder::new().layer(timeout).layer(lock(&locks));
    let never = async || std::future::pending::<()>().await;
    let app = Router::new().route("/orders/{id}", any(never)).route_layer(layers);
    assert_eq!(call(&app, "PUT", "/orders/7").await.status, StatusCode::GATEWAY_TIMEOUT);
    let _free = locks.write("order:7").acquire().await.unwrap();
}

/// A compressed answer comes through the lock's body as it is.
#[tokio::test]
async fn an_answer_is_compressed_outside_of_the_lock() {
    let locks = LockClient::in_memory();
    let layers = ServiceBuilder::new().layer(CompressionLayer::new()).layer(lock(&locks));
    let long = async || "order ".repeat(100);
    let app = Router::new().route("/orders/{id}", any(long)).route_layer(layers);
    let mut request = request("GET", "/orders/7");
    request.headers_mut().insert(header::ACCEPT_ENCODING, HeaderValue::from_static("gzip"));
    let response = app.clone().oneshot(request).await.unwrap();
    assert_eq!(response.headers()[header::CONTENT_ENCODING], "gzip");

    let answer = send(&app, crate::common::request("GET", "/orders/7")).await;
    assert_eq!(answer.text, "order ".repeat(100));
}
