//! What is locked: a few keys of every kind, so that all workers meet.

use std::time::Duration;

use lock_core::{Kind, Mode};
use serde::{Deserialize, Serialize};

/// How many keys each family has.
pub(crate) const KEYS: usize = 6;
/// How many permits each semaphore has.
pub(crate) const PERMITS: u32 = 3;

/// For how long a newer caller leaves a lock to its holder.
pub(crate) const REPLACED_AFTER: Duration = Duration::from_millis(300);

/// Keys that are locked in the same way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) enum Family {
    Reentrant,
    NonReentrant,
    Fenced,
    Fair,
    ReadWrite,
    FairReadWrite,
    Semaphore,
    /// Written by multi-locks and by single locks.
    Multi,
    /// A newer caller replaces the holder.
    Replaced,
    /// A result that one caller makes for all.
    Flight,
    /// Led in terms: by the worker of the key's number mostly.
    Leader,
    /// Parked by one worker, resumed by another: on Redis alone.
    Parked,
    /// Acquired with a permit of each of two semaphores.
    Limits,
    /// Locked on both wires of Redis, in row 54 alone.
    BothWires,
}

impl Family {
    pub(crate) const ALL: [Self; 13] = [
        Self::Reentrant,
        Self::NonReentrant,
        Self::Fenced,
        Self::Fair,
        Self::ReadWrite,
        Self::FairReadWrite,
        Self::Semaphore,
        Self::Multi,
        Self::Replaced,
        Self::Flight,
        Self::Leader,
        Self::Parked,
        Self::Limits,
    ];
    /// Those that every turn may lock.
    pub(crate) const OF_TURNS: [Self; 10] = [
        Self::Reentrant,
        Self::NonReentrant,
        Self::Fenced,
        Self::Fair,
        Self::ReadWrite,
        Self::FairReadWrite,
        Self::Semaphore,
        Self::Multi,
        Self::Replaced,
        Self::Limits,
    ];

    pub(crate) fn kind(self) -> Kind {
        match self {
            Self::Reentrant | Self::BothWires => Kind::Reentrant,
            Self::NonReentrant => Kind::NonReentrant,
            Self::Fenced | Self::Leader => Kind::Fenced,
            Self::Fair => Kind::Fair,
            Self::ReadWrite
            | Self::Multi
            | Self::Replaced
            | Self::Flight
            | Self::Parked
            | Self::Limits => Kind::ReadWrite,
            Self::FairReadWrite => Kind::FairReadWrite,
            Self::Semaphore => Kind::Semaphore,
        }
    }

    pub(crate) fn is_fair(self) -> bool {
        self.kind().is_fair()
    }

    /// Whether a turn of it may read.
    pub(crate) fn has_readers(self) -> bool {
        matches!(self, Self::ReadWrite | Self::FairReadWrite)
    }

    fn name(self) -> &'static str {
        match self {
            Self::Multi => "multi",
            Self::Replaced => "replaced",
            Self::Flight => "flight",
            Self::Leader => "leader",
            Self::Parked => "parked",
            Self::Limits => "limits",
            Self::BothWires => "both_wires",
            _ => self.kind().as_str(),
        }
    }

    pub(crate) fn key(self, number: usize) -> String {
        format!("{}:{number}", self.name())
    }

    /// The shared key whose number is one more.
    pub(crate) fn key_after(self, key: &str) -> Option<String> {
        let number: usize = key.rsplit_once(':')?.1.parse().ok()?;
        (number + 1 < KEYS).then(|| self.key(number + 1))
    }

    /// The key that only this worker holds and only one other waits for: without other waiters
    /// only the waiter's own clock or the one message wakes it.
    pub(crate) fn heirloom(worker: usize) -> String {
        Self::ReadWrite.key(KEYS + worker)
    }

    /// The key that this worker waits for behind others when it is to be gone (rows 50 to 52).
    pub(crate) fn left_to(worker: usize) -> String {
        Self::Reentrant.key(KEYS + worker)
    }

    /// The family that a key belongs to.
    pub(crate) fn of(key: &str) -> Option<Self> {
        let (name, _) = key.split_once(':')?;
        Self::ALL.into_iter().find(|family| family.name() == name)
    }
}

/// Every key that workers share.
pub(crate) fn all() -> impl Iterator<Item = String> {
    Family::ALL.into_iter().flat_map(|family| (0..KEYS).map(move |number| family.key(number)))
}

/// How a key is held by an acquisition whose other keys may be semaphores.
pub(crate) fn access(key: &str, of_locks: Access) -> Access {
    if Family::of(key) == Some(Family::Semaphore) { Access::Permit } else { of_locks }
}

/// A mode as it is written down.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Access {
    Read,
    Write,
    Permit,
}

impl From<Mode> for Access {
    fn from(mode: Mode) -> Self {
        if mode == Mode::Read { Self::Read } else { Self::Write }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_a_permit_and_its_lock_is_not() {
        let of = |family: Family| access(&family.key(0), Access::Write);
        assert_eq!(of(Family::Semaphore), Access::Permit);
        assert_eq!(of(Family::Limits), Access::Write);
    }
}
