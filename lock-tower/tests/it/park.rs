//! A handler that answers 202 and leaves its lock to a worker.

use std::time::Duration;

use axum::{Extension, Router, routing::post};
use http::StatusCode;
use lock_tower::{LockClient, Locked, RequestLockLayer, errors::ParkError, locks::HoldTicket};
use tokio::{sync::mpsc, time::sleep};

use crate::common::call;

const SECOND: Duration = Duration::from_secs(1);

type Queue = mpsc::UnboundedSender<HoldTicket>;

/// Parks the lock, and runs on for longer than its `max_hold`.
async fn accept(lock: Locked, Extension(queue): Extension<Queue>) -> StatusCode {
    queue.send(lock.park(SECOND * 60).await.unwrap()).unwrap();
    assert!(!lock.is_held());
    assert!(matches!(lock.park(SECOND * 60).await, Err(ParkError::Lost(_))), "it has gone");
    assert!(lock.keep().await.is_err());
    sleep(SECOND * 10).await;
    StatusCode::ACCEPTED
}

fn locks() -> LockClient {
    LockClient::builder().ticket_key([7; 32]).in_memory()
}

#[tokio::test(start_paused = true)]
async fn the_worker_goes_on_under_the_requests_lock() {
    let locks = locks();
    for before in [false, true] {
        let layer = RequestLockLayer::new(locks.clone(), "report:{id}").unwrap();
        let mut layer = layer.max_hold(SECOND * 5).wait(Duration::ZERO);
        if before {
            layer = layer.release(lock_tower::settings::Release::BeforeResponse);
        }
        let (queue, mut tickets) = mpsc::unbounded_channel();
        let router = Router::new().route("/reports/{id}", post(accept)).route_layer(layer);
        let router = router.layer(Extension(queue));
        assert_eq!(call(&router, "POST", "/reports/7").await.status, StatusCode::ACCEPTED);
        assert_eq!(call(&router, "POST", "/reports/7").await.status, StatusCode::LOCKED);
        let guard = locks.resume(&tickets.recv().await.unwrap()).await.unwrap();
        assert_eq!(call(&router, "POST", "/reports/7").await.status, StatusCode::LOCKED);
        guard.release().await.unwrap();
        assert_eq!(call(&router, "POST", "/reports/7").await.status, StatusCode::ACCEPTED);
        let guard = locks.resume(&tickets.recv().await.unwrap()).await.unwrap();
        guard.release().await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn several_keys_are_not_parked_and_stay_locked() {
    async fn refused(lock: Locked) -> StatusCode {
        assert!(matches!(lock.park(SECOND).await, Err(ParkError::InvalidOptions(_))));
        assert!(lock.is_held());
        StatusCode::OK
    }
    let layer = RequestLockLayer::multi(locks(), ["a:{id}", "b:{id}"]).unwrap();
    let router = Router::new().route("/{id}", post(refused)).route_layer(layer);
    assert_eq!(call(&router, "POST", "/7").await.status, StatusCode::OK);
}
