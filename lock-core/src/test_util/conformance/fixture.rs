//! A store under test.

use futures_util::{
    FutureExt,
    future::{BoxFuture, ready},
};

use crate::{
    client::{LockClient, LockClientBuilder},
    types::{Kind, LockKey},
};

/// What a store may lack.
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
    /// Tokens in reserve, and with them locks that go from one waiter of a process to the next.
    ReservedTokens,
    /// Upgrades and downgrades.
    ModeChanges,
    /// Looking at locks and taking them away: [`StoreAdmin`](crate::store::StoreAdmin).
    Admin,
    /// Waiters are woken, and need not look by themselves.
    WakeUps,
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

/// A store under test, on which any number of clients meet. Each case has one of its own.
pub trait Fixture: Send + Sync + 'static {
    /// A client on this store with these options, as another process has it. It may be asked for on
    /// any runtime; the client lives on that one.
    fn client(&self, builder: LockClientBuilder) -> BoxFuture<'_, LockClient>;

    /// Takes a lock away from under its holder, who learns of it at its next renewal.
    fn remove(&self, key: LockKey) -> BoxFuture<'_, ()>;

    /// Forgets what the store remembers of a free lock, if that would show in a snapshot of the next
    /// one. Default: there is nothing to forget.
    fn forget(&self, key: LockKey) -> BoxFuture<'_, ()> {
        drop(key);
        ready(()).boxed()
    }

    /// Whether the store has a feature; cases that need one that it lacks are left out. Default: it
    /// has all of them.
    fn supports(&self, feature: Feature) -> bool {
        let _ = feature;
        true
    }
}
