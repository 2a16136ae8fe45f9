//! The trait that every store of locks implements.
//!
//! **Unstable until 0.1 is released**: commands and outcomes may still change.
//!
//! A [`LockStore`] arbitrates between processes; everything else is the client's task: queues
//! within the process, the wait loop, renewal, re-entry by scope, loss. The client sends one
//! command at a time for each hold, and the store carries each out atomically.
//! [`MemoryStore`](crate::MemoryStore) is the reference: where this text leaves a question open, a
//! store does what that one does. The cases that every store must pass are in
//! `lock_core::test_util::conformance`, with the feature `test-util`.
//!
//! # Retries
//!
//! Every command may be sent again. The client does not know the outcome of a command that was not
//! answered, so it may send the same one again, or release what that one may have acquired, and the
//! first one may still arrive after the second. So each command names the state to be reached, not
//! the change: an [`AcquireCommand`] requests hold number `holds`, a [`ReleaseCommand`] names how
//! many are left. If that state is reached already, the store answers with success. A *late*
//! acquisition is the one command that the store need not refuse: its owner is never used again, and
//! the client retries the release until the lease must have ended.
//!
//! [`StoreError::Unavailable`] means that the command may have been executed. A store that knows that
//! it was not still returns that error; the client treats both alike.
//!
//! # Time
//!
//! Every command ends in bounded time: with its outcome, or with [`Unavailable::no_answer`] once the
//! store's own time limit is over. The client sets none, except for the end of a caller's wait. A
//! store that never answers would keep its callers waiting; it could not make two of them rely on
//! one lock, since the client's clock ends a hold that is not renewed.
//!
//! Every duration is measured on the *store's* clock, from the moment at which it executes the
//! command; no command contains a point in time. The client stops relying on a hold by its own
//! clock, counted from *sending* the command, minus a margin (a twentieth of the lease, at least 10
//! ms, at most a quarter of the lease). So the client stops relying on a lock before the store may
//! grant it to another, as long as the store never ends a hold before its lease, on a clock that
//! runs as fast as the client's. A store whose sessions end as a whole reports that with
//! [`LockStore::session_lease`].
//!
//! # Fencing tokens
//!
//! Tokens come from the store. A token granted with a write exceeds every earlier token of its key,
//! one granted with a read every earlier write's; they keep growing after leases end, locks are taken
//! away, and the store restarts.
//!
//! # What is only a hint
//!
//! Wake-ups. A waiter relies only on the answer to its own command; a lost message costs it time, a
//! superfluous one a command. Places in line bound unfairness, not correctness: a place ends after
//! the time that its command gives, and a store without a line leaves `in_line` false.
//!
//! # What a store may lack
//!
//! Every method with a body. If the store does not support a command at all, such as one for a kind
//! of lock, it answers with [`StoreError::Unsupported`] before it changes anything. The caller of the
//! client gets it as [`AcquireError::Unsupported`](crate::AcquireError::Unsupported) and its like.

#[cfg(any(feature = "redis", feature = "zookeeper"))]
mod client_name;
mod command;
pub(crate) mod memory;
mod notify;
mod outcome;
#[cfg(feature = "redis")]
pub(crate) mod redis;
mod snapshot;
#[cfg(feature = "zookeeper")]
pub(crate) mod zookeeper;

use std::{fmt, future::ready, time::Duration};

use futures_util::{FutureExt, future::BoxFuture};

pub use command::{
    AcquireCommand, ConvertCommand, Holder, Holds, LeaveCommand, ReleaseCommand, RenewCommand,
    TransferCommand, WorkRecord,
};
#[cfg(any(feature = "redis", feature = "zookeeper", feature = "test-util"))]
pub(crate) use notify::NotifyState;
pub use notify::{WakeTopic, WakeupReceiver, WakeupSender};
pub use outcome::{
    Acquired, AcquiredAll, Downgraded, Released, Renewal, StoreHealth, StoreIdentity, Transferred,
    Upgraded,
};
pub use snapshot::{HolderSnapshot, LockSnapshot, WaiterSnapshot};

use crate::types::{ClientInfo, ForcedRelease, KeyPage, LockKey, Mode, Unavailable};
pub use crate::types::{OwnerId, StoreError, Unsupported};

/// The future of a command's outcome.
pub type StoreFuture<'a, T> = BoxFuture<'a, Result<T, StoreError>>;

