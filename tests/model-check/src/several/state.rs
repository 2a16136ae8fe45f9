//! A state: what stands in Redis, and what each client believes of each of the locks.

use std::hash::{DefaultHasher, Hash, Hasher};

use lock_core::{Mode, test_util::validity};

use super::{op::Ask, setup::LEASE_MS};
use crate::{
    model::{
        LONG_WAIT_MS, Wrong,
        fingerprint::print,
        lock_use::owners,
        names::{NATIVE_SEVERAL, SEVERAL, SYMBOLS},
        op::span,
        state::START_US,
    },
    redis::Redis,
};

/// What a client knows of one owner on one lock.
#[derive(Debug, Clone, PartialEq)]
pub struct Hold {
    /// Which of the client's owners this is.
    pub owner: u8,
    /// In which mode it is requested.
    pub mode: Mode,
    /// What the program has.
    pub guards: u32,
    /// The most that Redis may have for it.
    pub stored: u32,
    /// Until when the program believes.
    pub until: i64,
    /// Lost, or given up: it is only to be settled.
    pub leaving: bool,
    /// Whether it may stand in line.
    pub in_line: bool,
    /// Since when it waits.
    pub since: i64,
    /// Until when it stands back behind others.
    pub yields_until: Option<i64>,
}

impl Hold {
    pub(super) fn new(owner: u8, mode: Mode, now: i64) -> Self {
        Self {
            owner,
            mode,
            guards: 0,
            stored: 0,
            until: now,
            leaving: false,
            in_line: false,
            since: now,
            yields_until: None,
        }
    }

    pub(super) fn requests(&self) -> bool {
        self.guards == 0 && !self.leaving
    }

    pub(super) fn is_settled(&self) -> bool {
        self.stored == self.guards && (self.guards > 0 || !self.in_line)
    }

    pub(super) fn believes(&self, now: i64) -> bool {
        self.guards > 0 && self.until > now
    }

    pub(super) fn has(&mut self, holds: u32, sent: i64) {
        let believed = i64::try_from(validity(span(LEASE_MS)).as_millis()).unwrap_or(i64::MAX);
        (self.guards, self.stored) = (holds, holds);
        self.until = self.until.max(sent + believed);
        self.in_line = false;
    }

    pub(super) fn lose(&mut self) {
        self.guards = 0;
        self.leaving = true;
    }
}

/// A process.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Client {
    /// What it has or wants, of each lock.
    pub holds: [Option<Hold>; 2],
    /// What it requested together by a command that is still on its way; no client waits for the
    /// answer.
    pub late: Option<[Ask; 2]>,
}

/// A state.
#[derive(Debug, Clone, PartialEq)]
pub struct SeveralState {
    /// What stands in Redis.
    pub redis: Redis,
    /// The clients.
    pub clients: Vec<Client>,
    /// How many operations there were.
    pub operations: u8,
    /// The highest fencing token of each lock that was granted.
    pub highest: [i64; 2],
    /// What may go wrong with the second lock has gone wrong.
    pub troubled: bool,
    /// What has gone wrong on the way here.
    pub wrong: Option<Wrong>,
}

impl SeveralState {
    pub(super) fn new(clients: u8) -> Self {
        Self {
            redis: Redis::at(START_US),
            clients: vec![Client::default(); clients.into()],
            operations: 0,
            highest: [0; 2],
            troubled: false,
            wrong: None,
        }
    }

    pub(super) fn now(&self) -> i64 {
        self.redis.now_ms()
    }

    /// What time alone does to beliefs.
    pub(super) fn settle_time(&mut self) {
        let now = self.now();
        for hold in self.clients.iter_mut().flat_map(|client| &mut client.holds).flatten() {
            if hold.guards > 0 && hold.until <= now {
                hold.lose();
            }
            hold.since = hold.since.max(now - LONG_WAIT_MS);
        }
    }

    /// The owners of a client, those that it uses first.
    fn own(&self, at: usize) -> Vec<u8> {
        let client = &self.clients[at];
        let mut own: Vec<u8> = client.holds.iter().flatten().map(|hold| hold.owner).collect();
        own.extend(client.late.iter().flatten().map(|ask| ask.owner));
        own.extend(owners(self.clients.len(), at));
        own
    }

    /// The world with its clients in this order, and their owners renamed by it.
    fn named(&self, order: &[usize]) -> u64 {
        let mut names: [u8; 256] = std::array::from_fn(|byte| u8::try_from(byte).unwrap_or(0));
        let mut numbers = [None; SYMBOLS.len()];
        let mut next = 0;
        for owner in order.iter().flat_map(|&at| self.own(at)) {
            let number = &mut numbers[usize::from(owner)];
            if number.is_none() {
                *number = Some(next);
                names[usize::from(SYMBOLS[usize::from(owner)])] = SYMBOLS[next];
                next += 1;
            }
        }
        let (now, mut hasher) = (self.now(), DefaultHasher::new());
        for &at in order {
            let client = &self.clients[at];
            for hold in &client.holds {
                hold.as_ref().map(|hold| relative(hold, &numbers, now)).hash(&mut hasher);
            }
            client.late.map(|late| renamed(late, &numbers)).hash(&mut hasher);
        }
        let entries = self.redis.entries().map(|(key, entry)| {
            let lock = SEVERAL.iter().position(|names| key == names.token);
            // On the native wire both locks have one token.
            let shared = (key == NATIVE_SEVERAL[0].token)
                .then(|| self.highest.iter().copied().max().unwrap_or_default());
            print(key, entry, &names, now, lock.map(|lock| self.highest[lock]).or(shared))
        });
        entries.fold(0_u64, u64::wrapping_add).hash(&mut hasher);
        hasher.finish()
    }
}

type Numbers = [Option<usize>; SYMBOLS.len()];

fn relative(hold: &Hold, numbers: &Numbers, now: i64) -> impl Hash {
    let left = |until: i64| (until - now).max(0);
    let waiting = hold.requests().then(|| (now - hold.since, hold.yields_until.map(left)));
    let has = (hold.guards, hold.stored, left(hold.until));
    (numbers[usize::from(hold.owner)], hold.mode, has, hold.leaving, hold.in_line, waiting)
}

fn renamed(requests: [Ask; 2], numbers: &Numbers) -> [Ask; 2] {
    requests.map(|ask| {
        let number = numbers[usize::from(ask.owner)].unwrap_or_default();
        Ask { owner: u8::try_from(number).unwrap_or_default(), ..ask }
    })
}

impl Hash for SeveralState {
    fn hash<H: Hasher>(&self, state: &mut H) {
        // Clients that differ in name alone are the same; there are two.
        let forth: Vec<usize> = (0..self.clients.len()).collect();
        let back: Vec<usize> = forth.iter().rev().copied().collect();
        self.named(&forth).min(self.named(&back)).hash(state);
        self.operations.hash(state);
        (self.troubled, self.wrong).hash(state);
    }
}
