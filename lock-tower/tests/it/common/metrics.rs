//! Records the metrics of a test.

use metrics_util::{
    MetricKind,
    debugging::{DebugValue, DebuggingRecorder, Snapshotter},
};

/// Collects the metrics of the current thread, from [`collect`](Self::collect) until it is dropped:
/// for tests on one thread.
pub struct Metrics {
    snapshotter: Snapshotter,
    seen: std::cell::RefCell<Vec<Metric>>,
    _on: metrics::LocalRecorderGuard<'static>,
}

/// One series, such as `lock_lost_total{policy="order",cause="expired"}`.
#[derive(Debug, Clone)]
pub struct Metric {
    pub kind: MetricKind,
    pub series: String,
    /// The sum of a counter or of a gauge's ups and downs, the number of a histogram's records.
    pub value: f64,
}

impl Metrics {
    pub fn collect() -> Self {
        // A few per test process, and each must outlive whatever still counts into it.
        let recorder: &'static DebuggingRecorder = Box::leak(Box::default());
        let on = metrics::set_default_local_recorder(recorder);
        Self { snapshotter: recorder.snapshotter(), seen: Default::default(), _on: on }
    }

    pub fn all(&self) -> Vec<Metric> {
        let mut seen = self.seen.borrow_mut();
        for (key, _, _, value) in self.snapshotter.snapshot().into_vec() {
            let labels = key.key().labels();
            let labels: Vec<_> =
                labels.map(|label| format!("{}={:?}", label.key(), label.value())).collect();
            let series = format!("{}{{{}}}", key.key().name(), labels.join(","));
            let value = match value {
                DebugValue::Counter(count) => count as f64,
                DebugValue::Gauge(gauge) => gauge.0,
                DebugValue::Histogram(records) => records.len() as f64,
            };
            // A snapshot takes everything with it.
            match seen.iter_mut().find(|metric| metric.series == series) {
                Some(metric) => metric.value += value,
                None => seen.push(Metric { kind: key.kind(), series, value }),
            }
        }
        seen.clone()
    }

    /// Returns a series' value; zero if it was never touched.
    pub fn value(&self, series: &str) -> f64 {
        let found = self.all().into_iter().find(|metric| metric.series == series);
        found.map_or(0.0, |metric| metric.value)
    }
}
