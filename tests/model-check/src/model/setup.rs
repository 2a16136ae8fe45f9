//! What a model is of, and within which bounds.

use std::time::Duration;

use lock_core::{Kind, Mode};

use super::names::{self, LockNames, Wire};

/// How long a place in line lives, as clients ask for it.
pub(crate) const PLACE: Duration = Duration::from_secs(3);
/// How long a free lock stays reserved for a waiter that does not come.
pub(crate) const RESERVED_MS: i64 = 50;

/// For how long a waiter stands back behind another one.
pub(crate) const YIELDING_MS: i64 = 1_000;

/// Every sequence of so many operations of so many clients, with any time between them.
#[derive(Debug, Clone)]
pub struct Setup {
    /// Of the table.
    pub name: &'static str,
    /// Of the lock.
    pub kind: Kind,
    pub(crate) names: &'static LockNames,
    /// How many clients.
    pub clients: u8,
    /// How many scripts are run, by all of them together.
    pub operations: u8,
    /// In which modes it is requested.
    pub modes: &'static [Mode],
    /// Leases that are requested, in milliseconds.
    pub leases: &'static [i64],
    /// How many holds of a mode one owner takes, at most.
    pub holds: u32,
    /// Whether holds change their mode.
    pub converts: bool,
    /// How many commands may be under way at once whose sender hears no more of them.
    pub late: u8,
    /// Whether a refused owner waits in line.
    pub waits: bool,
    /// Whether an operator takes the lock away.
    pub force: bool,
    /// Whether Redis reaches its memory limit and leaves it.
    pub fills: bool,
    /// Whether Redis evicts a key.
    pub evicts: bool,
    /// How many characters of a line the value of a lock has at most, if it is not as many as in the real
    /// scripts.
    pub(crate) most_in_value: Option<usize>,
    /// Permits of a semaphore.
    pub permits: u32,
    /// How many of them each owner wants at once.
    pub wanted: u32,
    /// By how much the clock goes on, in milliseconds.
    pub ticks: &'static [i64],
    /// Whether every outermost acquisition has an owner of its own, as clients do it.
    pub fresh_owners: bool,
    /// Whether Redis may lose the last fencing token, as by a failover; its clock goes on.
    pub forgets_tokens: bool,
    /// By how many microseconds tokens are ahead of Redis' clock, as after it was set back. If they
    /// are lost besides, a client's tokens exceed those alone that it knows.
    pub tokens_ahead_us: i64,
    /// Whether a client believes in a token that is none after those that it knows; no client does.
    pub believes_any_token: bool,
    /// Whether a client believes in a free lock without reading what stands there after it drew the
    /// token; no client does.
    pub believes_unread: bool,
    /// Whether a client draws the token of a free lock before it takes the lock; no client does.
    pub draws_first: bool,
}

/// The permits of a semaphore, and how many of them an owner wants.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Permits {
    pub(crate) total: u32,
    pub(crate) wanted: u32,
}

impl Setup {
    /// The least that is worth checking of a kind.
    #[must_use]
    pub fn of(name: &'static str, kind: Kind) -> Self {
        let both: &[Mode] = &[Mode::Read, Mode::Write];
        let shared = matches!(kind, Kind::ReadWrite | Kind::FairReadWrite);
        Self {
            name,
            kind,
            names: &names::K,
            clients: 2,
            operations: 4,
            modes: if shared { both } else { &[Mode::Write] },
            leases: &[1_500, 2_500],
            holds: 2,
            converts: false,
            late: 1,
            waits: true,
            force: false,
            fills: false,
            evicts: false,
            most_in_value: None,
            permits: 2,
            wanted: 1,
            ticks: &[1_000],
            fresh_owners: true,
            forgets_tokens: false,
            tokens_ahead_us: 0,
            believes_any_token: false,
            believes_unread: false,
            draws_first: false,
        }
    }

    /// The same on the native wire.
    #[must_use]
    pub fn native(name: &'static str, kind: Kind) -> Self {
        Self { names: &names::NATIVE_K, ..Self::of(name, kind) }
    }

    pub(crate) fn counts(&self) -> Permits {
        Permits { total: self.permits, wanted: self.wanted }
    }

    /// How many owners may hold the semaphore together.
    pub(crate) fn most_holders(&self) -> usize {
        usize::try_from(self.permits / self.wanted).unwrap_or(usize::MAX)
    }

    pub(crate) fn is_native(&self) -> bool {
        self.names.wire == Wire::Native
    }

    /// Whether a key tells the places of this library's waiters from those of Redisson's, whose fair locks
    /// wait in keys without an expiry.
    pub(crate) fn tells_its_waiters(&self, key: &[u8]) -> bool {
        self.kind == Kind::Fair && !self.is_native() && key == self.names.alive
    }

    /// Whether every outermost grant has a fencing token.
    #[must_use]
    pub fn has_tokens(&self) -> bool {
        self.kind != Kind::Semaphore
    }

    /// The token that the next one must exceed.
    pub(crate) fn least_token(&self, known: i64, highest: i64) -> i64 {
        if self.tokens_ahead_us > 0 { known } else { highest }
    }

    pub(crate) fn longest_lease(&self) -> i64 {
        self.leases.iter().copied().max().unwrap_or_default()
    }
}
