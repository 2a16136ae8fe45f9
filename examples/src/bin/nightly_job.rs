//! A job that every replica starts once a day, and that runs once.
//!
//! Each replica's clock is a little off, and the job may be done in a moment: its day stays marked until it
//! has ended, so a second start on the same day runs nothing. A run that fails is repeated by the next
//! replica. Without arguments three replicas run in this process. With
//! `REDIS_URL` it is one replica of them, whose clock is `LATE_MS` milliseconds behind; with `PORT` too
//! it stays and serves its metrics at `/metrics`, on 127.0.0.1:
//!
//! ```text
//! for late in 0 1000 2000; do
//!   REDIS_URL=redis://127.0.0.1/ LATE_MS=$late cargo run -p examples --bin nightly_job &
//! done
//! ```

use std::{env, net::Ipv4Addr, time::Duration};

use axum::{Router, routing::get};
use futures_util::future::try_join_all;
use lock_tower::{LockClient, LockError, MemoryStore, distributed_lock, shutdown_signal};
use metrics_exporter_prometheus::PrometheusBuilder;
use tokio::{net::TcpListener, time::sleep};

/// Of the day on this replica's clock: `None` if another one runs it, or has run it.
#[distributed_lock(
    key = "nightly-report",
    name = "nightly-report",
    client = locks,
    wait = "0s",
    once_per = "24h"
)]
async fn nightly_report(locks: &LockClient) -> Result<Option<String>, LockError> {
    Ok(Some("3 orders, 2 of them paid".to_owned()))
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    if let Ok(url) = env::var("REDIS_URL") {
        return one_replica(&url).await;
    }
    let store = MemoryStore::new();
    let replicas = [0, 1_000, 2_000].map(|late| {
        let locks = LockClient::builder().in_memory_on(&store);
        async move { replica(&locks, late).await }
    });
    try_join_all(replicas).await?;
    Ok(())
}

async fn one_replica(url: &str) -> anyhow::Result<()> {
    let recorder = PrometheusBuilder::new().install_recorder()?;
    let late = env::var("LATE_MS").map_or(Ok(0), |late| late.parse())?;
    let locks = LockClient::builder().connect(url).await?;
    replica(&locks, late).await?;
    if let Ok(port) = env::var("PORT") {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port.parse()?)).await?;
        println!("serving on http://{}", listener.local_addr()?);
        let metrics = get(async move || recorder.render());
        let service = Router::new().route("/metrics", metrics);
        axum::serve(listener, service).with_graceful_shutdown(shutdown_signal()).await?;
    }
    // A process that ends right after its job still leaves the day marked.
    Ok(())
}

async fn replica(locks: &LockClient, late_ms: u64) -> Result<(), LockError> {
    sleep(Duration::from_millis(late_ms)).await;
    match nightly_report(locks).await? {
        Some(report) => println!("replica {late_ms} ms late: ran: {report}"),
        None => println!("replica {late_ms} ms late: skipped, another one runs it or has run it"),
    }
    Ok(())
}
