//! The commands of a store.

use std::time::Duration;

use crate::types::{Kind, LockKey, Mode, OwnerId};

/// One owner on one key.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Holder {
    /// The kind of lock that the owner uses the key as.
    pub kind: Kind,
    /// The key.
    pub key: LockKey,
    /// The owner.
    pub owner: OwnerId,
}

impl Holder {
    /// Creates a holder: one owner on one key.
    #[must_use]
    #[inline]
    pub fn new(kind: Kind, key: LockKey, owner: OwnerId) -> Self {
        Self { kind, key, owner }
    }
}

/// The number of holds that one owner has on one key, by mode. A lock without readers counts as
/// written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "there are two modes")]
pub struct Holds {
    /// Reads.
    pub read: u32,
    /// Writes.
    pub write: u32,
}

impl Holds {
    /// Creates holds of one mode.
    #[must_use]
    #[inline]
    pub fn of(self, mode: Mode) -> u32 {
        match mode {
            Mode::Read => self.read,
            Mode::Write => self.write,
        }
    }

    #[doc(hidden)]
    #[inline]
    pub fn of_mut(&mut self, mode: Mode) -> &mut u32 {
        match mode {
            Mode::Read => &mut self.read,
            Mode::Write => &mut self.write,
        }
    }

    /// Returns whether there are none of either mode.
    #[must_use]
    #[inline]
    pub fn none(self) -> bool {
        self == Self::default()
    }
}

/// Acquires an owner's hold number [`holds`](Self::holds) on a key: see
/// [`LockStore::acquire`](super::LockStore::acquire).
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct AcquireCommand {
    /// The kind of lock.
    pub kind: Kind,
    /// The key.
    pub key: LockKey,
    /// The owner: a fresh one for every outermost hold.
    pub owner: OwnerId,
    /// How it is to be held; always [`Mode::Write`] for kinds without readers.
    pub mode: Mode,
    /// How many holds of this mode the owner is to have: 1 is the outermost, more is re-entry.
    pub holds: u32,
    /// How long the hold lasts unless it is renewed, from when the store executes the command.
    pub lease: Duration,
    /// While others read, a reader yields to a writer that has waited longer.
    pub yields: bool,
    /// How long the place in line lives that a refused waiter takes or renews, unless another
    /// command of its owner renews it. `None`: the caller does not wait, and takes no place.
    pub place: Option<Duration>,
    /// How long this caller has waited. A fair kind uses the order of arrival instead.
    pub waited: Duration,
    /// How many tokens to reserve with the one that is granted: the numbers that follow it. The
    /// client gives them to waiters of the same process, so the store's next token exceeds them
    /// all. Zero for fair kinds, and for a store that does not [reserve
    /// tokens](super::LockStore::reserves_tokens).
    pub reserved_tokens: u32,
    /// How many permits a semaphore has, in this client's number: a grant must fit into it.
    pub permits: u32,
    /// How many permits of a semaphore are acquired, all or none. One for every other kind.
    pub wanted_permits: u32,
}

impl AcquireCommand {
    /// Creates a first try at an outermost hold, for a caller that does not wait.
    #[must_use]
    #[inline]
    pub fn new(holder: Holder, mode: Mode, lease: Duration) -> Self {
        let Holder { kind, key, owner } = holder;
        Self {
            kind,
            key,
            owner,
            mode,
            holds: 1,
            lease,
            yields: true,
            place: None,
            waited: Duration::ZERO,
            reserved_tokens: 0,
            permits: 1,
            wanted_permits: 1,
        }
    }

    /// Returns the owner, on its key.
    #[must_use]
    #[inline]
    pub fn holder(&self) -> Holder {
        Holder { kind: self.kind, key: self.key.clone(), owner: self.owner.clone() }
    }
}

/// Brings an owner's holds of one mode down to [`holds`](Self::holds): see
/// [`LockStore::release`](super::LockStore::release).
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ReleaseCommand {
    /// The owner, on its key.
    pub holder: Holder,
    /// The mode of its holds.
    pub mode: Mode,
    /// How many are to be left.
    pub holds: u32,
    /// Whether the owner may have a place in line; it then leaves the line.
    pub in_line: bool,
    /// Whether the owner keeps holds of the other mode. A store that releases several locks by one
    /// command may send this one by itself.
    pub keeps_other_mode: bool,
}

