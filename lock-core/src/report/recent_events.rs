//! Refusals and losses of the last minutes, for operators.

use std::time::Duration;

use lock_store::runtime::Mutex;
use tokio::time::Instant;

use crate::types::RecentEvents;

const PERIOD: Duration = Duration::from_secs(15);
/// A quarter of an hour.
const PERIODS: u32 = 60;

/// Counts events by the period in which they happen.
#[derive(Debug)]
pub(crate) struct EventLog {
    since: Instant,
    /// By the number of the period, modulo their number.
    counts: Mutex<Vec<Count>>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Count {
    /// Which period it counts: it is reused a quarter of an hour later.
    period: u64,
    refused: u32,
    lost: u32,
}

impl Default for EventLog {
    fn default() -> Self {
        // Empty until something is refused or lost, as in most processes most of the time.
        Self { since: Instant::now(), counts: Mutex::default() }
    }
}

impl EventLog {
    pub(crate) fn refused(&self) {
        self.count(|count| &mut count.refused);
    }

    pub(crate) fn lost(&self) {
        self.count(|count| &mut count.lost);
    }

    pub(crate) fn recent(&self) -> RecentEvents {
        let now = self.period();
        let counts = self.counts.lock();
        let ago = |periods: u32| {
            let period = now.checked_sub(periods.into())?;
            counts.get(slot(period)).filter(|count| count.period == period).copied()
        };
        let periods = || (0..PERIODS).rev().map(|periods| ago(periods).unwrap_or_default());
        RecentEvents {
            period: PERIOD,
            refused: periods().map(|count| count.refused).collect(),
            lost: periods().map(|count| count.lost).collect(),
        }
    }

    fn count(&self, field: impl FnOnce(&mut Count) -> &mut u32) {
        let period = self.period();
        let mut counts = self.counts.lock();
        if counts.is_empty() {
            counts.resize(PERIODS as usize, Count::default());
        }
        let count = &mut counts[slot(period)];
        if count.period != period {
            *count = Count { period, ..Count::default() };
        }
        let field = field(count);
        *field = field.saturating_add(1);
    }

    fn period(&self) -> u64 {
        self.since.elapsed().as_secs() / PERIOD.as_secs()
    }
}

fn slot(period: u64) -> usize {
    usize::try_from(period % u64::from(PERIODS)).expect("BUG: less than sixty")
}

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn events_are_counted_by_period_for_a_quarter_of_an_hour() {
        let log = EventLog::default();
        assert_eq!((log.recent().refused, log.recent().lost), (vec![0; 60], vec![0; 60]));
        log.refused();
        log.refused();
        advance(PERIOD).await;
        log.lost();
        let recent = log.recent();
        assert_eq!((&recent.refused[58..], &recent.lost[58..]), (&[2, 0][..], &[0, 1][..]));
        advance(PERIOD * (PERIODS - 2)).await;
        let recent = log.recent();
        assert_eq!((recent.refused.len(), recent.refused[0], recent.lost[1]), (60, 2, 1));
        advance(PERIOD).await;
        let recent = log.recent();
        assert_eq!((recent.refused.len(), recent.refused[0], recent.lost[0]), (60, 0, 1));
        // In a place that has been used a quarter of an hour before.
        log.refused();
        assert_eq!(log.recent().refused[59], 1);
    }
}
