//! Counts what a client does: relaxed counters, which cost the path of a lock next to nothing.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

use tokio::time::Instant;

use super::{ClientInner, hot_keys::HotKeys, request::LockRequest};
use crate::types::{ClientStatistics, HotKey, RoundTrips};

/// A counter that never falls.
#[derive(Debug, Default)]
pub(crate) struct Counter(AtomicU64);

impl Counter {
    pub(crate) fn add(&self, count: usize) {
        self.0.fetch_add(count as u64, Relaxed);
    }

    fn get(&self) -> u64 {
        self.0.load(Relaxed)
    }
}

/// The round trips of one kind of command.
#[derive(Debug, Default)]
pub(crate) struct RoundTripCounter {
    count: Counter,
    nanoseconds: AtomicU64,
}

impl RoundTripCounter {
    /// Counts a command that was sent at `sent` and had its outcome at `ended`.
    pub(crate) fn add(&self, sent: Instant, ended: Instant) {
        self.count.add(1);
        let took = ended.saturating_duration_since(sent);
        let took = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        self.nanoseconds.fetch_add(took, Relaxed);
    }

    fn get(&self) -> RoundTrips {
        let time = Duration::from_nanos(self.nanoseconds.load(Relaxed));
        RoundTrips { count: self.count.get(), time }
    }
}

#[derive(Debug, Default)]
pub(crate) struct Statistics {
    pub(crate) acquire: RoundTripCounter,
    pub(crate) release: RoundTripCounter,
    pub(crate) renew: RoundTripCounter,
    pub(crate) renewed: Counter,
    pub(crate) shared_reads: Counter,
    pub(crate) deadlocks: Counter,
    pub(super) local_handoffs: Counter,
    pub(super) breaker_opened: Counter,
    pub(super) hot_keys: Arc<HotKeys>,
}

impl ClientInner {
    /// Counts an acquisition that found the lock taken, whether it was granted in the end or not.
    pub(super) fn count_contended(&self, request: &LockRequest, since: Instant) {
        self.statistics.hot_keys.count(&request.key, since.elapsed());
        self.record_hot_keys(request.kind, &request.key);
    }

    pub(crate) fn hot_keys(&self, limit: usize) -> Vec<HotKey> {
        self.statistics.hot_keys.top(limit)
    }

    pub(crate) fn statistics(&self) -> ClientStatistics {
        let counts = &self.statistics;
        ClientStatistics {
            acquire: counts.acquire.get(),
            release: counts.release.get(),
            renew: counts.renew.get(),
            renewed: counts.renewed.get(),
            shared_reads: counts.shared_reads.get(),
            local_handoffs: counts.local_handoffs.get(),
            deadlocks: counts.deadlocks.get(),
            breaker_opened: counts.breaker_opened.get(),
            breaker_open: self.breaker.is_open(),
            waiting: self.gate.waiting(),
            longest_queue: self.gate.longest_queue(),
            holds: self.holds.load(Relaxed),
        }
    }
}