impl ReleaseCommand {
    /// Creates a release that leaves `holds` of this mode.
    #[must_use]
    #[inline]
    pub fn new(holder: Holder, mode: Mode, holds: u32) -> Self {
        Self { holder, mode, holds, in_line: false, keeps_other_mode: false }
    }
}

/// Takes waiters of one key out of its line: see [`LockStore::leave`](super::LockStore::leave).
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct LeaveCommand {
    /// The kind of lock.
    pub kind: Kind,
    /// The key.
    pub key: LockKey,
    /// The waiters, each with the mode that it waits for.
    pub waiters: Vec<(OwnerId, Mode)>,
}

impl LeaveCommand {
    /// Creates a command by which these waiters leave.
    #[must_use]
    #[inline]
    pub fn new(kind: Kind, key: LockKey, waiters: Vec<(OwnerId, Mode)>) -> Self {
        Self { kind, key, waiters }
    }

    /// Returns the equivalent releases, one for each waiter.
    #[doc(hidden)]
    pub fn releases(self) -> impl Iterator<Item = ReleaseCommand> + Send {
        let Self { kind, key, waiters } = self;
        waiters.into_iter().map(move |(owner, mode)| ReleaseCommand {
            holder: Holder::new(kind, key.clone(), owner),
            mode,
            holds: 0,
            in_line: true,
            keeps_other_mode: false,
        })
    }
}

/// Lets a hold last for another lease: see [`LockStore::renew`](super::LockStore::renew).
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct RenewCommand {
    /// The owner, on its key.
    pub holder: Holder,
    /// How long the hold lasts from when the store executes the command.
    pub lease: Duration,
    /// Whether it lasts for exactly that long: a longer lease is shortened. Set only for a hold on which nothing
    /// relies any more, or yet; a store that does not shorten it keeps the lock held for longer.
    pub exactly: bool,
}

impl RenewCommand {
    /// Creates a renewal.
    #[must_use]
    #[inline]
    pub fn new(holder: Holder, lease: Duration) -> Self {
        Self { holder, lease, exactly: false }
    }

    /// Creates a renewal that may shorten the lease.
    #[must_use]
    #[inline]
    pub fn exactly(holder: Holder, lease: Duration) -> Self {
        Self { holder, lease, exactly: true }
    }
}

/// Passes an owner's only hold on to another owner: see
/// [`LockStore::transfer`](super::LockStore::transfer).
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct TransferCommand {
    /// The owner that has it, on its key.
    pub holder: Holder,
    /// The mode of the hold.
    pub mode: Mode,
    /// The owner that gets it: a fresh one.
    pub to: OwnerId,
}

impl TransferCommand {
    /// Creates a transfer.
    #[must_use]
    #[inline]
    pub fn new(holder: Holder, mode: Mode, to: OwnerId) -> Self {
        Self { holder, mode, to }
    }
}

/// Changes the mode of one hold: see [`LockStore::upgrade`](super::LockStore::upgrade) and
/// [`downgrade`](super::LockStore::downgrade).
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ConvertCommand {
    /// The owner, on its key.
    pub holder: Holder,
    /// The holds that the owner has afterwards.
    pub after: Holds,
    /// How long the hold lasts from when the store executes the command.
    pub lease: Duration,
}

impl ConvertCommand {
    /// Creates a change of mode.
    #[must_use]
    #[inline]
    pub fn new(holder: Holder, after: Holds, lease: Duration) -> Self {
        Self { holder, after, lease }
    }
}

/// The work of an owner, for operators: see
/// [`LockStore::record_work`](super::LockStore::record_work).
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct WorkRecord {
    /// The owner, which holds the lock or waits for it.
    pub holder: Holder,
    /// The text to keep. `None`: none is needed any more.
    pub text: Option<String>,
    /// How long to keep it, unless it is written again.
    pub keep: Duration,
}

impl WorkRecord {
    /// Creates a record.
    #[must_use]
    #[inline]
    pub fn new(holder: Holder, text: Option<String>, keep: Duration) -> Self {
        Self { holder, text, keep }
    }
}
