//! A store under test.

use std::time::Duration;

use futures_util::{
    FutureExt,
    future::{BoxFuture, ready},
};
use lock_core::{Kind, LockClient, LockClientBuilder, LockKey};

/// The features that a store may lack.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Feature {
    /// [`Kind::ReadWrite`].
    ReadWrite,
    /// [`Kind::FairReadWrite`].
    FairReadWrite,
    /// [`Kind::Reentrant`].
    Reentrant,
    /// [`Kind::NonReentrant`].
    NonReentrant,
    /// [`Kind::Fair`].
    Fair,
    /// [`Kind::Fenced`].
    Fenced,
    /// [`Kind::Semaphore`].
    Semaphore,
    /// Reserved tokens, and therefore locks that pass from one waiter of a process to the next.
    ReservedTokens,
    /// Upgrades and downgrades.
    ModeChanges,
    /// Holds that are parked, and resumed by another client.
    Parking,
    /// Inspecting locks and taking them away: [`StoreAdmin`](lock_core::store::StoreAdmin).
    Admin,
    /// The work of long holds and waits:
    /// [`LockStore::record_work`](lock_core::store::LockStore::record_work).
    WorkRecords,
    /// Waiters are woken, and need not poll.
    WakeUps,
    /// Every lock has a separate lease, not that of a session.
    LeasePerLock,
    /// Every client sees how often an owner reads and writes, not only that it holds the lock.
    StoredCounts,
    /// Several locks in one command: all or none.
    AtomicMulti,
    /// Every key can be locked, whatever characters it has.
    EveryKey,
    /// The store has a semaphore's number of permits, not each of its clients.
    StoredPermits,
    /// Several permits of a semaphore at once.
    SeveralPermits,
}

impl From<Kind> for Feature {
    fn from(kind: Kind) -> Self {
        match kind {
            Kind::ReadWrite => Self::ReadWrite,
            Kind::FairReadWrite => Self::FairReadWrite,
            Kind::Reentrant => Self::Reentrant,
            Kind::NonReentrant => Self::NonReentrant,
            Kind::Fair => Self::Fair,
            Kind::Fenced => Self::Fenced,
            Kind::Semaphore => Self::Semaphore,
        }
    }
}

/// A store under test, on which any number of clients meet. Each case has a new one.
pub trait Fixture: Send + Sync + 'static {
    /// Returns a client on this store with these options, as another process would create it. The
    /// call may be made on any runtime; the client lives on that one.
    fn client(&self, builder: LockClientBuilder) -> BoxFuture<'_, LockClient>;

    /// Returns whether the store distinguishes all kinds, so that a key that is held as one plain
    /// kind is a wrong kind for another. If not, the kinds without readers share one state, and
    /// wait for each other. Default: `false`.
    fn tells_kinds_apart(&self) -> bool {
        false
    }

    /// Takes a lock away from its holder, which learns of it at its next renewal.
    fn remove(&self, key: LockKey) -> BoxFuture<'_, ()>;

    /// Removes the store's memory of a free lock, if that would show in a snapshot of the next one.
    /// Default: does nothing.
    fn forget(&self, key: LockKey) -> BoxFuture<'_, ()> {
        drop(key);
        ready(()).boxed()
    }

    /// Returns whether the store has a feature; cases that need a missing one are skipped. Default:
    /// it has all of them.
    fn supports(&self, feature: Feature) -> bool {
        let _ = feature;
        true
    }

    /// Returns the lease of all locks of a client, if the store has no lease per lock: it is to be about
    /// a second, since cases wait for it. Default: every lock has its own.
    fn session_lease(&self) -> Option<Duration> {
        None
    }

    /// Returns whether a fair read/write lock and a plain one refuse each other. Default: they do.
    fn tells_fair_read_write_apart(&self) -> bool {
        true
    }
}
