//! The values of a dropped handler are dropped under its lock.

use crate::common::call;
use axum::{Extension, Router, routing::put};
use lock_tower::{LockClient, Locked, RequestLockLayer, RequestScopeLayer, distributed_lock};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

/// Reports its creation, and whether the lock is held when it is dropped.
struct Left(Locked, UnboundedSender<bool>);

impl Drop for Left {
    fn drop(&mut self) {
        let _ = self.1.send(self.0.is_held());
    }
}

async fn work(lock: Locked, Extension(tell): Extension<UnboundedSender<bool>>) {
    let left = Left(lock, tell);
    left.1.send(left.0.is_held()).unwrap();
    std::future::pending::<()>().await;
}

#[distributed_lock(key = "attribute")]
async fn attribute(lock: Locked, tell: Extension<UnboundedSender<bool>>) {
    work(lock, tell).await;
}

#[tokio::test]
async fn a_client_that_hangs_up_ends_the_handler_before_its_lock() {
    let locks = LockClient::in_memory();
    let layer = RequestLockLayer::new(locks.clone(), "layer").unwrap();
    for app in [
        Router::new().route("/", put(work)).route_layer(layer),
        Router::new().route("/", put(attribute)).route_layer(RequestScopeLayer::new(locks)),
    ] {
        let (tell, mut reported) = unbounded_channel();
        let app = app.layer(Extension(tell));
        let request = tokio::spawn(async move { call(&app, "PUT", "/").await });
        assert_eq!(reported.recv().await, Some(true));
        request.abort();
        assert_eq!(reported.recv().await, Some(true));
    }
}
