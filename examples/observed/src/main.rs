//! A service with metrics, logs and alerts for its locks.
//!
//! `cargo run -p observed` serves orders, imports, reports and reminders under the locks of
//! `locks.toml`, and their metrics at `/metrics`, for Prometheus. Beside this file are
//! `dashboard.json`, to import into Grafana, and `alerts.yml`, rules for Prometheus. Every wait and
//! every hold is a line of the log when it ends. The page for operators is at
//! <http://127.0.0.1:3001/>: live locks with their holders and waiters.
//!
//! `docker compose up` in this directory starts two replicas, Redis, Prometheus and Grafana.
//!
//! | variable | meaning | default |
//! |---|---|---|
//! | `HOST` | the address on which both ports below are; the page has no login | 127.0.0.1 |
//! | `PORT` | where it listens; `0` for any free port | 3000 |
//! | `ADMIN_PORT` | where the page for operators is; `0` for any free port | 3001 |
//! | `REDIS_URL` | where the locks are | `redis://127.0.0.1/` |
//! | `LOCKS_FILE` | the policy file, checked every second | the one beside this package |
//! | `LEASE` | the lease of the policy file | 10s |
//! | `OTEL_EXPORTER_OTLP_ENDPOINT` | a collector of OpenTelemetry that receives traces and metrics by OTLP over HTTP, such as `http://127.0.0.1:4318` | none |

mod otel;
mod recorder;
mod service;

use std::{env, net::IpAddr, time::Duration};

use lock_tower::{
    LockClient, admin,
    metrics::{ClientMetrics, MetricsObserver},
    policies::Policies,
    shutdown_signal,
};
use tokio::net::TcpListener;
use tracing_subscriber::{
    filter::LevelFilter, fmt::format::FmtSpan, layer::SubscriberExt, util::SubscriberInitExt,
};

use crate::otel::OpenTelemetry;

const LOCKS_FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/locks.toml");

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let otel = OpenTelemetry::start()?;
    let log = tracing_subscriber::fmt::layer().with_ansi(false).with_span_events(FmtSpan::CLOSE);
    // The spans of locks, and the events within them.
    let traces =
        otel.as_ref().map(|otel| tracing_opentelemetry::layer().with_tracer(otel.tracer()));
    tracing_subscriber::registry().with(LevelFilter::INFO).with(log).with(traces).init();
    // Before the policies are applied, because their counters begin at zero then.
    let recorder = recorder::install(otel.as_ref())?;

    let redis = variable("REDIS_URL", "redis://127.0.0.1/");
    let builder = LockClient::builder().client_name("observed", instance());
    let locks = builder.observer(MetricsObserver::new()).connect(&redis).await?;
    let policies = Policies::builder(locks.clone()).read(variable("LOCKS_FILE", LOCKS_FILE))?;
    policies.watch();
    let service = service::router(&policies)
        .merge(recorder::router(recorder, ClientMetrics::new(locks.clone())));

    let host: IpAddr = variable("HOST", "127.0.0.1").parse()?;
    // The page has no login. Nothing but this machine reaches it, and no other name that DNS leads here.
    let page =
        admin::router(locks.clone()).allow_release().allowed_hosts(["127.0.0.1", "localhost"]);
    let port = variable("ADMIN_PORT", "3001").parse()?;
    let listener = TcpListener::bind((host, port)).await?;
    println!("page for operators: http://{}/", listener.local_addr()?);
    tokio::spawn(axum::serve(listener, page.into_unprotected_router::<()>()).into_future());

    let port = variable("PORT", "3000").parse()?;
    let listener = TcpListener::bind((host, port)).await?;
    println!("serving on http://{}", listener.local_addr()?);
    axum::serve(listener, service).with_graceful_shutdown(shutdown_signal()).await?;
    // Every request has been answered by now, but the last releases may still be in progress.
    locks.shutdown(Duration::from_secs(5)).await?;
    if let Some(otel) = otel {
        tokio::task::spawn_blocking(move || otel.stop()).await?;
    }
    Ok(())
}

fn variable(name: &str, default: &str) -> String {
    env::var(name).unwrap_or_else(|_| default.to_owned())
}

/// The name of this process in `lockctl inspect`.
fn instance() -> String {
    format!("{}-{}", variable("HOSTNAME", "localhost"), std::process::id())
}
