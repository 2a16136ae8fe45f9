//! The state of a model: what stands in Redis, and what each client believes of it.

use lock_core::Mode;

use super::{op::Op, wrong::Wrong};
use crate::redis::Redis;

/// When the clock starts, in microseconds: numbers as long as they are in these years.
pub(crate) const START_US: i64 = 1_700_000_000_000_000;

/// How many holds of each mode.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Holds {
    /// Reads.
    pub reads: u32,
    /// Writes.
    pub writes: u32,
}

impl Holds {
    pub(super) fn of(self, mode: Mode) -> u32 {
        if mode == Mode::Read { self.reads } else { self.writes }
    }

    pub(super) fn of_mut(&mut self, mode: Mode) -> &mut u32 {
        if mode == Mode::Read { &mut self.reads } else { &mut self.writes }
    }

    pub(super) fn none(self) -> bool {
        self == Self::default()
    }

    pub(super) fn total(self) -> u32 {
        self.reads + self.writes
    }
}

/// What a client knows of one of its owners: `guards`, `stored` and the rest as in `lock_core`'s hold.
#[derive(Debug, Clone, PartialEq)]
pub struct Hold {
    /// Which of the client's owners this is.
    pub owner: u8,
    /// In which mode it was asked for first, and for how long.
    pub asked: (Mode, i64),
    /// What the program has.
    pub guards: Holds,
    /// The most that Redis may have for it.
    pub stored: Holds,
    /// Until when the program believes, by the clock at which it sent what was confirmed.
    pub until: i64,
    /// The same for its reads alone.
    pub reads_until: i64,
    /// A change of mode of unknown outcome.
    pub doubt: bool,
    /// Lost, or given up: it is only to be settled.
    pub leaving: bool,
    /// An operator took it away.
    pub taken: bool,
    /// Where it may stand in line.
    pub in_line: Option<Mode>,
    /// Since when it waits.
    pub since: i64,
    /// Until when it stands back behind others.
    pub yields_until: Option<i64>,
}

impl Hold {
    pub(super) fn new(owner: u8, mode: Mode, lease: i64, now: i64) -> Self {
        Self {
            owner,
            asked: (mode, lease),
            guards: Holds::default(),
            stored: Holds::default(),
            until: now,
            reads_until: now,
            doubt: false,
            leaving: false,
            taken: false,
            in_line: None,
            since: now,
            yields_until: None,
        }
    }

    pub(super) fn is_settled(&self) -> bool {
        let stands = self.in_line.is_some() && self.guards.none();
        self.stored == self.guards && !self.doubt && !stands
    }

    /// Whether the program believes in this hold now.
    pub(super) fn believes(&self, now: i64) -> bool {
        !self.guards.none() && !self.taken && self.until > now
    }

    /// It asks still: it was refused, or does not know.
    pub(super) fn asks(&self) -> bool {
        self.guards.none() && !self.leaving
    }

    pub(super) fn lose(&mut self) {
        self.guards = Holds::default();
        self.leaving = true;
    }
}

/// A process.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Client {
    /// What it has or wants.
    pub hold: Option<Hold>,
    /// What it had, and has not settled.
    pub stale: Option<Hold>,
    /// A command that is still on its way, and its owner; no client waits for the answer.
    pub late: Option<(u8, Op)>,
}

/// A state.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelState {
    /// What stands in Redis.
    pub redis: Redis,
    /// The clients.
    pub clients: Vec<Client>,
    /// How many operations there were.
    pub operations: u8,
    /// The highest fencing token that was granted.
    pub highest: i64,
    /// What has gone wrong on the way here.
    pub wrong: Option<Wrong>,
}

impl ModelState {
    pub(super) fn new(clients: u8) -> Self {
        Self {
            redis: Redis::at(START_US),
            clients: vec![Client::default(); clients.into()],
            operations: 0,
            highest: 0,
            wrong: None,
        }
    }

    pub(super) fn now(&self) -> i64 {
        self.redis.now_ms()
    }
}
