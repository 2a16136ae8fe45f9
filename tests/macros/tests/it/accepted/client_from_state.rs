//! The client out of the router's state.
#![deny(warnings)]

use axum::Router;
use axum::extract::{FromRef, Path, State};
use axum::routing::get;
use lock_tower::{LockClient, distributed_lock};

#[derive(Clone)]
struct App {
    locks: LockClient,
}

impl FromRef<App> for LockClient {
    fn from_ref(app: &App) -> Self {
        app.locks.clone()
    }
}

#[distributed_lock(key = "order:{id}", client = state)]
async fn with_arguments(State(_app): State<App>, Path(id): Path<u64>) -> String {
    id.to_string()
}

#[distributed_lock(key = "reports", client = state)]
async fn without_arguments() {}

#[test]
fn all_compile() {
    let _: Router<App> = Router::new()
        .route("/order/{id}", get(with_arguments))
        .route("/reports", get(without_arguments));
}
