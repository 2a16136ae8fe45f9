//! A lock behind CORS: the browser can read the lock's refusals, and its preflights wait for no lock.

use std::time::Duration;

use axum::{Router, extract::Path, routing::put};
use http::{HeaderValue, Method, header::CONTENT_TYPE};
use lock_tower::{KeyTemplateError, LockClient, RequestLockLayer};
use tower_http::cors::CorsLayer;

/// The site that calls this service.
pub const SITE: HeaderValue = HeaderValue::from_static("https://shop.example");

/// The service. The CORS layer is outside of the lock; `Retry-After` has to be exposed to be read.
///
/// # Errors
///
/// The template of the key is wrong.
pub fn router(locks: LockClient) -> Result<Router, KeyTemplateError> {
    let lock = RequestLockLayer::new(locks, "order:{id:u64}")?.wait(Duration::ZERO);
    let cors = CorsLayer::new()
        .allow_origin(SITE)
        .allow_methods([Method::GET, Method::PUT])
        .allow_headers([CONTENT_TYPE])
        .expose_headers([http::header::RETRY_AFTER]);
    let change = async |Path(id): Path<u64>| format!("order {id} changed");
    Ok(Router::new().route("/orders/{id}", put(change)).route_layer(lock).layer(cors))
}

#[cfg(test)]
mod tests {
    use http::Request;

    use super::*;
    use crate::testing::send;

    #[tokio::test]
    async fn a_browser_gets_its_answers_while_the_lock_is_busy() {
        let locks = LockClient::in_memory();
        let app = router(locks.clone()).unwrap();
        let _elsewhere = locks.write("order:7").acquire().await.unwrap();

        let preflight = Request::options("/orders/7")
            .header("origin", SITE)
            .header("access-control-request-method", "PUT");
        let allowed = send(&app, preflight, "").await;
        assert_eq!(allowed.status, 200);
        assert_eq!(allowed.headers["access-control-allow-methods"], "GET,PUT");

        let refused = send(&app, Request::put("/orders/7").header("origin", SITE), "").await;
        assert_eq!(refused.status, 423);
        assert_eq!(refused.headers["access-control-allow-origin"], SITE);
        assert_eq!(refused.headers["access-control-expose-headers"], "retry-after");
    }
}
