//! Counts a client's commands and events: relaxed counters, which cost the path of a lock next to
//! nothing.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

use tokio::time::Instant;

use super::{hot_keys::HotKeys, leaders::Leaders};
use crate::types::RoundTrips;

/// A counter that never falls.
#[derive(Debug, Default)]
pub(crate) struct Counter(AtomicU64);

impl Counter {
    pub(crate) fn add(&self, count: usize) {
        self.0.fetch_add(count as u64, Relaxed);
    }

    pub(crate) fn get(&self) -> u64 {
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

    pub(crate) fn get(&self) -> RoundTrips {
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
    pub(crate) local_handoffs: Counter,
    pub(crate) breaker_opened: Counter,
    pub(crate) hot_keys: Arc<HotKeys>,
    pub(crate) leaders: Leaders,
}