fn unsupported<'a, T: Send + 'a>(what: &'static str) -> StoreFuture<'a, T> {
    ready(Err(Unsupported::new(what).into())).boxed()
}

/// Refuses to set the number of a semaphore's permits, where the store keeps none.
pub(crate) fn own_number_of_permits<'a>() -> StoreFuture<'a, Option<i64>> {
    unsupported(
        "setting a semaphore's permits: the number is each client's own, given with \
         LockClient::semaphore",
    )
}

/// Leaves a line by one release for each waiter.
pub(crate) fn leave_one_by_one<S: LockStore + ?Sized>(
    store: &S,
    command: LeaveCommand,
) -> StoreFuture<'_, ()> {
    async move {
        for release in command.releases() {
            store.release(release).await?;
        }
        Ok(())
    }
    .boxed()
}

/// A store of locks. See the [module](self) for what holds for every command.
///
/// Methods are called on the runtime of the client. Dropping the future of a command may or may not
/// undo it: the client releases what may have been acquired.
pub trait LockStore: fmt::Debug + Send + Sync + 'static {
    /// Grants the owner hold number `holds` of a mode, if no other owner is in the way: any number
    /// of readers, or one writer, which may also read; for kinds without readers one holder; for a
    /// semaphore as many owners as it has permits.
    ///
    /// - An owner that has the hold already, or more, is granted it again: [`Acquired::Granted`].
    /// - Outermost (`holds` is 1, and the owner holds nothing): granted with a new token, unless
    ///   others hold the lock in a way that excludes this mode, or are ahead in line.
    /// - Re-entry (the owner holds the key in some way): granted without a token if the owner has
    ///   at least `holds - 1`, whether or not others wait. [`Acquired::Lost`] if it has fewer.
    ///   Every kind must count re-entry, the non-reentrant one too: the client itself refuses
    ///   re-entry for that kind.
    /// - A grant never shortens what is left of the owner's lease.
    fn acquire(&self, command: AcquireCommand) -> StoreFuture<'_, Acquired>;

    /// Leaves the owner with at most `holds` of a mode, and wakes the waiters that may enter now.
    ///
    /// If the owner has no such hold, the answer is [`Released::Gone`], and nothing changes: it may
    /// have been released before, or never acquired. With `in_line` the owner also leaves the line.
    /// Releasing the last write of an owner that still reads leaves a read that other readers may
    /// share.
    fn release(&self, command: ReleaseCommand) -> StoreFuture<'_, Released>;

    /// Returns how long ago a release of a key by this client met waiters that have no place in the store's
    /// line: clients of another library. For a moment the client leaves such a lock free for them, and
    /// hands it on less often within the process. A hint, and cheap. Default: there are none.
    fn met_others(&self, key: &LockKey) -> Option<Duration> {
        let _ = key;
        None
    }

    /// Removes waiters of one key from its line, and takes from each what it may have been granted
    /// meanwhile: does for each of them what [`release`](Self::release) does with `in_line` and no
    /// hold left. At most 64 waiters. The client sends it only for fair kinds, because only those
    /// have several waiters of one client in a line.
    ///
    /// Many waiters of a long line may give up early, so a store with fair kinds should execute
    /// this as one command. Default: one release after the other.
    fn leave(&self, command: LeaveCommand) -> StoreFuture<'_, ()> {
        leave_one_by_one(self, command)
    }

    /// Extends each hold to another lease, and never shortens one. Returns one answer per command,
    /// in order. All commands are of the same kind, mode and [shard](Self::shard), at most 128.
    ///
    /// If an owner holds nothing in this mode, its answer is [`Renewal::Lost`], and the client ends
    /// its hold: this is how a holder learns that its lock was taken away.
    fn renew(&self, mode: Mode, commands: Vec<RenewCommand>) -> StoreFuture<'_, Vec<Renewal>>;

    /// Returns the state of the store, and how long it took to answer just now.
    fn health(&self) -> BoxFuture<'_, StoreHealth>;

    /// Returns whether the store reserves the tokens of [`AcquireCommand::reserved_tokens`]. If it
    /// does, a lock passes from one waiter to the next within a process, with the reserved tokens.
    /// If not, the store grants the lock to each waiter itself. Default: `false`.
    fn reserves_tokens(&self) -> bool {
        false
    }

    /// Returns whether [`upgrade`](Self::upgrade) and [`downgrade`](Self::downgrade) are
    /// implemented. If not, the client refuses both as unsupported. Default: `false`.
    fn supports_mode_changes(&self) -> bool {
        false
    }

    /// Turns one read of the owner into a write, if it is the only reader, with a new token and a
    /// whole lease.
    ///
    /// An owner that has the holds of `after` already is granted a new token. A store that supports
    /// downgrades but not upgrades answers [`Upgraded::NotSole`]. Default: unsupported.
    fn upgrade(&self, command: ConvertCommand) -> StoreFuture<'_, Upgraded> {
        drop(command);
        unsupported("upgrades")
    }

    /// Turns one write of the owner into a read, and wakes waiting readers. If the owner has the
    /// holds of `after` already, the answer is [`Downgraded::Done`]. The client also sends it to
    /// revert an upgrade whose outcome is not known. Default: unsupported.
    fn downgrade(&self, command: ConvertCommand) -> StoreFuture<'_, Downgraded> {
        drop(command);
        unsupported("downgrades")
    }

    /// Returns whether [`transfer`](Self::transfer) is implemented. If not, the client refuses to park a
    /// hold as unsupported. Default: `false`.
    fn supports_transfers(&self) -> bool {
        false
    }

    /// Passes the only hold of an owner on to another owner, which holds nothing yet, with the same
    /// token and for as long as it would have lasted. Waiters keep their places. Not sent for
    /// semaphores. If the new owner has the hold already, the answer is [`Transferred::Done`]. Default:
    /// unsupported.
    fn transfer(&self, command: TransferCommand) -> StoreFuture<'_, Transferred> {
        drop(command);
        unsupported("holds that change hands")
    }

    /// Returns whether [`acquire_all`](Self::acquire_all) can take these keys together. If not, the
    /// client acquires them one after the other, in the order of their keys. Default: `false`.
    fn supports_atomic_multi(&self, keys: &[&LockKey]) -> bool {
        let _ = keys;
        false
    }

    /// Acquires all or none, as one command. When one is refused, no hold of the others is left,
    /// and the waiters of their keys are woken as by a release; the refused one may keep its place
    /// in line. When the client stops waiting in a line, it leaves that line with a release. Sent
    /// only if [`supports_atomic_multi`](Self::supports_atomic_multi) returns `true`. Default:
    /// unsupported.
    fn acquire_all(&self, commands: Vec<AcquireCommand>) -> StoreFuture<'_, AcquiredAll> {
        drop(commands);
        unsupported("several locks at once")
    }

    /// Returns how many permits of a semaphore are free, negative if too many are in use, or `None` if
    /// the key holds something else. There are `permits` of them, unless the store keeps a number.
    /// Default: unsupported.
    fn free_permits(&self, key: LockKey, permits: u32) -> StoreFuture<'_, Option<i64>> {
        let _ = (key, permits);
        unsupported("semaphores")
    }

    /// Sets the number of a semaphore's permits, those in use included, in a store that keeps it.
    /// Returns the same as [`free_permits`](Self::free_permits) does afterwards. Default: unsupported.
    fn set_permits(&self, key: LockKey, permits: u32) -> StoreFuture<'_, Option<i64>> {
        let _ = (key, permits);
        own_number_of_permits()
    }

    /// Subscribes to wake-ups. Must not wait for a connection; see [`WakeupSender`] for a
    /// subscription that takes time. Default: there are none, and waiters poll, at the end of the
    /// holder's lease and at least every second.
    fn wakeups(&self, topic: WakeTopic) -> WakeupReceiver {
        drop(topic);
        WakeupReceiver::never()
    }

    /// Returns the part of the store that a key is in. The client renews holds of one shard
    /// together, and distinguishes a shard that does not answer from one that does. Default: there
    /// is one.
    fn shard(&self, key: &LockKey) -> u16 {
        let _ = key;
        0
    }

    /// Returns the one lease of all locks of this client, if the store has no lease per lock but a
    /// session that ends as a whole: less than the session's timeout, by the margin that the store
    /// needs beyond the client's own. The client then uses this lease, and refuses any other as
    /// unsupported.
    ///
    /// Such a store answers [`renew`](Self::renew) by confirming its session, once for all commands
    /// pending at that moment. A confirmation that was sent before a command arrived must not
    /// answer that command, since the client counts from then. Default: every lock has its own
    /// lease.
    fn session_lease(&self) -> Option<Duration> {
        None
    }

    /// Checks, without sending a command, whether the store can be reached. Called for waiters that
    /// queue behind another one of their process. A connection that has just ended and is being
    /// replaced is not a failure. Default: nothing is known to be wrong.
    ///
    /// # Errors
    ///
    /// Why it has not been reachable for the command timeout.
    fn connection_status(&self) -> Result<(), Unavailable> {
        Ok(())
    }

    /// Executes any command that shows that the shard of this key answers again. The client sends
    /// it now and then after the shard did not answer. Default: [`health`](Self::health).
    fn probe(&self, key: LockKey) -> StoreFuture<'_, ()> {
        drop(key);
        self.health().map(|health| Ok(health.round_trip.map(|_| ())?)).boxed()
    }

    /// Returns which server the store is on. [`RedLock`](crate::RedLock) needs it: it must not
    /// count one server twice, or use one that has just lost its locks. Default: unsupported.
    fn identity(&self) -> StoreFuture<'_, StoreIdentity> {
        unsupported("RedLock")
    }

    /// Keeps what owners of this client work on, for operators: at most 128 texts, which
    /// [`StoreAdmin::work`] or the snapshots of [`StoreAdmin::inspect`] return. No lock relies on them; a
    /// text may be lost, and may be kept for somewhat longer or shorter than it says. Default: keeps none.
    fn record_work(&self, records: Vec<WorkRecord>) -> StoreFuture<'_, ()> {
        drop(records);
        ready(Ok(())).boxed()
    }

    /// Removes what the client keeps in the store beside locks, and closes its connections. Called
    /// once, when the client shuts down. Default: does nothing.
    fn close(&self) -> BoxFuture<'_, ()> {
        ready(()).boxed()
    }

    /// Returns the operator's side of the store: inspecting locks and taking them away. Default:
    /// unsupported.
    fn admin(&self) -> Option<&dyn StoreAdmin> {
        None
    }
}

