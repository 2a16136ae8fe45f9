//! The faults of links, by a seed.

use std::{
    sync::{
        Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use lock_conformance::{CommandKind, Delivery, FaultPlan};
use tokio::time::Instant;

use super::{plan::COMMAND_TIMEOUT, seeded::Seeded};

/// The longest round trip on a good link.
pub(super) const ROUND_TRIP: Duration = Duration::from_millis(20);
/// How long a step may take effect after the client has given it up.
pub(super) const LATEST: Duration = Duration::from_millis(1_500);

/// One process' link.
pub(super) struct Link {
    drawn: Mutex<Seeded>,
    bad: AtomicBool,
    /// When nothing gets through, from and to.
    cut: Vec<(Instant, Instant)>,
    apart: bool,
}

impl Link {
    pub(super) fn good(mut drawn: Seeded) -> Self {
        let apart = drawn.percent(30);
        Self { drawn: Mutex::new(drawn), bad: AtomicBool::new(false), cut: Vec::new(), apart }
    }

    pub(super) fn bad(mut drawn: Seeded) -> Self {
        let begin = Instant::now();
        let cut = (0..drawn.below(3)).map(|_| {
            let from = begin + drawn.span(0, 4_000);
            (from, from + drawn.span(10, 1_500))
        });
        Self { cut: cut.collect(), bad: AtomicBool::new(true), ..Self::good(drawn) }
    }

    pub(super) fn mend(&self) {
        self.bad.store(false, Ordering::Relaxed);
    }

    fn is_bad(&self) -> bool {
        self.bad.load(Ordering::Relaxed)
    }
}

impl FaultPlan for Link {
    fn delivery(&self, _: CommandKind) -> Delivery {
        let mut drawn = self.drawn.lock().unwrap();
        let answered = drawn.span(0, 20);
        let taken = answered.mul_f64(0.5);
        let good = Delivery { taken: Some(taken), answered: Some(answered) };
        if !self.is_bad() {
            return good;
        }
        let now = Instant::now();
        if self.cut.iter().any(|(from, to)| (*from..*to).contains(&now)) {
            return Delivery { taken: None, answered: None };
        }
        match drawn.below(100) {
            0..70 => good,
            70..76 => Delivery { taken: None, answered: Some(answered) },
            76..82 => Delivery { taken: None, answered: None },
            82..88 => Delivery { taken: Some(taken), answered: None },
            88..92 => Delivery { taken: Some(drawn.span(0, 1_500)), answered: Some(answered) },
            92..96 => Delivery { taken: Some(drawn.span(0, 1_500)), answered: None },
            _ => {
                let slow = drawn.span(20, 2 * COMMAND_TIMEOUT.as_millis() as u64);
                Delivery { taken: Some(slow), answered: Some(slow) }
            }
        }
    }

    fn wakeup_delay(&self) -> Option<Duration> {
        let mut drawn = self.drawn.lock().unwrap();
        if !self.is_bad() {
            return Some(drawn.span(0, 10));
        }
        drawn.percent(70).then(|| drawn.span(0, 300))
    }

    fn supports_atomic_multi(&self) -> bool {
        !self.apart
    }
}
