//! One direction of a proxy and its faults.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::sync::watch;

use super::spelling::Spelling;

/// Shared by all connections of a proxy.
#[derive(Debug, Default)]
pub(super) struct Way {
    faults: watch::Sender<Faults>,
    /// How often this direction was ended for all connections.
    half_closed: watch::Sender<u64>,
    digit: Option<u8>,
    passed: AtomicU64,
}

/// Shows when the direction of one connection was ended.
pub(super) struct HalfClosed {
    count: watch::Receiver<u64>,
}

impl HalfClosed {
    pub(super) async fn wait(&mut self) {
        let changed = self.count.changed().await;
        changed.expect("BUG: the sender is borrowed");
    }
}

#[derive(Debug, Default)]
struct Faults {
    closed: bool,
    /// Closed to the connections with a smaller number.
    closed_before: u64,
    delay: Duration,
    /// Bytes that still pass before a cut.
    budget: Option<u64>,
    most_at_once: Option<usize>,
}

impl Way {
    /// A direction on which 127.0.0.1 reads `127.0.<digit>.1`.
    pub(super) fn spelling(digit: u8) -> Self {
        Self { digit: Some(digit), ..Self::default() }
    }

    /// For the bytes of one connection.
    pub(super) fn spelled(&self) -> Spelling {
        Spelling::new(self.digit)
    }

    /// The bytes that have passed, over all connections.
    pub(super) fn passed(&self) -> u64 {
        self.passed.load(Ordering::SeqCst)
    }

    pub(super) fn slice(&self, bytes: usize) {
        self.faults.send_modify(|faults| faults.most_at_once = Some(bytes.max(1)));
    }

    pub(super) fn most_at_once(&self) -> Option<usize> {
        self.faults.borrow().most_at_once
    }

    pub(super) fn half_close(&self) {
        self.half_closed.send_modify(|count| *count += 1);
    }

    /// For one connection, from now on.
    pub(super) fn half_closed(&self) -> HalfClosed {
        HalfClosed { count: self.half_closed.subscribe() }
    }

    pub(super) fn close(&self) {
        self.faults.send_modify(|faults| faults.closed = true);
    }

    /// Closes it to the connections whose number is smaller.
    pub(super) fn close_before(&self, number: u64) {
        self.faults.send_modify(|faults| faults.closed_before = number);
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

    /// Returns when bytes of the connection with this number may pass.
    pub(super) async fn opened(&self, number: u64) {
        let mut faults = self.faults.subscribe();
        let opened =
            faults.wait_for(|faults| !faults.closed && number >= faults.closed_before).await;
        opened.expect("BUG: the sender is borrowed");
    }

    /// Returns when the next piece may pass: after the delay, and open.
    pub(super) async fn admit(&self, number: u64) {
        let delay = self.faults.borrow().delay;
        // Even a sleep of zero lasts until the timer's next tick.
        if !delay.is_zero() {
            tokio::time::sleep(delay).await;
        }
        self.opened(number).await;
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
        self.passed.fetch_add(granted as u64, Ordering::SeqCst);
        granted
    }
}
