//! The metrics, in the format of Prometheus.

use std::time::Duration;

use axum::{Router, http::header::CONTENT_TYPE, routing::get};
use metrics_exporter_prometheus::{BuildError, Matcher, PrometheusBuilder, PrometheusHandle};

/// Up to the longest wait that a policy has, with the round trip to Redis in sight.
const WAIT: [f64; 12] = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0];
/// Up to the longest `max_hold`: locks are held for as long as requests take.
const HOLD: [f64; 12] = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0, 60.0, 600.0];
/// Fine near zero, where it matters. An undisturbed hold has 0.62 of its lease left.
const MARGIN: [f64; 11] = [0.01, 0.05, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 6.0, 10.0, 20.0];

/// Starts to record the metrics of this process.
pub(crate) fn install() -> Result<PrometheusHandle, BuildError> {
    let named = |name: &str| Matcher::Full(name.to_owned());
    let recorder = PrometheusBuilder::new()
        .set_buckets_for_metric(named("lock_wait_seconds"), &WAIT)?
        .set_buckets_for_metric(named("lock_hold_seconds"), &HOLD)?
        .set_buckets_for_metric(named("lock_renewal_margin_seconds"), &MARGIN)?
        .install_recorder()?;
    lock_tower::metrics::describe();
    Ok(recorder)
}

/// Serves `/metrics`, outside every lock.
pub(crate) fn router(recorder: PrometheusHandle) -> Router {
    let upkeep = recorder.clone();
    tokio::spawn(async move {
        // The recorder keeps every measurement until it is summed up, which otherwise happens only
        // when the metrics are scraped.
        loop {
            tokio::time::sleep(Duration::from_secs(5)).await;
            upkeep.run_upkeep();
        }
    });
    let text = [(CONTENT_TYPE, "text/plain; version=0.0.4")];
    Router::new().route("/metrics", get(async move || (text, recorder.render())))
}
