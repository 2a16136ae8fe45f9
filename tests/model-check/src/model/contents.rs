//! The holders and the waiters, read from the key space by the rules of the wire alone.

use lock_core::{Kind, Mode};

use super::{
    names::{LockNames, Wire},
    native,
};
use crate::redis::{Redis, Value};

/// What an owner has; times in milliseconds, -2 for none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Held {
    pub(crate) owner: Vec<u8>,
    pub(crate) reads: u32,
    pub(crate) writes: u32,
    /// Of the lock itself.
    pub(crate) left: i64,
    /// Of the read that ends first, and last.
    pub(crate) reads_left: (i64, i64),
}

impl Held {
    pub(crate) fn of(&self, mode: Mode) -> u32 {
        if mode == Mode::Read { self.reads } else { self.writes }
    }

    pub(crate) fn lives(&self) -> bool {
        self.writes > 0 || self.reads_left.1 >= 0
    }

    /// The time that a holder in its mode may count on.
    pub(crate) fn time_left(&self) -> i64 {
        if self.writes > 0 { self.left } else { self.left.min(self.reads_left.1) }
    }
}

/// A waiter; in a line also one whose place is over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Waiter {
    pub(crate) owner: Vec<u8>,
    pub(crate) mode: Mode,
    /// Since when it waits, which counts without a fair line; on the native wire its number of
    /// arrival.
    pub(crate) since: i64,
    pub(crate) left: i64,
}

/// The holders and waiters of a lock in the order of the wire.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LockContents {
    pub(crate) held: Vec<Held>,
    /// In order.
    pub(crate) waiters: Vec<Waiter>,
    /// The last fencing token that was granted or reserved.
    pub(crate) token: i64,
}

impl LockContents {
    pub(crate) fn of(redis: &Redis, kind: Kind, names: &LockNames) -> Self {
        if names.wire == Wire::Native {
            return native::contents(redis, names);
        }
        let held = match kind {
            Kind::ReadWrite | Kind::FairReadWrite => read_write(redis, names),
            Kind::Semaphore => permits(redis, names),
            _ => sole(redis, names),
        };
        let waiters = match kind {
            Kind::Fair => queue(redis, names),
            Kind::FairReadWrite => line(redis, names),
            _ => waiting(redis, names),
        };
        Self { held, waiters, token: token(redis, names) }
    }

    pub(crate) fn by(&self, owner: &[u8]) -> Option<&Held> {
        self.held.iter().find(|held| held.owner == owner)
    }

    /// The holders, except this one.
    pub(crate) fn others<'a>(&'a self, owner: &'a [u8]) -> impl Iterator<Item = &'a Held> {
        self.held.iter().filter(move |held| held.owner != owner && held.lives())
    }

    /// Whether the owner is in any line of waiters.
    pub(crate) fn waits(&self, owner: &[u8]) -> bool {
        self.waiters.iter().any(|one| one.owner == owner)
    }

    pub(crate) fn lets_in(&self, mode: Mode) -> bool {
        let in_the_way = |held: &Held| held.lives() && (mode == Mode::Write || held.writes > 0);
        !self.held.iter().any(in_the_way)
    }
}

fn number(bytes: &[u8]) -> u32 {
    std::str::from_utf8(bytes).ok().and_then(|text| text.parse().ok()).unwrap_or_default()
}

fn fields<'a>(redis: &'a Redis, key: &[u8]) -> &'a [(Vec<u8>, Vec<u8>)] {
    match redis.entry(key).map(|entry| &entry.value) {
        Some(Value::Hash(fields)) => fields,
        _ => &[],
    }
}

pub(super) fn token(redis: &Redis, names: &LockNames) -> i64 {
    let Some(Value::Text(token)) = redis.entry(names.token).map(|entry| &entry.value) else {
        return 0;
    };
    std::str::from_utf8(token).ok().and_then(|token| token.parse().ok()).unwrap_or_default()
}

