//! The metrics of a client and its store, which belong to no policy.

use std::{collections::BTreeMap, fmt, sync::Mutex};

use ::metrics::{counter, gauge, histogram};
use lock_core::{ClientStatistics, LockClient, RoundTrips};

use super::{metrics, observer::UNNAMED};

/// Records what a client does as [metrics](super::metrics): its commands to the store and how long they
/// take, its batches, the breaker, its queues, and what it grants without a command.
///
/// Call [`record`](Self::record) before each scrape, or every few seconds. Create it after the recorder
/// is installed. Several clients of one process are added up.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// use lock_tower::{LockClient, metrics::ClientMetrics};
///
/// let locks = LockClient::in_memory();
/// let metrics = ClientMetrics::new(locks.clone());
/// metrics.record();
/// # }
/// ```
pub struct ClientMetrics {
    client: LockClient,
    /// The last recorded figures. The next record adds the difference.
    last: Mutex<Option<ClientStatistics>>,
}

impl ClientMetrics {
    /// Returns the metrics of this client, and records them for the first time.
    #[must_use]
    pub fn new(client: LockClient) -> Self {
        let metrics = Self { client, last: Mutex::default() };
        metrics.record();
        metrics
    }

    /// Records what has changed since the last time. Nothing is sent to the store.
    pub fn record(&self) {
        let mut last = self.last.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        // Read under the mutex: of two records at once the later one must not go back.
        let now = self.client.statistics();
        let before = last.as_ref();
        for (operation, of) in OPERATIONS {
            let (now, before) = (of(&now), before.map(of).unwrap_or_default());
            let count = now.count - before.count;
            if count > 0 {
                // Of all commands since the last record only the sum of their times is known.
                let mean = (now.time - before.time).as_secs_f64() / count as f64;
                let count = usize::try_from(count).unwrap_or(usize::MAX);
                histogram!(metrics::ROUND_TRIP, "operation" => operation).record_many(mean, count);
            }
        }
        let count = |name, of: fn(&ClientStatistics) -> u64| {
            counter!(name).increment(of(&now) - before.map_or(0, of));
        };
        count(metrics::RENEWED, |of| of.renewed);
        count(metrics::SHARED_READS, |of| of.shared_reads);
        count(metrics::DEADLOCKS, |of| of.deadlocks);
        count(metrics::BREAKER_OPENED, |of| of.breaker_opened);
        let level = |name, of: fn(&ClientStatistics) -> usize| {
            gauge!(name).increment(of(&now) as f64 - before.map_or(0, of) as f64);
        };
        level(metrics::BREAKER_OPEN, |of| usize::from(of.breaker_open));
        level(metrics::QUEUED, |of| of.waiting);
        level(metrics::LONGEST_QUEUE, |of| of.longest_queue);
        level(metrics::HOLDS, |of| of.holds);
        // By name: zero for a candidate.
        let mut leaders = BTreeMap::<_, f64>::new();
        for (statistics, each) in [(Some(&now), 1.0), (before, -1.0)] {
            for leader in statistics.into_iter().flat_map(|of| &of.leaders) {
                let change = if leader.term.is_some() { each } else { 0.0 };
                *leaders.entry(leader.name.as_deref().unwrap_or(UNNAMED)).or_default() += change;
            }
        }
        for (name, change) in leaders {
            gauge!(metrics::LEADER, "policy" => name.to_owned()).increment(change);
        }
        *last = Some(now);
    }
}

type OfOperation = fn(&ClientStatistics) -> RoundTrips;

const OPERATIONS: [(&str, OfOperation); 3] =
    [("acquire", |of| of.acquire), ("release", |of| of.release), ("renew", |of| of.renew)];

impl fmt::Debug for ClientMetrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientMetrics").field("client", &self.client).finish_non_exhaustive()
    }
}
