//! What may happen to one lock, as it is made up and as it is printed.

use std::{fmt, time::Duration};

use lock_core::{Kind, Mode, test_util::Step};
use proptest::{
    collection::vec,
    prelude::{BoxedStrategy, Just, Strategy, any},
    prop_oneof, sample,
    strategy::Union,
};

/// Kinds that follow the same rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Family {
    ReadWrite,
    Plain,
    Fair,
    FairReadWrite,
    Semaphore,
}

impl Family {
    pub(crate) fn kinds(self) -> &'static [Kind] {
        match self {
            Self::ReadWrite => &[Kind::ReadWrite],
            Self::Plain => &[Kind::Reentrant, Kind::NonReentrant, Kind::Fenced],
            Self::Fair => &[Kind::Fair],
            Self::FairReadWrite => &[Kind::FairReadWrite],
            Self::Semaphore => &[Kind::Semaphore],
        }
    }
}

/// A step that an owner tries. If it makes no sense at that moment, nothing is done.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Action {
    /// For the first hold, or one more; `place` is `None` for one that does not wait.
    Ask {
        mode: Mode,
        lease: u64,
        yields: bool,
        place: Option<u64>,
    },
    /// The last step once more, as after a lost reply.
    Again,
    /// One hold fewer, or out of the line.
    Release {
        mode: Mode,
    },
    Renew {
        lease: u64,
    },
    Convert {
        up: bool,
        lease: u64,
    },
    /// Sends nothing more, and a new owner takes its part.
    Crash,
    FreePermits,
    TakeAway,
}

/// Times count in half steps of the grid on which events happen: leases are odd, so that nothing
/// ends when something happens.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Event {
    pub(crate) after: u64,
    pub(crate) actor: usize,
    pub(crate) action: Action,
}

pub(crate) const OWNERS: usize = 4;

/// Half a step of the narrowest grid.
pub(crate) const UNIT: Duration = Duration::from_millis(100);

/// So many half steps, on the narrowest grid.
pub(crate) fn span(units: u64) -> Duration {
    UNIT * u32::try_from(units).unwrap()
}

#[derive(Debug, Clone)]
pub(crate) struct History {
    pub(crate) kind: Kind,
    pub(crate) permits: u32,
    /// How long the owner has waited, relative to others.
    pub(crate) seniority: u64,
    pub(crate) events: Vec<Event>,
}

fn odd(most: u64) -> BoxedStrategy<u64> {
    (0..most).prop_map(|half| 2 * half + 1).boxed()
}

fn action(family: Family) -> BoxedStrategy<Action> {
    let mode = || prop_oneof![Just(Mode::Read), Just(Mode::Write)];
    let place = prop_oneof![1 => Just(None), 4 => odd(12).prop_map(Some)];
    let ask = (mode(), odd(12), any::<bool>(), place)
        .prop_map(|(mode, lease, yields, place)| Action::Ask { mode, lease, yields, place });
    let convert = (any::<bool>(), odd(12)).prop_map(|(up, lease)| Action::Convert { up, lease });
    let mut actions = vec![
        (24, ask.boxed()),
        (8, Just(Action::Again).boxed()),
        (14, mode().prop_map(|mode| Action::Release { mode }).boxed()),
        (6, odd(12).prop_map(|lease| Action::Renew { lease }).boxed()),
        (3, Just(Action::Crash).boxed()),
        (1, Just(Action::TakeAway).boxed()),
    ];
    match family {
        Family::ReadWrite | Family::FairReadWrite => actions.push((8, convert.boxed())),
        Family::Semaphore => actions.push((4, Just(Action::FreePermits).boxed())),
        Family::Plain | Family::Fair => {}
    }
    Union::new_weighted(actions).boxed()
}

impl History {
    pub(crate) fn any(family: Family) -> BoxedStrategy<Self> {
        let gap = prop_oneof![6 => Just(2_u64), 3 => Just(4), 1 => Just(8)];
        let event = (gap, 0..OWNERS, action(family)).prop_map(|(after, actor, action)| Event {
            after,
            actor,
            action,
        });
        (sample::select(family.kinds()), 1..4_u32, 0..97_u64, vec(event, 1..24))
            .prop_map(|(kind, permits, seniority, events)| Self {
                kind,
                permits,
                seniority,
                events,
            })
            .boxed()
    }

    /// What happens after it is of no interest.
    pub(crate) fn until_it_fails(mut self, failure: &Failure) -> Self {
        let mut at = 0;
        self.events.retain(|event| {
            at += event.after;
            at <= failure.at
        });
        self
    }
}

/// The step at which the stores disagree.
#[derive(Debug)]
pub(crate) struct Failure {
    at: u64,
    why: String,
}

impl Failure {
    pub(crate) fn new(at: u64, owner: usize, step: Step, why: &str) -> Self {
        Self { at, why: format!("at {at}, {owner} does {step:?}: {why}") }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.why)
    }
}

impl fmt::Display for History {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{} lock of {} permits, seniority {}",
            self.kind, self.permits, self.seniority
        )?;
        let mut at = 0;
        for Event { after, actor, action } in &self.events {
            at += after;
            writeln!(f, "  at {at:3}  {actor}: {action:?}")?;
        }
        Ok(())
    }
}
