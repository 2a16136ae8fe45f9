//! Traces and metrics for OpenTelemetry, sent to a collector by OTLP over HTTP where
//! `OTEL_EXPORTER_OTLP_ENDPOINT` names one.

use std::{borrow::Cow, env};

use metrics::{Counter, Gauge, Histogram, Key, KeyName, Metadata, Recorder, SharedString, Unit};
use metrics_exporter_otel::OpenTelemetryRecorder;
use opentelemetry::{metrics::MeterProvider, trace::TracerProvider};
use opentelemetry_otlp::{ExporterBuildError, MetricExporter, SpanExporter};
use opentelemetry_sdk::{
    Resource,
    metrics::SdkMeterProvider,
    trace::{SdkTracer, SdkTracerProvider},
};

/// Sends the metrics and spans of this process. [`stop`](Self::stop) sends the rest.
pub(crate) struct OpenTelemetry {
    traces: SdkTracerProvider,
    metrics: SdkMeterProvider,
}

impl OpenTelemetry {
    /// `None` without a collector. The exporters read the other variables of OpenTelemetry too, such as
    /// `OTEL_SERVICE_NAME` and `OTEL_METRIC_EXPORT_INTERVAL`.
    pub(crate) fn start() -> Result<Option<Self>, ExporterBuildError> {
        if env::var_os("OTEL_EXPORTER_OTLP_ENDPOINT").is_none() {
            return Ok(None);
        }
        let name = env::var("OTEL_SERVICE_NAME").unwrap_or_else(|_| "observed".to_owned());
        let resource = Resource::builder().with_service_name(name).build();
        let traces = SpanExporter::builder().with_http().build()?;
        let metrics = MetricExporter::builder().with_http().build()?;
        Ok(Some(Self {
            traces: SdkTracerProvider::builder()
                .with_batch_exporter(traces)
                .with_resource(resource.clone())
                .build(),
            metrics: SdkMeterProvider::builder()
                .with_periodic_exporter(metrics)
                .with_resource(resource)
                .build(),
        }))
    }

    /// For the layer that turns spans of `tracing` into traces.
    pub(crate) fn tracer(&self) -> SdkTracer {
        self.traces.tracer("lock_tower")
    }

    pub(crate) fn recorder(&self) -> impl Recorder + use<> {
        Renamed(OpenTelemetryRecorder::new(self.metrics.meter("lock_tower")))
    }

    /// Sends the rest. Blocks until the collector has answered.
    pub(crate) fn stop(&self) {
        // A collector that does not answer must not keep the process.
        let _ = self.traces.shutdown();
        let _ = self.metrics.shutdown();
    }
}

/// Names metrics as OpenTelemetry's conventions do: `lock.wait` with the unit `s`, which Prometheus
/// calls `lock_wait_seconds`.
struct Renamed<R>(R);

fn name(prometheus: &str) -> String {
    let name = prometheus.strip_suffix("_total").unwrap_or(prometheus);
    name.strip_suffix("_seconds").unwrap_or(name).replace('_', ".")
}

fn key(key: &Key) -> Key {
    Key::from_parts(name(key.name()), key.labels().cloned().collect::<Vec<_>>())
}

fn key_name(of: &KeyName) -> KeyName {
    KeyName::from(SharedString::from(Cow::<'static, str>::Owned(name(of.as_str()))))
}

impl<R: Recorder> Recorder for Renamed<R> {
    fn describe_counter(&self, of: KeyName, unit: Option<Unit>, text: SharedString) {
        self.0.describe_counter(key_name(&of), unit, text);
    }

    fn describe_gauge(&self, of: KeyName, unit: Option<Unit>, text: SharedString) {
        self.0.describe_gauge(key_name(&of), unit, text);
    }

    fn describe_histogram(&self, of: KeyName, unit: Option<Unit>, text: SharedString) {
        self.0.describe_histogram(key_name(&of), unit, text);
    }

    fn register_counter(&self, of: &Key, metadata: &Metadata<'_>) -> Counter {
        self.0.register_counter(&key(of), metadata)
    }

    fn register_gauge(&self, of: &Key, metadata: &Metadata<'_>) -> Gauge {
        self.0.register_gauge(&key(of), metadata)
    }

    fn register_histogram(&self, of: &Key, metadata: &Metadata<'_>) -> Histogram {
        self.0.register_histogram(&key(of), metadata)
    }
}
