//! Two lock clients in one state: orders on one Redis, reports on another.
//!
//! `client = state` needs `LockClient: FromRef<State>`, of which there is one. A handler names the other
//! client by an expression; with Axum's `Response` as its return type it gives the same answers.

use axum::{
    Router,
    extract::{FromRef, Path, State},
    response::{IntoResponse, Response},
    routing::put,
};
use lock_tower::{LockClient, distributed_lock};

/// The service's state.
#[derive(Debug, Clone)]
pub struct App {
    /// For orders, and wherever no other client is named.
    pub locks: LockClient,
    /// For reports.
    pub report_locks: LockClient,
}

impl FromRef<App> for LockClient {
    fn from_ref(app: &App) -> Self {
        app.locks.clone()
    }
}

/// Locks with the client of the state.
#[distributed_lock(key = "order:{id}", client = state, wait = "0s")]
pub async fn change(Path(id): Path<u64>) -> String {
    format!("order {id} changed")
}

/// Locks with the client that it names.
#[distributed_lock(key = "report:{id}", client = app.report_locks, wait = "0s")]
pub async fn rewrite(State(app): State<App>, Path(id): Path<u64>) -> Response {
    format!("report {id} rewritten").into_response()
}

/// The service.
pub fn router(app: App) -> Router {
    Router::new()
        .route("/orders/{id}", put(change))
        .route("/reports/{id}", put(rewrite))
        .with_state(app)
}

#[cfg(test)]
mod tests {
    use http::Request;

    use super::*;
    use crate::testing::send;

    #[tokio::test]
    async fn each_route_has_its_client() {
        let app = App { locks: LockClient::in_memory(), report_locks: LockClient::in_memory() };
        let router = router(app.clone());
        let _order = app.locks.write("order:7").acquire().await.unwrap();
        let report = app.report_locks.write("report:7").acquire().await.unwrap();
        for path in ["/orders/7", "/reports/7"] {
            let refused = send(&router, Request::put(path), "").await;
            assert_eq!(refused.status, 423, "{path}");
            assert!(refused.text.contains("lock-busy"), "{}", refused.text);
        }
        drop(report);
        assert_eq!(send(&router, Request::put("/reports/7"), "").await.text, "report 7 rewritten");
    }
}
