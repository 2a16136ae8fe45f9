//! Who holds what and who waits, read from the key space by the rules of the wire alone.

use lock_core::__private::{Kind, Mode};

use super::names::{self, ALIVE, LEASES, LOCK, MARK, QUEUE};
use crate::redis::{Redis, Value};

/// What an owner has; times in milliseconds, -2 for none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Held {
    pub(super) owner: Vec<u8>,
    pub(super) reads: u32,
    pub(super) writes: u32,
    /// Of the lock itself.
    pub(super) left: i64,
    /// Of the read that ends first, and last.
    pub(super) reads_left: (i64, i64),
}

impl Held {
    pub(super) fn of(&self, mode: Mode) -> u32 {
        if mode == Mode::Read { self.reads } else { self.writes }
    }

    pub(super) fn lives(&self) -> bool {
        self.writes > 0 || self.reads_left.1 >= 0
    }

    /// The time that a holder in its mode may count on.
    pub(super) fn time_left(&self) -> i64 {
        if self.writes > 0 { self.left } else { self.left.min(self.reads_left.1) }
    }
}

/// A waiter; in a line also one whose place is over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Waiter {
    pub(super) owner: Vec<u8>,
    pub(super) mode: Mode,
    /// Since when it waits; what counts where one waiter alone is marked.
    pub(super) since: i64,
    pub(super) left: i64,
}

/// What stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Standing {
    pub(super) held: Vec<Held>,
    /// In order.
    pub(super) waiters: Vec<Waiter>,
}

impl Standing {
    pub(super) fn of(redis: &Redis, kind: Kind) -> Self {
        let held = match kind {
            Kind::ReadWrite | Kind::FairReadWrite => read_write(redis),
            Kind::Semaphore => permits(redis),
            _ => sole(redis),
        };
        let waiters = match kind {
            Kind::Fair => queue(redis),
            Kind::FairReadWrite => line(redis),
            Kind::Semaphore => Vec::new(),
            _ => mark(redis),
        };
        Self { held, waiters }
    }

    pub(super) fn by(&self, owner: &[u8]) -> Option<&Held> {
        self.held.iter().find(|held| held.owner == owner)
    }

    /// Those who hold it, but this one.
    pub(super) fn others<'a>(&'a self, owner: &'a [u8]) -> impl Iterator<Item = &'a Held> {
        self.held.iter().filter(move |held| held.owner != owner && held.lives())
    }

    pub(super) fn lets_in(&self, mode: Mode) -> bool {
        let in_the_way = |held: &Held| held.lives() && (mode == Mode::Write || held.writes > 0);
        !self.held.iter().any(in_the_way)
    }
}

fn number(bytes: &[u8]) -> u32 {
    std::str::from_utf8(bytes).ok().and_then(|text| text.parse().ok()).unwrap_or_default()
}

fn fields(redis: &Redis) -> &[(Vec<u8>, Vec<u8>)] {
    match redis.entry(LOCK).map(|entry| &entry.value) {
        Some(Value::Hash(fields)) => fields,
        _ => &[],
    }
}

fn read_write(redis: &Redis) -> Vec<Held> {
    let (fields, left) = (fields(redis), redis.left_ms(LOCK));
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
        let left =
            (1..=held.reads.min(99)).map(|hold| redis.left_ms(&names::read_key(owner, hold)));
        let left: Vec<i64> = left.collect();
        let ends = |end: Option<&i64>| end.copied().unwrap_or(-2);
        held.reads_left = (ends(left.iter().min()), ends(left.iter().max()));
    }
    all
}

fn sole(redis: &Redis) -> Vec<Held> {
    let left = redis.left_ms(LOCK);
    let held = fields(redis).iter().map(|(owner, holds)| Held {
        owner: owner.clone(),
        reads: 0,
        writes: number(holds),
        left,
        reads_left: (-2, -2),
    });
    held.collect()
}

#[expect(clippy::cast_possible_truncation, reason = "scores of ours are whole milliseconds")]
fn scores(redis: &Redis, key: &[u8]) -> Vec<(Vec<u8>, i64)> {
    match redis.entry(key).map(|entry| &entry.value) {
        Some(Value::Sorted(members)) => {
            members.iter().map(|one| (one.member.clone(), one.score as i64)).collect()
        }
        _ => Vec::new(),
    }
}

fn permits(redis: &Redis) -> Vec<Held> {
    let now = redis.now_ms();
    let live = scores(redis, LEASES).into_iter().filter(|(_, ends)| *ends > now);
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

fn mark(redis: &Redis) -> Vec<Waiter> {
    let Some(Value::Text(mark)) = redis.entry(MARK).map(|entry| &entry.value) else {
        return Vec::new();
    };
    let colon = mark.iter().position(|byte| *byte == b':').unwrap_or_default();
    let since = std::str::from_utf8(&mark[..colon]).ok().and_then(|since| since.parse().ok());
    waiter(&mark[colon + 1..], since.unwrap_or_default(), redis.left_ms(MARK)).into_iter().collect()
}

fn left_of(alive: &[(Vec<u8>, i64)], place: &[u8], now: i64) -> i64 {
    alive.iter().find(|(one, _)| one == place).map_or(0, |(_, ends)| ends - now)
}

fn line(redis: &Redis) -> Vec<Waiter> {
    let (alive, now) = (scores(redis, ALIVE), redis.now_ms());
    let places = scores(redis, MARK).into_iter();
    places.filter_map(|(place, _)| waiter(&place, 0, left_of(&alive, &place, now))).collect()
}

fn queue(redis: &Redis) -> Vec<Waiter> {
    let (alive, now) = (scores(redis, ALIVE), redis.now_ms());
    let Some(Value::List(places)) = redis.entry(QUEUE).map(|entry| &entry.value) else {
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
