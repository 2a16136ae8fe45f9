//! A handler under the attribute is tested like any other: through the router, with the locks in
//! memory. Tokio's paused clock makes waits and leases take no time.
#![allow(clippy::unwrap_used)]

use axum::{handler::Handler, http::header::CONTENT_TYPE};
use lock_tower::{LockKey, MemoryStore};

use super::*;

fn app(locks: LockClient) -> App {
    let orders = Orders::default();
    orders.lock().unwrap().insert(7, 30);
    App { locks, orders }
}

fn pay() -> Request<Body> {
    Request::post("/orders/7/pay").body(Body::empty()).unwrap()
}

#[tokio::test(start_paused = true)]
async fn an_order_is_paid_once() {
    let router = router(app(LockClient::in_memory()));
    let answers = tokio::join!(answer(&router, pay()), answer(&router, pay()));
    assert_eq!(answers, (StatusCode::OK, StatusCode::CONFLICT));
}

/// The test takes the lock with the same key, and so shows what the handler locks.
#[tokio::test(start_paused = true)]
async fn a_locked_order_is_reported_and_unchanged() {
    let app = app(LockClient::in_memory());
    let other = app.locks.write("order:7").acquire().await.unwrap();
    let router = router(app.clone());
    assert_eq!(answer(&router, pay()).await, StatusCode::LOCKED);
    assert_eq!(due(&app.orders, 7), Ok(30));

    drop(other);
    assert_eq!(answer(&router, pay()).await, StatusCode::OK);
}

/// With its own store a test can take the lock away.
#[tokio::test(start_paused = true)]
async fn a_lost_lock_charges_no_customer() {
    let store = MemoryStore::new();
    let lease = Duration::from_millis(300);
    let app = app(LockClient::builder().lease(lease).in_memory_on(&store));
    let router = router(app.clone());

    let paying = tokio::spawn(async move { answer(&router, pay()).await });
    let other = LockClient::builder().in_memory_on(&store);
    while !other.is_locked("order:7", lock_tower::Mode::Write).await.unwrap() {
        tokio::task::yield_now().await;
    }
    store.remove(&LockKey::try_from("order:7").unwrap());
    assert_eq!(paying.await.unwrap(), StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(due(&app.orders, 7), Ok(30));
}

/// A handler without path parameters needs no router either.
#[tokio::test]
async fn a_handler_is_called_by_itself() {
    let app = app(LockClient::in_memory());
    let order = r#"{"id": 8, "customer": "Ada", "total": 5}"#;
    let request = Request::post("/orders").header(CONTENT_TYPE, "application/json");
    let request = request.body(Body::from(order)).unwrap();

    let response = create.call(request, app.clone()).await;
    assert_eq!(response.status(), StatusCode::CREATED);
    assert_eq!(due(&app.orders, 8), Ok(5));
}
