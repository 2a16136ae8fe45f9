//! The commands of the store in memory: each one under the mutex, as a script runs alone in Redis.

use std::{future::ready, time::Duration};

use futures_util::{FutureExt, future::BoxFuture};

use super::{
    lock::Lock,
    rules::{NewEnd, StepContext},
    store::{Keys, MemoryStore},
    subscribers::WakeChannel,
};
use crate::{
    command::{
        AcquireCommand, ConvertCommand, Holder, LeaveCommand, ReleaseCommand, RenewCommand,
        TransferCommand, WorkRecord,
    },
    lock_store::LockStore,
    notify::{WakeTopic, WakeupReceiver},
    outcome::{
        Acquired, AcquiredAll, Downgraded, Released, Renewal, StoreFuture, StoreHealth,
        StoreIdentity, Transferred, Upgraded,
    },
    snapshot::{HolderSnapshot, LockSnapshot},
    store_admin::StoreAdmin,
    types::{ForcedRelease, Kind, LockKey, Mode, StoreError, Unavailable},
};

impl MemoryStore {
    pub(super) fn with_keys<'a, T: Send + 'a>(
        &self,
        run: impl FnOnce(&mut Keys) -> T,
    ) -> StoreFuture<'a, T> {
        let mut keys = self.keys();
        ready(keys.up().map(|()| run(&mut keys)).map_err(StoreError::from)).boxed()
    }
}

impl Keys {
    fn acquire(&mut self, command: &AcquireCommand) -> Acquired {
        let acquired = self.with(&command.key, Some(command.kind), |entry, context| {
            if !entry.lock.becomes(command.kind) {
                return Acquired::WrongKind;
            }
            entry.lock.shape().acquire(command, context)
        });
        acquired.unwrap_or(Acquired::WrongKind)
    }

    fn release(&mut self, command: &ReleaseCommand) -> Released {
        let Holder { kind, key, .. } = &command.holder;
        let of_kind =
            self.of_kind(key, *kind, |lock, context| lock.shape().release(command, context));
        of_kind.unwrap_or(Released::Gone)
    }

    /// All or none: the locks that were granted before the first refusal are released again, as if
    /// they had been held for a moment.
    fn acquire_all(&mut self, commands: &[AcquireCommand]) -> AcquiredAll {
        let mut tokens = Vec::with_capacity(commands.len());
        let mut granted: Vec<&AcquireCommand> = Vec::with_capacity(commands.len());
        for (at, command) in commands.iter().enumerate() {
            let held_before = self.holds(command) >= command.holds;
            match self.acquire(command) {
                Acquired::Granted(token) => {
                    tokens.push(token);
                    granted.extend((!held_before).then_some(command));
                }
                answer => {
                    for command in granted {
                        let (mode, holds) = (command.mode, command.holds - 1);
                        let holder = command.holder();
                        self.release(&ReleaseCommand::new(holder, mode, holds));
                    }
                    return AcquiredAll::Refused { at, answer };
                }
            }
        }
        AcquiredAll::Granted(tokens)
    }

    fn holds(&mut self, command: &AcquireCommand) -> u32 {
        let snapshot = self.snapshot(&command.key);
        let owner = command.owner.to_string();
        let own = snapshot.holders.iter().find(|holder| holder.owner == owner);
        own.map_or(0, |own| own.holds.of(command.mode))
    }

    pub(super) fn snapshot(&mut self, key: &LockKey) -> LockSnapshot {
        let snapshot = self.with(key, None, |entry, context| LockSnapshot {
            token: entry.token,
            ..entry.lock.shape().snapshot(context.now)
        });
        snapshot.unwrap_or_default()
    }

    /// Applies `work` to an existing lock, unless it is of another kind.
    fn of_kind<T>(
        &mut self,
        key: &LockKey,
        kind: Kind,
        work: impl FnOnce(&mut Lock, &mut StepContext<'_>) -> T,
    ) -> Option<T> {
        let work = |lock: &mut Lock, context: &mut StepContext<'_>| {
            lock.is_of(kind).then(|| work(lock, context))
        };
        self.with(key, None, |entry, context| work(&mut entry.lock, context)).flatten()
    }

