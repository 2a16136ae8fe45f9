//! The trait of stores.

use std::{fmt, future::ready, time::Duration};

use futures_util::{
    FutureExt,
    future::{BoxFuture, join_all},
};

use crate::{
    command::{
        AcquireCommand, ConvertCommand, LeaveCommand, ReleaseCommand, RenewCommand,
        TransferCommand, WorkRecord,
    },
    notify::{WakeTopic, WakeupReceiver},
    outcome::{
        Acquired, AcquiredAll, Downgraded, Released, Renewal, StoreFuture, StoreHealth,
        StoreIdentity, Transferred, Upgraded, unsupported,
    },
    store_admin::StoreAdmin,
    types::{LockKey, Mode, StoreError, Unavailable},
};

/// Refuses to set the number of a semaphore's permits, where the store keeps none.
pub fn own_number_of_permits<'a>() -> StoreFuture<'a, Option<i64>> {
    unsupported(
        "setting a semaphore's permits: each client gives the number with LockClient::semaphore",
    )
}

/// Leaves a line by one release for each waiter.
pub fn leave_one_by_one<S: LockStore + ?Sized>(
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

/// A store of locks. See the [crate](crate) for the rules of every command.
///
/// Methods are called on the runtime of the client. Dropping the future of a command may or may not
/// undo it: the client releases every hold that may have been acquired.
pub trait LockStore: fmt::Debug + Send + Sync + 'static {
    /// Grants the owner hold number `holds` of a mode, if no other owner is in the way: any number
    /// of readers, or one writer, which may also read. Kinds without readers have one holder, a
    /// semaphore as many owners as permits.
    ///
    /// - An owner that has the hold already, or more, is granted it again: [`Acquired::Granted`].
    /// - Outermost (`holds` is 1, and the owner holds nothing): granted with a new token, unless
    ///   others hold the lock in a way that excludes this mode, or are ahead in line.
    /// - Re-entry (the owner holds the key in some way): granted without a token if the owner has
    ///   at least `holds - 1`, whether or not others wait. [`Acquired::Lost`] if it has fewer.
    ///   Every kind must count re-entry, the non-reentrant one too: the client itself refuses
    ///   re-entry for that kind.
    /// - A grant never shortens the remaining time of the owner's lease.
    fn acquire(&self, command: AcquireCommand) -> StoreFuture<'_, Acquired>;

    /// Leaves the owner with at most `holds` of a mode, and wakes the waiters that may enter now.
    ///
    /// If the owner has no such hold, the answer is [`Released::Gone`], and nothing changes: it may
    /// have been released before, or never acquired. With `in_line` the owner also leaves the line.
    /// Releasing the last write of an owner that still reads leaves a read that other readers may
    /// share.
    fn release(&self, command: ReleaseCommand) -> StoreFuture<'_, Released>;

    /// Executes several releases, each with the effect of [`release`](Self::release): one that fails
    /// affects no other. Returns one answer per command, in order. All commands are of the same
    /// [shard](Self::shard) and of different owners, at most 64.
    ///
    /// The client releases by this method alone: the locks that were given up at the same moment
    /// together. Default: sends all of them at once.
    fn release_all(
        &self,
        commands: Vec<ReleaseCommand>,
    ) -> BoxFuture<'_, Vec<Result<Released, StoreError>>> {
        join_all(commands.into_iter().map(|command| self.release(command))).boxed()
    }

    /// Returns how long ago a release of a key by this client met waiters that have no place in the store's
    /// line: clients of another library. For a moment the client leaves such a lock free for them, and
    /// hands it on less often within the process. A hint, and cheap. Default: there are none.
    fn met_others(&self, key: &LockKey) -> Option<Duration> {
        let _ = key;
        None
    }

    /// Removes waiters of one key from its line, and releases the lock where one of them was
    /// granted it meanwhile: the effect for each is that of [`release`](Self::release) with
    /// `in_line` and no hold left. At most 64 waiters. The client sends it only for fair kinds,
    /// because only those have several waiters of one client in a line.
    ///
    /// Many waiters of a long line may give up early, so a store with fair kinds should execute
    /// this as one command. Default: one release after the other.
    fn leave(&self, command: LeaveCommand) -> StoreFuture<'_, ()> {
        leave_one_by_one(self, command)
    }

    /// Extends each hold to another lease, and shortens one only if the command says
    /// [`exactly`](RenewCommand::exactly). Returns one answer per command, in order. All commands are of
    /// the same kind, mode and [shard](Self::shard), at most 32.
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

    /// Passes the only hold of an owner to another owner, which holds nothing yet. Its token and
    /// its remaining time stay the same. Waiters keep their places. Not sent for semaphores. If the
    /// new owner has the hold already, the answer is [`Transferred::Done`]. Default: unsupported.
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
    /// and the waiters of their keys are woken as by a release. The refused one may keep its place
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

    /// Subscribes to wake-ups. Must not wait for a connection; see
    /// [`WakeupSender`](crate::WakeupSender) for a subscription that takes time. Default: there are
    /// none, and waiters poll, at the end of the holder's lease and at least every second.
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

    /// Returns the one lease of all locks of this client, if the store has a session for all of
    /// them instead of leases: less than the session's timeout, by the margin that the store needs
    /// beyond the client's own. The client then uses this lease, and refuses any other as
    /// unsupported.
    ///
    /// Such a store answers [`renew`](Self::renew) by confirming its session, once for all commands
    /// pending at that moment. A confirmation that was sent before a command arrived must not
    /// answer that command, since the client counts from then. Default: every lock has its own
    /// lease.
    fn session_lease(&self) -> Option<Duration> {
        None
    }

    /// Returns the store's own time limit of a command, if the client should use it too: for the
    /// few commands that wait for another command. Default: the client uses its setting.
    fn command_timeout(&self) -> Option<Duration> {
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

    /// Returns which server the store is on. `RedLock` needs it: it must not
    /// count one server twice, or use one that has just lost its locks. Default: unsupported.
    fn identity(&self) -> StoreFuture<'_, StoreIdentity> {
        unsupported("RedLock")
    }

    /// Keeps the work of this client's owners, for operators: at most 128 texts, which
    /// [`StoreAdmin::work`] or the snapshots of [`StoreAdmin::inspect`] return. No lock relies on
    /// them; a text may be lost, and may be kept for somewhat longer or shorter than it says.
    /// Default: keeps none.
    fn record_work(&self, records: Vec<WorkRecord>) -> StoreFuture<'_, ()> {
        drop(records);
        ready(Ok(())).boxed()
    }

    /// Removes the client's records beside locks from the store, and closes its connections. Called
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