fn read_write(redis: &Redis, names: &LockNames) -> Vec<Held> {
    let (fields, left) = (fields(redis, names.lock), redis.left_ms(names.lock));
    let mode = fields.iter().find(|(field, _)| field == b"mode").map(|(_, mode)| mode.as_slice());
    let mut all: Vec<Held> = Vec::new();
    for (field, value) in fields.iter().filter(|(field, _)| field != b"mode") {
        let writer = field.strip_suffix(b":write");
        let owner = writer.unwrap_or(field);
        let at = all.iter().position(|held| held.owner == owner).unwrap_or_else(|| {
            let owner = owner.to_vec();
            all.push(Held { owner, reads: 0, writes: 0, left, reads_left: (-2, -2) });
            all.len() - 1
        });
        let held = &mut all[at];
        if writer.is_some() {
            held.writes = if mode == Some(b"write") { number(value) } else { 0 };
            continue;
        }
        held.reads = number(value);
        let left = (1..=held.reads.min(99)).map(|hold| redis.left_ms(&names.read_key(owner, hold)));
        let left: Vec<i64> = left.collect();
        let ends = |end: Option<&i64>| end.copied().unwrap_or(-2);
        held.reads_left = (ends(left.iter().min()), ends(left.iter().max()));
    }
    all
}

fn sole(redis: &Redis, names: &LockNames) -> Vec<Held> {
    let left = redis.left_ms(names.lock);
    let held = fields(redis, names.lock).iter().map(|(owner, holds)| Held {
        owner: owner.clone(),
        reads: 0,
        writes: number(holds),
        left,
        reads_left: (-2, -2),
    });
    held.collect()
}

#[expect(clippy::cast_possible_truncation, reason = "scores of ours are whole milliseconds")]
pub(super) fn scores(redis: &Redis, key: &[u8]) -> Vec<(Vec<u8>, i64)> {
    match redis.entry(key).map(|entry| &entry.value) {
        Some(Value::Sorted(members)) => {
            members.iter().map(|one| (one.member.clone(), one.score as i64)).collect()
        }
        _ => Vec::new(),
    }
}

fn permits(redis: &Redis, names: &LockNames) -> Vec<Held> {
    let now = redis.now_ms();
    // Further permits of an owner have a number behind its sixteen bytes.
    let first = |owner: &[u8]| owner.len() == 16;
    let live = scores(redis, names.leases).into_iter();
    let live = live.filter(|(owner, ends)| first(owner) && *ends > now);
    live.map(|(owner, ends)| Held {
        owner,
        reads: 0,
        writes: 1,
        left: ends - now,
        reads_left: (-2, -2),
    })
    .collect()
}

fn waiter(place: &[u8], since: i64, left: i64) -> Option<Waiter> {
    let (mode, owner) = match place.strip_prefix(b"read:") {
        Some(owner) => (Mode::Read, owner),
        None => (Mode::Write, place.strip_prefix(b"write:")?),
    };
    Some(Waiter { owner: owner.to_vec(), mode, since, left })
}

/// Those whose place lives, the first first.
fn waiting(redis: &Redis, names: &LockNames) -> Vec<Waiter> {
    let places = fields(redis, names.line).iter().filter_map(|(place, times)| {
        // Behind them the permits that it wants.
        let mut times = std::str::from_utf8(times).ok()?.split(':');
        let (since, until) = (times.next()?, times.next()?);
        let left = until.parse::<i64>().ok()? - redis.now_ms();
        waiter(place, since.parse().ok()?, left)
    });
    let mut waiters: Vec<Waiter> = places.filter(|waiter| waiter.left > 0).collect();
    waiters.sort_by_key(|one| one.since);
    waiters
}

pub(super) fn left_of(alive: &[(Vec<u8>, i64)], place: &[u8], now: i64) -> i64 {
    alive.iter().find(|(one, _)| one == place).map_or(0, |(_, ends)| ends - now)
}

fn line(redis: &Redis, names: &LockNames) -> Vec<Waiter> {
    let (alive, now) = (scores(redis, names.alive), redis.now_ms());
    let places = scores(redis, names.line).into_iter();
    places.filter_map(|(place, _)| waiter(&place, 0, left_of(&alive, &place, now))).collect()
}

fn queue(redis: &Redis, names: &LockNames) -> Vec<Waiter> {
    let (alive, now) = (scores(redis, names.alive), redis.now_ms());
    let Some(Value::List(places)) = redis.entry(names.queue).map(|entry| &entry.value) else {
        return Vec::new();
    };
    places
        .iter()
        .map(|owner| Waiter {
            owner: owner.clone(),
            mode: Mode::Write,
            since: 0,
            left: left_of(&alive, owner, now),
        })
        .collect()
}