    pub(super) fn force_release(
        &mut self,
        key: &LockKey,
        if_held_by: Option<&str>,
    ) -> ForcedRelease {
        let forced = self.with(key, Some(Kind::ReadWrite), |entry, context| {
            let snapshot = entry.lock.shape().snapshot(context.now);
            if !is_holder(&snapshot.holders, if_held_by) {
                let nothing = ForcedRelease { was_held: false, fencing_token: None };
                return (nothing, Vec::new());
            }
            entry.lock.shape().take_away(context);
            let has_tokens = !entry.lock.is_of(Kind::Semaphore);
            let fencing_token = has_tokens.then(|| context.token());
            let forced = ForcedRelease { was_held: snapshot.mode.is_some(), fencing_token };
            (forced, snapshot.holders)
        });
        let Some((forced, holders)) = forced else {
            return ForcedRelease { was_held: false, fencing_token: None };
        };
        for holder in holders {
            self.subscribers.taken(&holder.owner);
        }
        forced
    }

    pub(super) fn request_release(&mut self, key: &LockKey, if_held_by: Option<&str>) -> usize {
        let requested = self.with(key, None, |entry, context| {
            let holders = entry.lock.shape().snapshot(context.now).holders;
            if !is_holder(&holders, if_held_by) {
                return 0;
            }
            context.wake(WakeChannel::ReleaseRequest);
            entry.release_requests = holders.into_iter().map(|holder| holder.owner).collect();
            entry.release_requests.len()
        });
        requested.unwrap_or(0)
    }

    fn free_permits(&mut self, key: &LockKey, permits: u32) -> Option<i64> {
        let in_use = self.with(key, None, |entry, _| match &entry.lock {
            Lock::SemaphoreLock(semaphore) => Some(semaphore.in_use()),
            _ => None,
        });
        let in_use = i64::try_from(in_use.unwrap_or(Some(0))?).unwrap_or(i64::MAX);
        Some(i64::from(permits).saturating_sub(in_use))
    }
}

/// Whether this owner, if it matters at all, is one of the holders.
fn is_holder(holders: &[HolderSnapshot], owner: Option<&str>) -> bool {
    owner.is_none_or(|owner| holders.iter().any(|holder| holder.owner == owner))
}

