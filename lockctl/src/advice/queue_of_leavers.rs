//! The waits of a scrape, read as those of a queue whose customers leave after a fixed wait.
//!
//! A wait is known only up to the present one, at which requests leave. Of shorter ones the share
//! of refusals is that of a queue with one server and random arrivals (M/G/1+D): with the load `r`
//! and the share `q` of those that would wait longer if none left, `(1 - r) q / (1 - r q)` are
//! refused. Both are read from the histogram. Where the load of the keys differs much, fewer are
//! refused at a short wait.

use std::time::Duration;

use lockctl::observed::histogram::Histogram;

use super::figures::Figures;

/// A queue whose customers leave after a fixed wait.
#[derive(Debug)]
pub(crate) struct QueueOfLeavers {
    waits: Histogram,
    wait: f64,
    /// The share that was refused.
    pub(crate) refused: f64,
    load: f64,
    /// The share that would wait longer than the present wait if none left.
    longer: f64,
}

impl QueueOfLeavers {
    pub(crate) fn new(waits: Histogram, wait: f64, refused: f64) -> Self {
        // Those in the first bucket were granted at once.
        let first = waits.finite_bounds().next().unwrap_or(0.0);
        let waited = (1.0 - waits.share_up_to(first)).clamp(0.0, 0.999);
        let (mut load, mut longer) = (waited, refused);
        // 1 - waited = (1 - load) / (1 - load longer), and refused as above: it settles quickly.
        for _ in 0..100 {
            longer = (refused / (1.0 - load + load * refused)).clamp(0.0, 1.0);
            load = (1.0 - (1.0 - waited) * (1.0 - load * longer)).clamp(0.0, 0.999);
        }
        Self { waits, wait, refused, load, longer }
    }

    /// The bounds of the histogram below the present wait.
    pub(crate) fn shorter_waits(&self) -> impl Iterator<Item = Duration> {
        let bounds = self.waits.finite_bounds().filter(|bound| *bound > 0.0 && *bound < self.wait);
        let whole = |bound: f64| Duration::from_millis((bound * 1_000.0).round() as u64);
        bounds.skip(1).map(whole).filter(|wait| !wait.is_zero())
    }

    pub(crate) fn refused_at(&self, wait: f64) -> f64 {
        let granted = self.waits.share_up_to(wait);
        let longer = (1.0 - granted * (1.0 - self.load * self.longer)).clamp(0.0, 1.0);
        (1.0 - self.load) * longer / (1.0 - self.load * longer)
    }

    pub(crate) fn figures(
        &self,
        requests: u64,
        wait: f64,
        refused: f64,
        rate: Option<f64>,
    ) -> Figures {
        Figures {
            requests,
            refused,
            wait_mean: self.waits.mean_up_to(wait),
            wait_p95: self.waits.quantile_up_to(wait, 0.95),
            commands_per_second: rate,
        }
    }
}
