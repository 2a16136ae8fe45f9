//! Which locks are requested together, and within which bounds.

use lock_core::{Kind, Mode};

use crate::model::{
    self,
    names::{LockNames, NATIVE_SEVERAL, SEVERAL, Wire},
};

/// The lease of every hold, in milliseconds.
pub(super) const LEASE_MS: i64 = 1_500;

/// By how much the clock goes on, in milliseconds.
pub(super) const TICK_MS: i64 = 1_000;

/// What comes over the second lock, once, at any moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trouble {
    /// Nothing.
    None,
    /// An application's list stands under its name.
    Foreign,
    /// An application's list stands under the name of its tokens.
    ForeignToken,
    /// The user may not touch the key of its tokens any more.
    Denied,
}

/// Every sequence of so many operations of two clients, with any time between them.
#[derive(Debug, Clone)]
pub struct Setup {
    /// Of the table.
    pub name: &'static str,
    pub(crate) names: &'static [LockNames; 2],
    /// Of each lock.
    pub kinds: [Kind; 2],
    /// In which modes they are requested together.
    pub requests: &'static [[Mode; 2]],
    /// How many clients.
    pub clients: u8,
    /// How many scripts are run, by all of them together.
    pub operations: u8,
    /// How many commands may be under way at once whose sender hears no more of them.
    pub late: u8,
    /// How many holds one owner takes of a lock, at most.
    pub holds: u32,
    /// Whether a refused owner waits in line.
    pub waits: bool,
    /// What may go wrong.
    pub trouble: Trouble,
    /// Whether a client ends the old connection before it uses another one, as clients do it.
    pub ends_connections: bool,
}

impl Setup {
    /// Two locks of one kind.
    #[must_use]
    pub fn of(
        name: &'static str,
        kind: Kind,
        requests: &'static [[Mode; 2]],
        operations: u8,
    ) -> Self {
        Self {
            name,
            names: &SEVERAL,
            kinds: [kind; 2],
            requests,
            clients: 2,
            operations,
            late: 0,
            holds: 1,
            waits: true,
            trouble: Trouble::None,
            ends_connections: true,
        }
    }

    /// The same on the native wire.
    #[must_use]
    pub fn native(
        name: &'static str,
        kind: Kind,
        requests: &'static [[Mode; 2]],
        operations: u8,
    ) -> Self {
        Self { names: &NATIVE_SEVERAL, ..Self::of(name, kind, requests, operations) }
    }

    pub(super) fn is_native(&self) -> bool {
        self.names[0].wire == Wire::Native
    }

    /// One of the locks, as if it were alone.
    pub(super) fn side(&self, at: usize) -> model::Setup {
        model::Setup {
            names: &self.names[at],
            permits: 1,
            leases: &[LEASE_MS],
            waits: self.waits,
            ..model::Setup::of(self.name, self.kinds[at])
        }
    }

    /// Every mode in which one of the locks is requested, once.
    pub(super) fn modes(&self, at: usize) -> Vec<Mode> {
        let mut modes: Vec<Mode> = self.requests.iter().map(|modes| modes[at]).collect();
        modes.dedup();
        if modes.len() > 1 { vec![Mode::Read, Mode::Write] } else { modes }
    }
}
