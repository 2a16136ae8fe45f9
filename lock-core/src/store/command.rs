//! What a store is asked to do.

use std::time::Duration;

use crate::{Kind, LockKey, Mode, owner::OwnerId};

/// One owner on one key.
#[derive(Debug, Clone)]
pub(crate) struct Holder {
    pub(crate) kind: Kind,
    pub(crate) key: LockKey,
    pub(crate) owner: OwnerId,
}

/// How many holds one owner has on one key, by mode.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Holds {
    pub(crate) read: u32,
    pub(crate) write: u32,
}

impl Holds {
    pub(crate) fn of(self, mode: Mode) -> u32 {
        match mode {
            Mode::Read => self.read,
            Mode::Write => self.write,
        }
    }

    pub(crate) fn of_mut(&mut self, mode: Mode) -> &mut u32 {
        match mode {
            Mode::Read => &mut self.read,
            Mode::Write => &mut self.write,
        }
    }

    pub(crate) fn none(self) -> bool {
        self == Self::default()
    }
}

/// Asks for an owner's hold number `holds`.
#[derive(Debug)]
pub(crate) struct AcquireCommand {
    pub(crate) kind: Kind,
    pub(crate) key: LockKey,
    pub(crate) owner: OwnerId,
    pub(crate) mode: Mode,
    pub(crate) holds: u32,
    pub(crate) lease: Duration,
    /// Stands back behind another waiter that is next: a reader behind a writer, a writer behind
    /// anybody.
    pub(crate) yields: bool,
    /// How long the place in line lives that a refused waiter takes or keeps: in a fair kind's line
    /// its place in order of arrival, otherwise the mark of the one that is next. `None`: it does
    /// not stand in line.
    pub(crate) place: Option<Duration>,
    /// For how long this waiter has waited: where there is no line, who has waited longest is next.
    pub(crate) waited: Duration,
    /// How many fencing tokens to keep in reserve after the one that is granted with a write.
    pub(crate) turns: u32,
    /// The permits that a semaphore is made with if there is none.
    pub(crate) permits: u32,
}

impl AcquireCommand {
    /// The owner that asks, on its key.
    pub(crate) fn holder(&self) -> Holder {
        Holder { kind: self.kind, key: self.key.clone(), owner: self.owner.clone() }
    }
}

/// Brings an owner's holds of one mode down to `holds`.
#[derive(Debug)]
pub(crate) struct ReleaseCommand {
    pub(crate) holder: Holder,
    pub(crate) mode: Mode,
    pub(crate) holds: u32,
    /// The owner may stand in line, and leaves it.
    pub(crate) in_line: bool,
}

#[derive(Debug)]
pub(crate) struct RenewCommand {
    pub(crate) holder: Holder,
    pub(crate) lease: Duration,
}

/// Changes one hold's mode; `after` is what the owner has then.
#[derive(Debug)]
pub(crate) struct ConvertCommand {
    pub(crate) holder: Holder,
    pub(crate) after: Holds,
    pub(crate) lease: Duration,
}
