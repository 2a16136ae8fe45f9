//! How long the holds of one lock last, to compute `Retry-After` for refused requests.

use std::{
    collections::HashMap,
    sync::{
        Arc, LazyLock, OnceLock,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use lock_core::{__private::RwLock, Mode};

use crate::telemetry::keys::MetricKeys;

/// A new hold moves the mean by 1/8 of its distance, so about eight holds determine the mean.
const WEIGHT: u64 = 8;

/// The hold times of one lock. Only writers can refuse a reader; readers and writers can refuse a
/// writer.
#[derive(Debug, Default)]
pub(crate) struct HoldTimes {
    reads: MeanTime,
    writes: MeanTime,
    /// The names of the same lock's metrics: made with its first request.
    pub(crate) metric_keys: OnceLock<MetricKeys>,
}

impl HoldTimes {
    pub(crate) fn observe(&self, mode: Mode, held: Duration) {
        match mode {
            Mode::Read => self.reads.observe(held),
            Mode::Write => self.writes.observe(held),
        }
    }

    /// Returns the mean duration of the holds that can refuse an acquisition in this mode.
    pub(crate) fn mean(&self, requested: Mode) -> Option<Duration> {
        match requested {
            Mode::Read => self.writes.mean(),
            Mode::Write => self.writes.mean().max(self.reads.mean()),
        }
    }
}

/// An exponentially weighted mean of hold times.
#[derive(Debug, Default)]
struct MeanTime {
    /// The mean in microseconds, at least one. Zero means that no hold was observed.
    mean: AtomicU64,
}

impl MeanTime {
    fn observe(&self, held: Duration) {
        let held = u64::try_from(held.as_micros()).unwrap_or(u64::MAX).max(1);
        // Two concurrent updates may lose one observation, which is acceptable for a mean.
        let mean = match self.mean.load(Ordering::Relaxed) {
            0 => held,
            mean => mean - mean / WEIGHT + held / WEIGHT,
        };
        self.mean.store(mean.max(1), Ordering::Relaxed);
    }

    fn mean(&self) -> Option<Duration> {
        match self.mean.load(Ordering::Relaxed) {
            0 => None,
            mean => Some(Duration::from_micros(mean)),
        }
    }
}

/// The hold times of each attribute, by name. There is one entry per attribute of the program.
static OF_ATTRIBUTES: LazyLock<RwLock<HashMap<&'static str, Arc<HoldTimes>>>> =
    LazyLock::new(RwLock::default);

/// Returns the hold times of the named attribute. Calls `first` when there are none yet.
pub(crate) fn of_attribute(name: &'static str, first: impl FnOnce()) -> Arc<HoldTimes> {
    let known = OF_ATTRIBUTES.read();
    if let Some(times) = known.get(name) {
        return Arc::clone(times);
    }
    drop(known);
    let mut known = OF_ATTRIBUTES.write();
    let times = known.entry(name).or_insert_with(|| {
        first();
        Arc::default()
    });
    Arc::clone(times)
}

/// Whether an attribute of that name has run.
#[cfg(feature = "policy")]
pub(crate) fn knows_attribute(name: &str) -> bool {
    OF_ATTRIBUTES.read().contains_key(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_follows_what_it_observes() {
        let times = MeanTime::default();
        assert_eq!(times.mean(), None);
        times.observe(Duration::from_millis(80));
        assert_eq!(times.mean(), Some(Duration::from_millis(80)));
        times.observe(Duration::from_millis(160));
        assert_eq!(times.mean(), Some(Duration::from_millis(90)));
        for _ in 0..100 {
            times.observe(Duration::from_secs(1));
        }
        let mean = times.mean().unwrap_or_default();
        assert!(mean > Duration::from_millis(990), "{mean:?}");
    }

    #[test]
    fn even_a_hold_of_no_time_is_an_observation() {
        let times = MeanTime::default();
        times.observe(Duration::ZERO);
        assert!(times.mean().is_some());
        times.observe(Duration::MAX);
        times.observe(Duration::MAX);
        assert!(times.mean() > Some(Duration::from_secs(1)));
    }
}
