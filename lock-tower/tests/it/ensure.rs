//! A handler that makes sure of its lock before a step that must not be cut short.

use std::time::Duration;

use axum::{Router, routing::put};
use http::StatusCode;
use lock_tower::{LockClient, Locked, RequestLockLayer, errors::EnsureError};
use tokio::time::sleep;

use crate::common::call;

const SECOND: Duration = Duration::from_secs(1);

fn router(locks: &LockClient) -> Router {
    let lock = RequestLockLayer::new(locks.clone(), "order:{id}").unwrap();
    let lock = lock.lease(SECOND * 10).renew(false).max_hold(SECOND * 20);
    Router::new().route("/orders/{id}", put(charge)).route_layer(lock)
}

async fn charge(lock: Locked) -> Result<StatusCode, StatusCode> {
    for _ in 0..3 {
        sleep(SECOND * 6).await;
        lock.ensure(SECOND * 8).await.map_err(|error| match error {
            EnsureError::TooLong { .. } => StatusCode::IM_A_TEAPOT,
            _ => StatusCode::INTERNAL_SERVER_ERROR,
        })?;
        lock.extend_max_hold(SECOND * 20).map_err(|_| StatusCode::INTERNAL_SERVER_ERROR)?;
    }
    assert!(lock.ensure(SECOND * 10).await.is_err(), "more than the lease");
    Ok(StatusCode::OK)
}

#[tokio::test(start_paused = true)]
async fn a_handler_outlives_its_lease_and_its_max_hold() {
    let locks = LockClient::in_memory();
    assert_eq!(call(&router(&locks), "PUT", "/orders/7").await.status, StatusCode::OK);
    let free = locks.write("order:7").try_acquire().await;
    free.expect("it was released").release().await.unwrap();
}
