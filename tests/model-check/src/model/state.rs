//! The state of a model: what stands in Redis, and what each client believes of it.

use lock_core::Mode;

use super::{names::Wire, op::Op, setup::Setup, wrong::Wrong};
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

/// A free lock was taken by a plain command; the one that draws its token, and the one that reads what
/// stands there then, are on their way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tried {
    /// When they were sent.
    pub sent: i64,
    /// The greatest token that the client knew then.
    pub known: i64,
    /// The token, once it is drawn.
    pub token: Option<i64>,
}

/// What a client knows of one of its owners: `guards`, `stored` and the rest as in `lock_core`'s hold.
#[derive(Debug, Clone, PartialEq)]
pub struct Hold {
    /// Which of the client's owners this is.
    pub owner: u8,
    /// In which mode it was requested first, and for how long.
    pub requested: (Mode, i64),
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
    /// What it has of a free lock, and does not yet believe in.
    pub tried: Option<Tried>,
}

impl Hold {
    pub(super) fn new(owner: u8, mode: Mode, lease: i64, now: i64) -> Self {
        Self {
            owner,
            requested: (mode, lease),
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
            tried: None,
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

    /// It requests still: it was refused, or does not know.
    pub(super) fn requests(&self) -> bool {
        self.guards.none() && !self.leaving
    }

    pub(super) fn lose(&mut self) {
        self.guards = Holds::default();
        self.leaving = true;
        self.tried = None;
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
    /// The greatest token that it knows.
    pub known: i64,
    /// Whether it has looked, over this connection, that the counter of tokens is not behind.
    pub raised: bool,
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
    /// Whether Redis has evicted a key.
    pub evicted: bool,
    /// What has gone wrong on the way here.
    pub wrong: Option<Wrong>,
}

impl ModelState {
    pub(super) fn new(setup: &Setup) -> Self {
        let mut world = Self {
            redis: Redis::at(START_US),
            clients: vec![Client::default(); setup.clients.into()],
            operations: 0,
            highest: 0,
            evicted: false,
            wrong: None,
        };
        if setup.names.wire == Wire::Native && setup.has_tokens() {
            world.highest = START_US + setup.tokens_ahead_us;
            world.set_token(setup, world.highest);
            for client in &mut world.clients {
                (client.known, client.raised) = (world.highest, true);
            }
        }
        world
    }

    fn set_token(&mut self, setup: &Setup, token: i64) {
        let token = token.to_string().into_bytes();
        self.redis.call(&[b"set".into(), setup.names.token.into(), token]);
    }

    /// A replica takes over that has none of the tokens yet: no connection is the former one.
    pub(super) fn fail_over(&mut self, setup: &Setup) {
        self.set_token(setup, START_US + setup.tokens_ahead_us);
        for client in &mut self.clients {
            client.raised = false;
            if let Some(hold) = &mut client.hold {
                hold.tried = None;
            }
        }
    }

    pub(super) fn now(&self) -> i64 {
        self.redis.now_ms()
    }
}
