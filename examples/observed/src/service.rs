//! Work that takes as long as its caller wants, and knows nothing of locks.

use std::time::Duration;

use axum::{
    Router,
    extract::Query,
    routing::{get, post},
};
use lock_tower::policies::Policies;
use serde::Deserialize;

/// `?ms=250`: how long the work takes. Default: 20 ms.
#[derive(Deserialize)]
struct Takes {
    #[serde(default = "twenty")]
    ms: u64,
}

fn twenty() -> u64 {
    20
}

pub(crate) fn router(policies: &Policies) -> Router {
    Router::new()
        .route("/orders/{id}", get(work).put(work))
        .route("/imports/{tenant}", post(work))
        .route("/reports/{id}", post(work))
        .route("/reminders/{id}", post(work))
        .route_layer(policies.layer())
}

async fn work(Query(takes): Query<Takes>) -> &'static str {
    tokio::time::sleep(Duration::from_millis(takes.ms)).await;
    "done\n"
}
