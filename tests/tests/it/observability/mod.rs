//! What a service shows of its locks: the metrics that it emits, and the documentation, dashboard
//! and alerts that speak of them.

mod alerts;
mod dashboard;
mod documented;
mod everything;
mod false_alarms;
mod files;
mod nightly_job;
mod observed_service;
mod otlp;
mod promql;
mod scrape;
mod shadow_log;
mod soak;
