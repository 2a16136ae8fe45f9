//! How long the holds of one lock last, to compute `Retry-After` for refused requests.

use std::{
    collections::HashMap,
    num::NonZeroU32,
    sync::{
        Arc, LazyLock, OnceLock,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    time::Duration,
};

use lock_core::{__private::RwLock, Mode};
use tokio::time::Instant;

use crate::telemetry::keys::MetricKeys;

/// A new hold moves the mean by 1/8 of its distance, so about eight holds determine the mean.
const WEIGHT: u64 = 8;

/// The hold times of one lock. Only writers can refuse a reader; readers and writers can refuse a
/// writer.
#[derive(Debug, Default)]
pub(crate) struct HoldTimes {
    reads: MeanTime,
    writes: MeanTime,
    last_writes: LastHolds,
    /// The names of the same lock's metrics: made with its first request.
    pub(crate) metric_keys: OnceLock<MetricKeys>,
}

impl HoldTimes {
    pub(crate) fn observe(&self, mode: Mode, held: Duration) {
        match mode {
            Mode::Read => self.reads.observe(held),
            Mode::Write => {
                self.writes.observe(held);
                self.last_writes.observe(held, self.last_writes.now());
            }
        }
    }

    /// Returns the mean duration of the holds that can refuse an acquisition in this mode.
    pub(crate) fn mean(&self, requested: Mode) -> Option<Duration> {
        match requested {
            Mode::Read => self.writes.mean(),
            Mode::Write => self.writes.mean().max(self.reads.mean()),
        }
    }

    /// Returns the shortest of the last holds that wrote, in milliseconds; `None` until enough are known.
    pub(crate) fn shortest_write(&self) -> Option<NonZeroU32> {
        self.last_writes.shortest(self.last_writes.now())
    }
}

/// The last holds, each with the time of its end.
///
/// If the next holds are of the same sort as these, it is improbable that more than half of `n` of them are
/// shorter than all of these: for `n` of two or more at most 1 in 198 (three: 3/35 · 2/34). So `n` holds
/// almost surely take longer than `n` halves of the shortest.
#[derive(Debug)]
struct LastHolds {
    start: Instant,
    next: AtomicUsize,
    /// The seconds since the start, and the milliseconds of the hold. Zero: none.
    holds: [AtomicU64; LAST],
}

/// How many holds are kept, and have to be known.
const LAST: usize = 32;
/// For how many seconds a hold says something about others.
const RECENT: u32 = 600;

impl Default for LastHolds {
    fn default() -> Self {
        Self { start: Instant::now(), next: AtomicUsize::default(), holds: Default::default() }
    }
}

impl LastHolds {
    /// Returns the seconds since the start.
    fn now(&self) -> u32 {
        u32::try_from(self.start.elapsed().as_secs()).unwrap_or(u32::MAX)
    }

    fn observe(&self, held: Duration, now: u32) {
        let held = u32::try_from(held.as_millis()).unwrap_or(u32::MAX);
        let at = self.next.fetch_add(1, Ordering::Relaxed) % LAST;
        self.holds[at].store((u64::from(now) << 32) | u64::from(held), Ordering::Relaxed);
    }

    fn shortest(&self, now: u32) -> Option<NonZeroU32> {
        let holds = self.holds.iter().map(|hold| hold.load(Ordering::Relaxed));
        let recent = holds.map(|hold| {
            let ended = (hold >> 32) as u32;
            // The lower half. One that is none has no time.
            (now.saturating_sub(ended) <= RECENT).then_some(hold as u32)
        });
        recent.min().flatten().and_then(NonZeroU32::new)
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
    fn the_shortest_of_the_last_holds_is_known_once_there_are_enough() {
        let holds = LastHolds::default();
        let ms = |ms| Duration::from_millis(ms);
        for nth in 0..31 {
            holds.observe(ms(1_000 + nth), 7);
            assert_eq!(holds.shortest(7), None);
        }
        holds.observe(ms(2_000), 7);
        assert_eq!(holds.shortest(7), NonZeroU32::new(1_000));
        holds.observe(ms(3_000), 7);
        assert_eq!(holds.shortest(7), NonZeroU32::new(1_001), "the oldest is forgotten");
        holds.observe(ms(5), 8);
        assert_eq!(holds.shortest(8), NonZeroU32::new(5), "one short hold is enough");
        assert_eq!(holds.shortest(607), NonZeroU32::new(5));
        assert_eq!(holds.shortest(608), None, "the others are too old");
        holds.observe(ms(0), 8);
        assert_eq!(holds.shortest(8), None, "holds of no time make no wait vain");
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