/// The operator's side of a store: inspecting locks and taking them away, by
/// [`LockClient::inspect`](crate::LockClient::inspect) and its like.
pub trait StoreAdmin: Send + Sync {
    /// Returns what the store has for a key, at one moment. `None` if it is not a lock.
    fn inspect(&self, key: LockKey) -> StoreFuture<'_, Option<LockSnapshot>>;

    /// As [`inspect`](Self::inspect), for a caller that needs the holders alone: each waiter calls it after
    /// half a second, so its cost should not grow with the waiters, which it leaves out. Default:
    /// `inspect`.
    fn inspect_holders(&self, key: LockKey) -> StoreFuture<'_, Option<LockSnapshot>> {
        self.inspect(key)
    }

    /// Lists locks that are held, and semaphores, whose keys begin with `prefix`: one page of them,
    /// sorted, which begins where [`KeyPage::next`] of the page before points to. About `limit` of
    /// them, at least 1; fewer if the store would work too long for one page. Default: unsupported.
    fn list(
        &self,
        prefix: String,
        after: Option<String>,
        limit: usize,
    ) -> StoreFuture<'_, KeyPage> {
        let _ = (prefix, after, limit);
        unsupported("lists of locks")
    }

    /// Returns the names of clients, by [`OwnerId::client`](OwnerId::client): one answer each, in
    /// order, `None` if it is not known. Default: none is known.
    fn client_names(&self, clients: Vec<String>) -> StoreFuture<'_, Vec<Option<ClientInfo>>> {
        ready(Ok(vec![None; clients.len()])).boxed()
    }

    /// Returns the texts of [`LockStore::record_work`], by the owners as in the snapshots of
    /// [`inspect`](Self::inspect): one answer each, in order, `None` if there is none. Default: there is
    /// none.
    fn work(&self, owners: Vec<String>) -> StoreFuture<'_, Vec<Option<String>>> {
        ready(Ok(vec![None; owners.len()])).boxed()
    }

    /// Takes a lock away from all its holders, makes their tokens stale, and wakes waiters. `None`
    /// if the key holds something that is not a lock. Not sent again: it would take the lock from
    /// the next holder. Default: unsupported.
    fn force_release(&self, key: LockKey) -> StoreFuture<'_, Option<ForcedRelease>> {
        drop(key);
        unsupported("taking locks away")
    }

    /// Requests that all current holders release the lock, and returns how many there are. `None`
    /// if the key holds something that is not a lock. Default: unsupported.
    fn request_release(&self, key: LockKey) -> StoreFuture<'_, Option<u32>> {
        drop(key);
        unsupported("requests to release")
    }

    /// Returns whether this holder was requested to release. Default: `false`.
    fn release_requested(&self, holder: Holder) -> StoreFuture<'_, bool> {
        drop(holder);
        ready(Ok(false)).boxed()
    }
}
