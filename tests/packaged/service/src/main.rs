//! One order, locked in the three ways: by a layer, by an attribute, by a policy file.
//!
//! A request holds its lock until `POST /finish`. Its locks are at `LOCK_URL`, or in memory.

use std::{env, sync::Arc, time::Duration};

use axum::{
    Router,
    extract::{Path, State},
    routing::{post, put},
};
use lock_tower::{
    LockClient, RequestLockLayer, RequestScopeLayer, distributed_lock, policies::Policies,
    settings::OnBusy, shutdown_signal,
};
use tokio::{net::TcpListener, sync::Notify};

const POLICIES: &str = r#"
version = 1

[[policy]]
name = "order"
match = { path = "/policy/{id}" }
key = "order:{id:u64}"
on_busy = "fail"
"#;

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let locks = match env::var("LOCK_URL") {
        Ok(url) => LockClient::connect(&url).await?,
        Err(_) => LockClient::in_memory(),
    };
    let layer = RequestLockLayer::new(locks.clone(), "order:{id:u64}")?.on_busy(OnBusy::Fail);
    let policies = Policies::builder(locks.clone()).parse("locks.toml", POLICIES)?;

    let app = Router::new()
        .route("/layer/{id}", put(update).route_layer(layer))
        .route("/attribute/{id}", put(update_locked).layer(RequestScopeLayer::new(locks.clone())))
        .route("/policy/{id}", put(update).route_layer(policies.layer()))
        .route("/finish", post(finish))
        .with_state(Arc::new(Notify::new()));

    let listener = TcpListener::bind("127.0.0.1:0").await?;
    println!("listening on {}", listener.local_addr()?);
    axum::serve(listener, app).with_graceful_shutdown(shutdown_signal()).await?;
    locks.shutdown(Duration::from_secs(5)).await?;
    println!("stopped");
    Ok(())
}

async fn update(Path(id): Path<u64>, State(finished): State<Arc<Notify>>) -> String {
    println!("holding {id}");
    finished.notified().await;
    format!("order {id}\n")
}

#[distributed_lock(key = "order:{id}", on_busy = "fail")]
async fn update_locked(Path(id): Path<u64>, state: State<Arc<Notify>>) -> String {
    update(Path(id), state).await
}

async fn finish(State(finished): State<Arc<Notify>>) {
    finished.notify_one();
}
