//! What a task does next, drawn at random.

use std::time::Duration;

use fastrand::Rng;
use lock_core::{LockClient, Mode};

use super::Worker;
use crate::keys::{Family, KEYS, REPLACED_AFTER};

/// One acquisition and what becomes of it.
#[derive(Clone, Debug)]
pub(super) struct Turn {
    pub(super) family: Family,
    pub(super) mode: Mode,
    /// Several for a multi-lock, and for a lock with limits.
    pub(super) keys: Vec<String>,
    /// After this time it takes the lock from its holder.
    pub(super) after: Option<Duration>,
    /// Zero tries once.
    pub(super) wait: Duration,
    pub(super) lease: Duration,
    pub(super) renew: bool,
    pub(super) max_hold: Option<Duration>,
    pub(super) hold: Duration,
    /// The future is dropped after so many polls.
    pub(super) polls: Option<u32>,
    /// Released in words, or dropped.
    pub(super) release: bool,
    pub(super) extra: Extra,
    /// A client on the other wire.
    pub(super) other_wire: Option<LockClient>,
}

/// What happens while it is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Extra {
    Nothing,
    /// Counts up on the fenced counter and on the other.
    Count,
    ChangeMode,
    Reenter,
    /// Waits in the same scope for the key after it. All take that order: none of them is a deadlock.
    Nest,
    /// Releases when a newer caller requests it.
    Obey,
    /// Works until a newer caller stops the work.
    Protect,
}

impl Turn {
    /// One without anything special about it.
    pub(super) fn plain(family: Family, key: &str) -> Self {
        Self {
            family,
            mode: Mode::Write,
            keys: vec![key.to_owned()],
            after: None,
            wait: Duration::from_secs(2),
            lease: Duration::from_secs(1),
            renew: true,
            max_hold: None,
            hold: Duration::from_millis(2),
            polls: None,
            release: true,
            extra: Extra::Nothing,
            other_wire: None,
        }
    }

    pub(super) fn random(random: &mut Rng, session_lease: Option<Duration>) -> Self {
        let family = Family::OF_TURNS[random.usize(..Family::OF_TURNS.len())];
        let keys = keys(family, random);
        let reads = family.has_readers() && random.u8(..100) < 60;
        let mode = if reads { Mode::Read } else { Mode::Write };
        let lease = Duration::from_millis(random.u64(300..2_000));
        let lease = session_lease.unwrap_or(lease);
        let mut turn = Self {
            family,
            mode,
            keys,
            after: (family == Family::Replaced && random.u8(..100) < 70).then_some(REPLACED_AFTER),
            wait: wait(random),
            lease,
            renew: random.u8(..100) >= 3,
            max_hold: (random.u8(..100) < 2).then(|| Duration::from_millis(random.u64(100..400))),
            hold: hold(random, lease),
            polls: (random.u8(..100) < 3).then(|| random.u32(1..12)),
            release: random.u8(..100) < 65,
            extra: Extra::Nothing,
            other_wire: None,
        };
        turn.extra = turn.something_more(random);
        if family == Family::Replaced {
            // The release shows whether the lock had been taken away.
            turn.release = true;
            if random.u8(..100) < 10 {
                turn.hold = Duration::from_millis(random.u64(100..1_500));
            }
        }
        turn
    }

    fn something_more(&self, random: &mut Rng) -> Extra {
        match (random.u8(..100), self.family) {
            (_, Family::Limits) => Extra::Nothing,
            (0..20, family) if family != Family::Semaphore && self.mode == Mode::Write => {
                Extra::Count
            }
            (20..50, Family::Replaced) => Extra::Obey,
            (50..80, Family::Replaced) => Extra::Protect,
            (_, Family::Replaced) => Extra::Nothing,
            (20..35, Family::ReadWrite | Family::FairReadWrite) => Extra::ChangeMode,
            (20..30, family) if !matches!(family, Family::Semaphore | Family::Multi) => {
                Extra::Reenter
            }
            (35..42, family) if !matches!(family, Family::Semaphore | Family::Multi) => Extra::Nest,
            _ => Extra::Nothing,
        }
    }
}

impl Worker {
    /// A turn without anything special about it.
    pub(super) fn plain(&self, family: Family, key: &str) -> Turn {
        let turn = Turn::plain(family, key);
        Turn { lease: self.session_lease.unwrap_or(turn.lease), ..turn }
    }
}

/// One key, two of a multi-lock, or a lock and two semaphores.
fn keys(family: Family, random: &mut Rng) -> Vec<String> {
    let mut keys = vec![family.key(random.usize(..KEYS))];
    match family {
        Family::Multi if random.bool() => {
            let other = family.key(random.usize(..KEYS));
            keys.extend((other != keys[0]).then_some(other));
        }
        Family::Limits => keys.extend(two_limits(random)),
        _ => {}
    }
    keys
}

/// The keys of two semaphores.
pub(super) fn two_limits(random: &mut Rng) -> [String; 2] {
    let first = random.usize(..KEYS);
    [first, (first + 1) % KEYS].map(|number| Family::Semaphore.key(number))
}

fn wait(random: &mut Rng) -> Duration {
    Duration::from_millis(match random.u8(..100) {
        0..15 => 0,
        15..75 => random.u64(50..1_000),
        75..95 => random.u64(1_000..4_000),
        _ => 12_000,
    })
}

/// Mostly short, so that much happens; now and then longer than the lease, so that renewal counts.
fn hold(random: &mut Rng, lease: Duration) -> Duration {
    match random.u16(..1_000) {
        0..750 => Duration::from_micros(random.u64(0..5_000)),
        750..970 => Duration::from_millis(random.u64(5..20)),
        970..995 => Duration::from_millis(random.u64(20..200)),
        _ => lease.mul_f64(1.2 + random.f64()),
    }
}
