//! One direction of a proxy and its faults.

use std::time::Duration;

use tokio::sync::watch;

/// Shared by all connections of a proxy.
#[derive(Debug, Default)]
pub(super) struct Way {
    faults: watch::Sender<Faults>,
}

#[derive(Debug, Default)]
struct Faults {
    closed: bool,
    delay: Duration,
    /// Bytes that still pass before a cut.
    budget: Option<u64>,
}

impl Way {
    pub(super) fn close(&self) {
        self.faults.send_modify(|faults| faults.closed = true);
    }

    pub(super) fn delay(&self, time: Duration) {
        self.faults.send_modify(|faults| faults.delay = time);
    }

    pub(super) fn cut_after(&self, bytes: u64) {
        self.faults.send_modify(|faults| faults.budget = Some(bytes));
    }

    pub(super) fn pass(&self) {
        self.faults.send_replace(Faults::default());
    }

    /// Returns when bytes may pass.
    pub(super) async fn opened(&self) {
        let mut faults = self.faults.subscribe();
        let opened = faults.wait_for(|faults| !faults.closed).await;
        opened.expect("BUG: the sender is borrowed");
    }

    /// Returns when the next piece may pass: after the delay, and open.
    pub(super) async fn admit(&self) {
        let delay = self.faults.borrow().delay;
        // Even a sleep of no time lasts until the timer's next tick.
        if !delay.is_zero() {
            tokio::time::sleep(delay).await;
        }
        self.opened().await;
    }

    /// How many of `wanted` bytes may pass; fewer than that means: cut afterwards.
    pub(super) fn grant(&self, wanted: usize) -> usize {
        let mut granted = wanted;
        self.faults.send_if_modified(|faults| {
            if let Some(budget) = faults.budget {
                granted = usize::try_from(budget).map_or(wanted, |budget| wanted.min(budget));
                let cut = granted < wanted;
                faults.budget = (!cut).then_some(budget - granted as u64);
            }
            false
        });
        granted
    }
}
