//! The actions of actors, by a seed.

use std::time::Duration;

use lock_core::{Kind, Mode};

use super::seeded::Seeded;

pub(super) const COMMAND_TIMEOUT: Duration = Duration::from_millis(200);
pub(super) const LONGEST_LEASE: Duration = Duration::from_millis(2_000);
pub(super) const PERMITS: u32 = 2;
const LONGEST_WAIT: u64 = 1_000;

/// The keys of one schedule, with the kind of lock that each one is.
pub(super) const KEYS: [&str; 3] = ["x", "y", "z"];

/// The options of an acquisition.
#[derive(Debug, Clone, Copy)]
pub(super) struct Terms {
    /// As a place in [`KEYS`].
    pub(super) key: usize,
    pub(super) mode: Mode,
    pub(super) wait: Duration,
    pub(super) lease: Duration,
    pub(super) renew: bool,
    pub(super) max_hold: Option<Duration>,
    pub(super) in_scope: bool,
    /// When the caller gives up.
    pub(super) dropped_after: Option<Duration>,
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Action {
    Sleep(Duration),
    Acquire(Terms),
    /// Two keys at once.
    AcquireBoth(Terms),
    AcquireMajority(Terms),
    Upgrade {
        dropped_after: Option<Duration>,
    },
    Downgrade {
        dropped_after: Option<Duration>,
    },
    Release {
        dropped_after: Option<Duration>,
    },
    Drop,
    Suspend(Duration),
    ShutDown(Duration),
}

/// The plan of one schedule.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) kinds: [Kind; KEYS.len()],
    /// By process, by actor.
    pub(super) actions: Vec<Vec<Vec<Action>>>,
}

const KINDS: [Kind; 8] = [
    Kind::ReadWrite,
    Kind::ReadWrite,
    Kind::FairReadWrite,
    Kind::Reentrant,
    Kind::NonReentrant,
    Kind::Fair,
    Kind::Fenced,
    Kind::Semaphore,
];

impl Plan {
    /// Crowds that mostly read the same keys, for a short time, and on the same terms.
    pub(super) fn of_readers(drawn: &mut Seeded) -> Self {
        let processes = 1 + drawn.below(3);
        let actions = (0..processes).map(|_| {
            let actors = 2 + drawn.below(4);
            (0..actors).map(|_| readers_deeds(drawn)).collect()
        });
        Self { actions: actions.collect(), kinds: KEYS.map(|_| Kind::ReadWrite) }
    }

    pub(super) fn of(drawn: &mut Seeded, with_ends: bool) -> Self {
        let kinds = KEYS.map(|_| drawn.one_of(&KINDS));
        let processes = 2 + drawn.below(2);
        let actions = (0..processes).map(|_| {
            let actors = 1 + drawn.below(2);
            (0..actors).map(|_| actions(drawn, &kinds, with_ends)).collect()
        });
        Self { actions: actions.collect(), kinds }
    }
}

fn actions(drawn: &mut Seeded, kinds: &[Kind], with_ends: bool) -> Vec<Action> {
    let count = 3 + drawn.below(8);
    (0..count).map(|_| action(drawn, kinds, with_ends)).collect()
}

fn action(drawn: &mut Seeded, kinds: &[Kind], with_ends: bool) -> Action {
    if with_ends && drawn.percent(8) {
        return match drawn.below(4) {
            0 => Action::ShutDown(drawn.span(0, 1_500)),
            _ => Action::Suspend(drawn.span(1, 1_500)),
        };
    }
    match drawn.below(100) {
        0..20 => Action::Sleep(drawn.span(0, 600)),
        20..55 => Action::Acquire(terms(drawn, kinds)),
        55..62 => Action::AcquireBoth(terms(drawn, kinds)),
        62..67 => Action::AcquireMajority(terms(drawn, kinds)),
        67..74 => Action::Upgrade { dropped_after: enough(drawn) },
        74..80 => Action::Downgrade { dropped_after: enough(drawn) },
        80..92 => Action::Release { dropped_after: enough(drawn) },
        _ => Action::Drop,
    }
}

fn readers_deeds(drawn: &mut Seeded) -> Vec<Action> {
    let count = 6 + drawn.below(10);
    (0..count).map(|_| readers_deed(drawn)).collect()
}

fn readers_deed(drawn: &mut Seeded) -> Action {
    match drawn.below(100) {
        0..20 => Action::Sleep(drawn.span(0, 60)),
        20..55 => Action::Acquire(Terms {
            key: usize::from(drawn.percent(10)),
            mode: if drawn.percent(85) { Mode::Read } else { Mode::Write },
            wait: if drawn.percent(30) { Duration::ZERO } else { drawn.span(1, LONGEST_WAIT) },
            lease: Duration::from_millis(if drawn.percent(90) { 1_500 } else { 2_000 }),
            renew: drawn.percent(95),
            max_hold: drawn.percent(20).then(|| drawn.span(100, 1_000)),
            in_scope: drawn.percent(50),
            dropped_after: enough(drawn),
        }),
        55..67 => Action::Upgrade { dropped_after: enough(drawn) },
        67..70 => Action::Downgrade { dropped_after: enough(drawn) },
        70..85 => Action::Release { dropped_after: enough(drawn) },
        _ => Action::Drop,
    }
}

fn terms(drawn: &mut Seeded, kinds: &[Kind]) -> Terms {
    let key = usize::try_from(drawn.below(KEYS.len() as u64)).unwrap();
    let reads = kinds[key].has_readers() && drawn.percent(60);
    Terms {
        key,
        mode: if reads { Mode::Read } else { Mode::Write },
        wait: if drawn.percent(30) { Duration::ZERO } else { drawn.span(1, LONGEST_WAIT) },
        lease: drawn.span(200, 2_000),
        renew: drawn.percent(80),
        max_hold: drawn.percent(10).then(|| drawn.span(100, 1_000)),
        in_scope: drawn.percent(50),
        dropped_after: enough(drawn),
    }
}

fn enough(drawn: &mut Seeded) -> Option<Duration> {
    drawn.percent(15).then(|| drawn.span(0, 60))
}
