//! `#[distributed_lock]` on Axum handlers: with the client of a layer, and with that of the state.
//!
//! `tests.rs` beside this file shows how such handlers are unit-tested.

#[cfg(test)]
mod tests;

use std::{
    collections::HashMap,
    error::Error,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use axum::{
    Json, Router,
    body::{Body, to_bytes},
    extract::{FromRef, Path, State},
    http::{Request, StatusCode},
    routing::{get, post},
};
use lock_tower::{LockClient, RequestScopeLayer, distributed_lock};
use serde::Deserialize;
use tokio::time::sleep;
use tower::ServiceExt;

/// The amount that is still to be paid, by order.
type Orders = Arc<Mutex<HashMap<u64, u32>>>;

/// `FromRef` gives the attribute its client from the state.
#[derive(Clone, FromRef)]
struct App {
    locks: LockClient,
    orders: Orders,
}

#[derive(Deserialize)]
struct Order {
    id: u64,
    customer: String,
    total: u32,
}

/// `{order.customer:lower}`: a field of an argument, in lower case, so that "Ada" and "ada" are one.
#[distributed_lock(key = "customer:{order.customer:lower}", client = state)]
async fn create(State(app): State<App>, Json(order): Json<Order>) -> StatusCode {
    let mut orders = app.orders.lock().unwrap_or_else(PoisonError::into_inner);
    orders.insert(order.id, order.total);
    StatusCode::CREATED
}

/// Without `client`, the attribute uses the client of the layer around the route.
#[distributed_lock(key = "order:{id}", mode = "read")]
async fn show(State(orders): State<Orders>, Path(id): Path<u64>) -> Result<String, StatusCode> {
    Ok(due(&orders, id)?.to_string())
}

/// Calls the bank between reading and writing: two at once would both be charged.
#[distributed_lock(key = "order:{id}", client = state, wait = "2s")]
async fn pay(State(app): State<App>, Path(id): Path<u64>) -> Result<String, StatusCode> {
    let due = due(&app.orders, id)?;
    if due == 0 {
        return Err(StatusCode::CONFLICT);
    }
    sleep(Duration::from_millis(200)).await;
    let mut orders = app.orders.lock().unwrap_or_else(PoisonError::into_inner);
    orders.insert(id, 0);
    Ok(format!("{due} charged"))
}

fn due(orders: &Orders, id: u64) -> Result<u32, StatusCode> {
    let orders = orders.lock().unwrap_or_else(PoisonError::into_inner);
    orders.get(&id).copied().ok_or(StatusCode::NOT_FOUND)
}

fn router(app: App) -> Router {
    Router::new()
        .route("/orders", post(create))
        .route("/orders/{id}", get(show))
        .route("/orders/{id}/pay", post(pay))
        .route_layer(RequestScopeLayer::new(app.locks.clone()))
        .with_state(app)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let locks = LockClient::in_memory();
    let orders = Orders::default();
    let router = router(App { locks, orders });

    let order = r#"{"id": 7, "customer": "Ada", "total": 30}"#;
    let create = Request::post("/orders").header("content-type", "application/json");
    println!("create: {}", answer(&router, create.body(order.into())?).await);

    let pay = || Request::post("/orders/7/pay").body(Body::empty());
    let (one, other) = tokio::join!(answer(&router, pay()?), answer(&router, pay()?));
    println!("two payments at once: {one} and {other}");

    let show = Request::get("/orders/7").body(Body::empty())?;
    let Ok(shown) = router.oneshot(show).await;
    let due = to_bytes(shown.into_body(), 100).await?;
    println!("still due: {}", String::from_utf8_lossy(&due));
    Ok(())
}

async fn answer(router: &Router, request: Request<Body>) -> StatusCode {
    let Ok(response) = router.clone().oneshot(request).await;
    response.status()
}
