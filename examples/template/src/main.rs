//! {{project-name}}: an Axum service whose requests have the locks of `locks.toml`.

#[cfg(test)]
mod tests;

use std::{env, time::Duration};

use anyhow::Context;
use axum::{Router, extract::Path, routing::get};
use lock_tower::{LockClient, Locked, policies::Policies, shutdown_signal};
use tokio::net::TcpListener;

const POLICIES: &str = "locks.toml";

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    tracing_subscriber::fmt::init();
    let url = env::var("LOCK_URL").context("LOCK_URL is not set: the Redis of all replicas")?;
    let locks = LockClient::connect(&url).await?;
    let policies = Policies::builder(locks.clone()).read(POLICIES)?;
    policies.watch(); // a changed file comes into force while the service runs

    let address = env::var("ADDRESS").unwrap_or_else(|_| "127.0.0.1:3000".to_owned());
    let listener = TcpListener::bind(&address).await?;
    println!("listening on http://{}", listener.local_addr()?);
    axum::serve(listener, app(&policies)).with_graceful_shutdown(shutdown_signal()).await?;
    locks.shutdown(Duration::from_secs(5)).await?; // sends the releases that are still queued
    Ok(())
}

fn app(policies: &Policies) -> Router {
    Router::new()
        .route("/orders/{id}", get(show).put(update))
        .route_layer(policies.layer())
        .route("/health", get(|| async { "ok\n" }))
}

async fn show(Path(id): Path<u64>) -> String {
    format!("order {id}\n")
}

async fn update(Path(id): Path<u64>, lock: Locked) -> String {
    format!("order {id}, changed under token {}\n", lock.fencing_token())
}