impl LockStore for MemoryStore {
    fn acquire(&self, command: AcquireCommand) -> StoreFuture<'_, Acquired> {
        self.with_keys(|keys| keys.acquire(&command))
    }

    fn supports_atomic_multi(&self, _keys: &[&LockKey]) -> bool {
        true
    }

    fn acquire_all(&self, commands: Vec<AcquireCommand>) -> StoreFuture<'_, AcquiredAll> {
        self.with_keys(|keys| keys.acquire_all(&commands))
    }

    fn release(&self, command: ReleaseCommand) -> StoreFuture<'_, Released> {
        self.with_keys(|keys| keys.release(&command))
    }

    fn leave(&self, command: LeaveCommand) -> StoreFuture<'_, ()> {
        self.with_keys(|keys| command.releases().for_each(|release| _ = keys.release(&release)))
    }

    fn renew(&self, mode: Mode, commands: Vec<RenewCommand>) -> StoreFuture<'_, Vec<Renewal>> {
        self.with_keys(|keys| {
            let renewed = commands.iter().map(|command| {
                let Holder { kind, key, owner } = &command.holder;
                let renewed = keys.of_kind(key, *kind, |lock, context| {
                    let at = context.now.after(command.lease);
                    lock.shape().renew(owner, mode, NewEnd { at, exactly: command.exactly })
                });
                renewed.unwrap_or(Renewal::Lost)
            });
            renewed.collect()
        })
    }

    fn reserves_tokens(&self) -> bool {
        true
    }

    fn supports_mode_changes(&self) -> bool {
        true
    }

    fn upgrade(&self, command: ConvertCommand) -> StoreFuture<'_, Upgraded> {
        self.with_keys(|keys| {
            let Holder { kind, key, .. } = &command.holder;
            let upgraded =
                keys.of_kind(key, *kind, |lock, context| lock.shape().upgrade(&command, context));
            upgraded.unwrap_or(Upgraded::Lost)
        })
    }

    fn downgrade(&self, command: ConvertCommand) -> StoreFuture<'_, Downgraded> {
        self.with_keys(|keys| {
            let Holder { kind, key, .. } = &command.holder;
            let downgraded =
                keys.of_kind(key, *kind, |lock, context| lock.shape().downgrade(&command, context));
            downgraded.unwrap_or(Downgraded::Lost)
        })
    }

    fn supports_transfers(&self) -> bool {
        true
    }

    fn transfer(&self, command: TransferCommand) -> StoreFuture<'_, Transferred> {
        self.with_keys(|keys| {
            let Holder { kind, key, .. } = &command.holder;
            let transferred = keys.of_kind(key, *kind, |lock, _| lock.shape().transfer(&command));
            transferred.unwrap_or(Transferred::Gone)
        })
    }

    fn record_work(&self, records: Vec<WorkRecord>) -> StoreFuture<'_, ()> {
        self.with_keys(|keys| {
            for WorkRecord { holder, text, .. } in records {
                let owner = holder.owner.to_string();
                match text {
                    Some(text) => keys.work.insert(owner, text),
                    None => keys.work.remove(&owner),
                };
            }
        })
    }

    fn free_permits(&self, key: LockKey, permits: u32) -> StoreFuture<'_, Option<i64>> {
        self.with_keys(|keys| keys.free_permits(&key, permits))
    }

    fn wakeups(&self, topic: WakeTopic) -> WakeupReceiver {
        self.keys().subscribers.listen(topic)
    }

    fn connection_status(&self) -> Result<(), Unavailable> {
        self.keys().up()
    }

    fn identity(&self) -> StoreFuture<'_, StoreIdentity> {
        let identity = MemoryStore::identity(self);
        self.with_keys(|_| identity)
    }

    fn health(&self) -> BoxFuture<'_, StoreHealth> {
        let round_trip = self.keys().up().map(|()| Duration::ZERO);
        ready(StoreHealth::new("memory", round_trip)).boxed()
    }

    fn admin(&self) -> Option<&dyn StoreAdmin> {
        Some(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{command::Holds, types::OwnerId};

    const LEASE: Duration = Duration::from_secs(30);

    fn now<T>(answer: StoreFuture<'_, T>) -> T {
        answer.now_or_never().expect("at once").expect("it is up")
    }

    fn write(key: &LockKey, owner: &OwnerId) -> AcquireCommand {
        AcquireCommand {
            kind: Kind::ReadWrite,
            key: key.clone(),
            owner: owner.clone(),
            mode: Mode::Write,
            holds: 1,
            lease: LEASE,
            yields: false,
            place: None,
            reserved_tokens: 0,
            waited: Duration::ZERO,
            permits: 0,
            wanted_permits: 1,
        }
    }

    /// Between the release and the try of the waiter that was woken.
    #[tokio::test(start_paused = true)]
    async fn a_lock_of_another_kind_takes_no_waiter_its_place() {
        let store = MemoryStore::new();
        let key = LockKey::try_from("k").expect("a key");
        let [holder, waiter, other] = [(); 3].map(|()| OwnerId::permit());
        let admin: &dyn StoreAdmin = &store;
        now(store.acquire(write(&key, &holder)));
        let place = Some(LEASE);
        now(store.acquire(AcquireCommand { place, ..write(&key, &waiter) }));
        now(admin.force_release(key.clone(), None));
        for kind in [Kind::Semaphore, Kind::FairReadWrite] {
            let refused =
                now(store.acquire(AcquireCommand { kind, permits: 3, ..write(&key, &other) }));
            assert!(matches!(refused, Acquired::WrongKind), "{refused:?}");
        }
        let passed = now(store.acquire(write(&key, &other)));
        assert!(matches!(passed, Acquired::Busy { .. }), "{passed:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn several_that_are_refused_together_leave_what_was_held_before() {
        let store = MemoryStore::new();
        let keys = ["a", "b", "c"].map(|key| LockKey::try_from(key).expect("a key"));
        let (own, other) = (OwnerId::permit(), OwnerId::permit());
        now(store.acquire(write(&keys[0], &own)));
        now(store.acquire(write(&keys[2], &other)));
        let steps = [0, 1, 2].map(|at| write(&keys[at], &own));
        let refused = now(store.acquire_all(steps.into()));
        assert!(matches!(refused, AcquiredAll::Refused { at: 2, .. }), "{refused:?}");
        let held = keys.map(|key| now(store.inspect(key)).expect("a lock").holders.len());
        assert_eq!(held, [1, 0, 1]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_write_inside_a_write_that_is_gone_is_no_upgrade() {
        let store = MemoryStore::new();
        let (key, owner) = (LockKey::try_from("k").expect("a key"), OwnerId::permit());
        let read = AcquireCommand { mode: Mode::Read, ..write(&key, &owner) };
        let holder = read.holder();
        now(store.acquire(read));
        let after = |write| ConvertCommand {
            holder: holder.clone(),
            after: Holds { read: 0, write },
            lease: LEASE,
        };
        assert_eq!(now(store.upgrade(after(2))), Upgraded::Lost);
        assert!(matches!(now(store.upgrade(after(1))), Upgraded::Granted(_)));
    }
}
