//! The names and labels of one lock's metrics, made once: recording an event allocates nothing.

use ::metrics::{Counter, Gauge, Histogram, Key, Label, Level, Metadata, with_recorder};
use lock_core::Mode;
use lock_policy::__private::LockName;

use super::metrics::{self, label};

static METADATA: Metadata<'_> = Metadata::new("lock_tower", Level::INFO, Some("lock_tower"));

/// The metrics of each request under one lock. No handle is kept: an event goes to the recorder
/// installed by then.
#[derive(Debug, Clone)]
pub(crate) struct MetricKeys {
    waiters: Key,
    handovers: Key,
    renewal_margin: Key,
    granted: ByMode,
    wait: ByMode,
    hold: ByMode,
}

#[derive(Debug, Clone)]
struct ByMode {
    read: Key,
    write: Key,
}

impl ByMode {
    fn new(key: impl Fn(Mode) -> Key) -> Self {
        Self { read: key(Mode::Read), write: key(Mode::Write) }
    }

    fn of(&self, mode: Mode) -> &Key {
        match mode {
            Mode::Read => &self.read,
            Mode::Write => &self.write,
        }
    }
}

impl MetricKeys {
    pub(crate) fn new(policy: &LockName) -> Self {
        let policy = || Label::new("policy", label(policy));
        let mode = |mode: Mode| Label::new("mode", mode.as_str());
        let by_mode = |name| ByMode::new(move |of| Key::from_parts(name, vec![policy(), mode(of)]));
        let granted = |of| {
            let outcome = Label::new("outcome", metrics::GRANTED);
            Key::from_parts(metrics::REQUESTS, vec![policy(), mode(of), outcome])
        };
        Self {
            waiters: Key::from_parts(metrics::WAITERS, vec![policy()]),
            handovers: Key::from_parts(metrics::HANDOVERS, vec![policy()]),
            renewal_margin: Key::from_parts(metrics::RENEWAL_MARGIN, vec![policy()]),
            granted: ByMode::new(granted),
            wait: by_mode(metrics::WAIT),
            hold: by_mode(metrics::HOLD),
        }
    }

    pub(crate) fn waiters(&self) -> Gauge {
        with_recorder(|recorder| recorder.register_gauge(&self.waiters, &METADATA))
    }

    pub(crate) fn handovers(&self) -> Counter {
        counter(&self.handovers)
    }

    pub(crate) fn granted(&self, mode: Mode) -> Counter {
        counter(self.granted.of(mode))
    }

    pub(crate) fn wait(&self, mode: Mode) -> Histogram {
        histogram(self.wait.of(mode))
    }

    pub(crate) fn hold(&self, mode: Mode) -> Histogram {
        histogram(self.hold.of(mode))
    }

    pub(crate) fn renewal_margin(&self) -> Histogram {
        histogram(&self.renewal_margin)
    }
}

fn counter(key: &Key) -> Counter {
    with_recorder(|recorder| recorder.register_counter(key, &METADATA))
}

fn histogram(key: &Key) -> Histogram {
    with_recorder(|recorder| recorder.register_histogram(key, &METADATA))
}
