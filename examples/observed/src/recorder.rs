//! The metrics, in the format of Prometheus, and for OpenTelemetry.

use std::{sync::Arc, time::Duration};

use axum::{Router, http::header::CONTENT_TYPE, routing::get};
use lock_tower::metrics::ClientMetrics;
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};
use metrics_util::layers::FanoutBuilder;

use crate::otel::OpenTelemetry;

/// Up to the longest wait that a policy has, with the round trip to Redis in sight.
const WAIT: [f64; 12] = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0];
/// Up to the longest `max_hold`: locks are held for as long as requests take.
const HOLD: [f64; 12] = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0, 60.0, 600.0];
/// Fine near zero, where it matters. An undisturbed hold has 0.62 of its lease left.
const MARGIN: [f64; 11] = [0.01, 0.05, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 6.0, 10.0, 20.0];

/// From a fast network in one rack to a store that is nearly out of reach.
const ROUND_TRIP: [f64; 9] = [0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.05, 0.1, 0.5];

/// Starts to record the metrics of this process.
pub(crate) fn install(otel: Option<&OpenTelemetry>) -> anyhow::Result<PrometheusHandle> {
    let named = |name: &str| Matcher::Full(name.to_owned());
    let prometheus = PrometheusBuilder::new()
        .set_buckets_for_metric(named("lock_wait_seconds"), &WAIT)?
        .set_buckets_for_metric(named("lock_hold_seconds"), &HOLD)?
        .set_buckets_for_metric(named("lock_renewal_margin_seconds"), &MARGIN)?
        .set_buckets_for_metric(named("lock_store_command_seconds"), &ROUND_TRIP)?
        .build_recorder();
    let handle = prometheus.handle();
    let both = FanoutBuilder::default().add_recorder(prometheus);
    let both = match otel {
        Some(otel) => both.add_recorder(otel.recorder()),
        None => both,
    };
    metrics::set_global_recorder(both.build()).map_err(|why| anyhow::anyhow!("{why}"))?;
    lock_tower::metrics::describe();
    Ok(handle)
}

/// Serves `/metrics`, outside every lock.
pub(crate) fn router(recorder: PrometheusHandle, client: ClientMetrics) -> Router {
    let (upkeep, client) = (recorder.clone(), Arc::new(client));
    let recorded = Arc::clone(&client);
    tokio::spawn(async move {
        // The recorder keeps every measurement until it is summed up, which otherwise happens only
        // when the metrics are scraped.
        loop {
            tokio::time::sleep(Duration::from_secs(5)).await;
            recorded.record();
            upkeep.run_upkeep();
        }
    });
    let text = [(CONTENT_TYPE, "text/plain; version=0.0.4")];
    let scrape = async move || {
        client.record();
        (text, recorder.render())
    };
    Router::new().route("/metrics", get(scrape))
}
