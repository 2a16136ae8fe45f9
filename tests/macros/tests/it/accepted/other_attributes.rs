//! Above and below the attributes that people put on handlers.
#![deny(warnings)]

use axum::extract::{FromRef, Path, State};
use axum::routing::get;
use axum::{Router, debug_handler};
use lock_tower::{LockClient, distributed_lock};
use tracing::instrument;

#[derive(Clone)]
struct App {
    locks: LockClient,
}

impl FromRef<App> for LockClient {
    fn from_ref(app: &App) -> Self {
        app.locks.clone()
    }
}

/// No `Debug`: `#[instrument]` skips it, and must find nothing else to record.
#[derive(serde::Deserialize)]
struct Secret;

#[debug_handler]
#[distributed_lock(key = "order:{id}")]
async fn below_debug_handler(State(_app): State<App>, Path(id): Path<u64>) -> String {
    id.to_string()
}

#[distributed_lock(key = "order:{id}")]
#[debug_handler]
async fn above_debug_handler(State(_app): State<App>, Path(id): Path<u64>) -> String {
    id.to_string()
}

#[debug_handler]
#[distributed_lock(key = "order:{id}", client = state)]
async fn state_below_debug_handler(State(_app): State<App>, Path(id): Path<u64>) -> String {
    id.to_string()
}

#[distributed_lock(key = "order:{id}", client = state)]
#[debug_handler]
async fn state_above_debug_handler(State(_app): State<App>, Path(id): Path<u64>) -> String {
    id.to_string()
}

#[debug_handler]
#[distributed_lock(key = "reports")]
async fn no_argument_below_debug_handler() {}

#[distributed_lock(key = "reports")]
#[debug_handler]
async fn no_argument_above_debug_handler() {}

#[instrument]
#[distributed_lock(key = "order:{id}")]
async fn below_instrument(Path(id): Path<u64>) -> Result<String, String> {
    Ok(id.to_string())
}

#[distributed_lock(key = "order:{id}")]
#[instrument]
async fn above_instrument(Path(id): Path<u64>) -> Result<String, String> {
    Ok(id.to_string())
}

#[distributed_lock(key = "order:{id}")]
#[instrument(skip(secret))]
async fn above_skipping_instrument(
    Path(id): Path<u64>,
    axum::Json(secret): axum::Json<Secret>,
) -> String {
    let Secret = secret;
    id.to_string()
}

#[instrument]
#[distributed_lock(key = "order:{id}")]
#[debug_handler]
async fn between_both(Path(id): Path<u64>) -> String {
    id.to_string()
}

#[instrument(skip(locks), err(Debug))]
#[distributed_lock(key = "order:{id}", client = locks)]
async fn function_below_instrument(
    locks: &LockClient,
    id: u64,
) -> Result<u64, lock_tower::LockError> {
    Ok(id)
}

#[distributed_lock(key = "order:{id}", client = locks)]
#[instrument(skip(locks), err(Debug))]
async fn function_above_instrument(
    locks: &LockClient,
    id: u64,
) -> Result<u64, lock_tower::LockError> {
    Ok(id)
}

#[test]
fn all_compile() {
    let _: Router<App> = Router::new()
        .route("/1/{id}", get(below_debug_handler))
        .route("/2/{id}", get(above_debug_handler))
        .route("/3/{id}", get(state_below_debug_handler))
        .route("/4/{id}", get(state_above_debug_handler))
        .route("/5", get(no_argument_below_debug_handler))
        .route("/6", get(no_argument_above_debug_handler))
        .route("/7/{id}", get(below_instrument))
        .route("/8/{id}", get(above_instrument))
        .route("/9/{id}", get(above_skipping_instrument))
        .route("/10/{id}", get(between_both));
    let _ = function_below_instrument;
    let _ = function_above_instrument;
}
