//! What a store of locks must be able to do: one command at a time, each safe to ask again.

mod command;
mod notify;
mod outcome;
mod snapshot;

use std::fmt;

use futures_util::future::BoxFuture;

pub(crate) use command::{
    AcquireCommand, ConvertCommand, Holder, Holds, ReleaseCommand, RenewCommand,
};
pub(crate) use notify::{NotifyState, WakeTopic, WakeupReceiver};
pub(crate) use outcome::{
    Acquired, AcquiredAll, Downgraded, Identity, Released, Renewal, StoreHealth, Upgraded,
};
pub(crate) use snapshot::{HolderSnapshot, LockSnapshot, WaiterSnapshot};

use crate::{ClientInfo, ForcedRelease, Listing, LockKey, Mode, error::Unavailable};

/// A step's answer, or the news that nobody knows whether it was done.
pub(crate) type Answer<'a, T> = BoxFuture<'a, Result<T, Unavailable>>;

/// A store of locks.
///
/// Every step may be asked again after an unknown outcome, and owns what it names: it may outlive its
/// caller. Steps of one hold are never asked at the
/// same time.
pub(crate) trait LockStore: fmt::Debug + Send + Sync + 'static {
    fn acquire(&self, step: AcquireCommand) -> Answer<'_, Acquired>;
    /// Whether [`acquire_all`](Self::acquire_all) can be asked for these keys.
    fn supports_atomic_multi(&self, keys: &[&LockKey]) -> bool;
    /// All of them or none, in one step.
    fn acquire_all(&self, steps: Vec<AcquireCommand>) -> Answer<'_, AcquiredAll>;
    fn release(&self, step: ReleaseCommand) -> Answer<'_, Released>;
    /// Holds of one shard are renewed together; shards fail one by one.
    fn shard(&self, key: &LockKey) -> u16;
    /// One answer per step, in order; all steps are of the same kind, mode and shard.
    fn renew(&self, mode: Mode, steps: Vec<RenewCommand>) -> Answer<'_, Vec<Renewal>>;
    fn upgrade(&self, step: ConvertCommand) -> Answer<'_, Upgraded>;
    fn downgrade(&self, step: ConvertCommand) -> Answer<'_, Downgraded>;
    /// `None` when something that is no lock stands under the key.
    fn inspect(&self, key: LockKey) -> Answer<'_, Option<LockSnapshot>>;
    /// The locks whose keys begin so, sorted: at most so many.
    fn list(&self, prefix: String, limit: usize) -> Answer<'_, Listing>;
    /// Who clients are, by the first part of their owners: `None` for those not known.
    fn client_names(&self, clients: Vec<String>) -> Answer<'_, Vec<Option<ClientInfo>>>;
    /// `None` when something that is no lock stands under the key.
    fn force_release(&self, key: LockKey) -> Answer<'_, Option<ForcedRelease>>;
    /// Asks every holder to release; says how many there are. `None` when something else stands
    /// under the key.
    fn request_release(&self, key: LockKey) -> Answer<'_, Option<u32>>;
    /// Whether this holder was asked to release.
    fn release_requested(&self, holder: Holder) -> Answer<'_, bool>;
    /// Sets a semaphore's permits, held ones counted; says how many are free then. `None` when
    /// something else stands under the key.
    fn set_permits(
        &self,
        key: LockKey,
        permits: u32,
        only_missing: bool,
    ) -> Answer<'_, Option<i64>>;
    fn wakeups(&self, topic: WakeTopic) -> WakeupReceiver;
    /// Whether the store can be asked at all, as far as is known without asking.
    fn connection_status(&self) -> Result<(), Unavailable>;
    fn identity(&self) -> Answer<'_, Identity>;
    fn health(&self) -> BoxFuture<'_, StoreHealth>;
    /// Gives up what the client keeps in the store beside its locks, and the connections.
    fn close(&self) -> BoxFuture<'_, ()>;
}
