//! A limit for each tenant, answered 429.

use std::time::Duration;

use axum::{Router, routing::post};
use http::StatusCode;
use lock_tower::{KeyTemplateError, LockClient, Outcome, RequestLockLayer};

/// The service: at most two exports of a tenant run at once, in all replicas together. The next one is
/// refused without a wait.
///
/// # Errors
///
/// The template of the key is wrong.
pub fn router(locks: LockClient) -> Result<Router, KeyTemplateError> {
    let exports = RequestLockLayer::new(locks, "exports:{tenant:lower}")?
        .semaphore(2)
        .wait(Duration::ZERO)
        .answer_status(Outcome::Busy, StatusCode::TOO_MANY_REQUESTS);
    let export = async || "exported";
    Ok(Router::new().route("/tenants/{tenant}/exports", post(export)).route_layer(exports))
}

#[cfg(test)]
mod tests {
    use http::Request;

    use super::*;
    use crate::testing::send;

    #[tokio::test]
    async fn a_third_export_of_a_tenant_is_refused() {
        let locks = LockClient::in_memory();
        let app = router(locks.clone()).unwrap();
        let _two = locks.semaphore("exports:acme", 2).permits(2).acquire().await.unwrap();
        let refused = send(&app, Request::post("/tenants/Acme/exports"), "").await;
        assert_eq!(refused.status, 429);
        assert!(refused.headers.contains_key("retry-after"));
        assert!(refused.text.contains(r#""status":429"#), "{}", refused.text);
        assert_eq!(send(&app, Request::post("/tenants/other/exports"), "").await.text, "exported");
    }
}
