//! The shop on the web. Each handler names its lock in one line.

use std::{io, time::Duration};

use axum::{
    Json, Router,
    extract::State,
    http::StatusCode,
    response::{IntoResponse, Response},
    routing::{get, post},
};
use lock_tower::{LockClient, RequestScopeLayer, distributed_lock};
use serde::Serialize;
use tokio::time::sleep;

use crate::{shelves::Shelves, sku::Sku};

pub(crate) fn router(locks: LockClient, shelves: Shelves) -> Router {
    Router::new()
        .route("/stock/{sku}", get(show))
        .route("/stock/{sku}/take", post(take))
        .route("/stock/{sku}/recount", post(recount))
        .route_layer(RequestScopeLayer::new(locks))
        .with_state(shelves)
}

#[derive(Serialize)]
struct Stock {
    sku: Sku,
    stock: u32,
}

/// Many may look at once, but never while another request takes or counts.
#[distributed_lock(key = "stock:{sku}", mode = "read", wait = "10s")]
async fn show(sku: Sku, State(shelves): State<Shelves>) -> Result<Json<Stock>, Broken> {
    let stock = shelves.count(&sku)?;
    Ok(Json(Stock { sku, stock }))
}

/// One at a time, across all processes; the others wait.
#[distributed_lock(key = "stock:{sku}", mode = "write", wait = "10s")]
async fn take(
    sku: Sku,
    State(shelves): State<Shelves>,
) -> Result<(StatusCode, Json<Stock>), Broken> {
    Ok(match shelves.take(&sku).await? {
        Some(stock) => (StatusCode::OK, Json(Stock { sku, stock })),
        None => (StatusCode::CONFLICT, Json(Stock { sku, stock: 0 })),
    })
}

/// As long as the lease, which is renewed meanwhile. A request that finds the shelf in use is refused
/// at once.
#[distributed_lock(key = "stock:{sku}", mode = "write", wait = "0s")]
async fn recount(sku: Sku, State(shelves): State<Shelves>) -> Result<Json<Stock>, Broken> {
    sleep(Duration::from_secs(3)).await;
    let stock = shelves.count(&sku)?;
    Ok(Json(Stock { sku, stock }))
}

/// A file that cannot be read or written.
struct Broken(io::Error);

impl From<io::Error> for Broken {
    fn from(error: io::Error) -> Self {
        Self(error)
    }
}

impl IntoResponse for Broken {
    fn into_response(self) -> Response {
        eprintln!("the stock is out of reach: {}", self.0);
        StatusCode::INTERNAL_SERVER_ERROR.into_response()
    }
}
