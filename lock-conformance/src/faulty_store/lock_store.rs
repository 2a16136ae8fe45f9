//! Sends every command of the store over the link.

use std::time::Duration;

use futures_util::{FutureExt, future::BoxFuture};
use lock_core::{
    ClientInfo, ForcedRelease, KeyPage, LockKey, Mode, Unavailable,
    store::{
        AcquireCommand, Acquired, AcquiredAll, ConvertCommand, Downgraded, Holder, LeaveCommand,
        LockSnapshot, LockStore, ReleaseCommand, Released, RenewCommand, Renewal, StoreAdmin,
        StoreError, StoreFuture, StoreHealth, StoreIdentity, TransferCommand, Transferred,
        Upgraded, WakeTopic, WakeupReceiver, WorkRecord,
    },
};

use super::{CommandKind, link::FaultyLink};

/// Properties of the store, which it returns at once.
fn answer_of<T>(answer: StoreFuture<'_, T>) -> Result<T, StoreError> {
    answer.now_or_never().expect("BUG: the store in memory waits for something")
}

impl LockStore for FaultyLink {
    fn acquire(&self, step: AcquireCommand) -> StoreFuture<'_, Acquired> {
        let owners = vec![step.owner.clone()];
        self.deliver(CommandKind::Acquire, owners, move |store| answer_of(store.acquire(step)))
    }

    fn supports_atomic_multi(&self, _keys: &[&LockKey]) -> bool {
        self.script.supports_atomic_multi()
    }

    fn acquire_all(&self, steps: Vec<AcquireCommand>) -> StoreFuture<'_, AcquiredAll> {
        let owners = steps.iter().map(|step| step.owner.clone()).collect();
        self.deliver(CommandKind::Acquire, owners, move |store| answer_of(store.acquire_all(steps)))
    }

    fn release(&self, step: ReleaseCommand) -> StoreFuture<'_, Released> {
        let owners = vec![step.holder.owner.clone()];
        self.deliver(CommandKind::Release, owners, move |store| answer_of(store.release(step)))
    }

    fn release_all(
        &self,
        steps: Vec<ReleaseCommand>,
    ) -> BoxFuture<'_, Vec<Result<Released, StoreError>>> {
        let (owners, count) =
            (steps.iter().map(|step| step.holder.owner.clone()).collect(), steps.len());
        let answers = self.deliver(CommandKind::Release, owners, move |store| {
            Ok(steps.into_iter().map(|step| answer_of(store.release(step))).collect())
        });
        let each = move |answers: Result<_, StoreError>| {
            answers.unwrap_or_else(|why| vec![Err(why); count])
        };
        answers.map(each).boxed()
    }

    fn leave(&self, step: LeaveCommand) -> StoreFuture<'_, ()> {
        let owners = step.waiters.iter().map(|(owner, _)| owner.clone()).collect();
        self.deliver(CommandKind::Release, owners, move |store| answer_of(store.leave(step)))
    }

    fn shard(&self, key: &LockKey) -> u16 {
        self.store.shard(key)
    }

    fn renew(&self, mode: Mode, steps: Vec<RenewCommand>) -> StoreFuture<'_, Vec<Renewal>> {
        let owners = steps.iter().map(|step| step.holder.owner.clone()).collect();
        self.deliver(CommandKind::Renew, owners, move |store| answer_of(store.renew(mode, steps)))
    }

    fn reserves_tokens(&self) -> bool {
        true
    }

    fn supports_mode_changes(&self) -> bool {
        true
    }

    fn upgrade(&self, step: ConvertCommand) -> StoreFuture<'_, Upgraded> {
        let owners = vec![step.holder.owner.clone()];
        self.deliver(CommandKind::Upgrade, owners, move |store| answer_of(store.upgrade(step)))
    }

    fn downgrade(&self, step: ConvertCommand) -> StoreFuture<'_, Downgraded> {
        let owners = vec![step.holder.owner.clone()];
        self.deliver(CommandKind::Downgrade, owners, move |store| answer_of(store.downgrade(step)))
    }

    fn supports_transfers(&self) -> bool {
        true
    }

    fn transfer(&self, step: TransferCommand) -> StoreFuture<'_, Transferred> {
        let owners = vec![step.holder.owner.clone(), step.to.clone()];
        self.deliver(CommandKind::Transfer, owners, move |store| answer_of(store.transfer(step)))
    }

    fn record_work(&self, records: Vec<WorkRecord>) -> StoreFuture<'_, ()> {
        self.deliver(CommandKind::Other, Vec::new(), move |store| {
            answer_of(store.record_work(records))
        })
    }

    fn free_permits(&self, key: LockKey, permits: u32) -> StoreFuture<'_, Option<i64>> {
        self.deliver(CommandKind::Other, Vec::new(), move |store| {
            answer_of(store.free_permits(key, permits))
        })
    }

    fn wakeups(&self, topic: WakeTopic) -> WakeupReceiver {
        self.relay(self.store.wakeups(topic))
    }

    fn connection_status(&self) -> Result<(), Unavailable> {
        self.store.connection_status()
    }

    fn identity(&self) -> StoreFuture<'_, StoreIdentity> {
        let identity = answer_of(LockStore::identity(&self.store));
        self.deliver(CommandKind::Other, Vec::new(), move |_| identity)
    }

    fn health(&self) -> BoxFuture<'_, StoreHealth> {
        let status =
            self.deliver(CommandKind::Other, Vec::new(), |store| Ok(store.connection_status()?));
        let health = |answer: Result<(), StoreError>| {
            let round_trip = answer.map(|()| Duration::ZERO).map_err(Unavailable::from);
            StoreHealth::new("faulty", round_trip)
        };
        status.map(health).boxed()
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        self.store.close()
    }

    fn admin(&self) -> Option<&dyn StoreAdmin> {
        Some(self)
    }
}

impl StoreAdmin for FaultyLink {
    fn inspect(&self, key: LockKey) -> StoreFuture<'_, Option<LockSnapshot>> {
        self.deliver(CommandKind::Other, Vec::new(), move |store| answer_of(store.inspect(key)))
    }

    fn list(
        &self,
        prefix: String,
        after: Option<String>,
        limit: usize,
    ) -> StoreFuture<'_, KeyPage> {
        self.deliver(CommandKind::Other, Vec::new(), move |store| {
            answer_of(store.list(prefix, after, limit))
        })
    }

    fn work(&self, owners: Vec<String>) -> StoreFuture<'_, Vec<Option<String>>> {
        self.deliver(CommandKind::Other, Vec::new(), move |store| answer_of(store.work(owners)))
    }

    fn client_names(&self, clients: Vec<String>) -> StoreFuture<'_, Vec<Option<ClientInfo>>> {
        self.deliver(CommandKind::Other, Vec::new(), move |store| {
            answer_of(store.client_names(clients))
        })
    }

    fn force_release(
        &self,
        key: LockKey,
        if_held_by: Option<String>,
    ) -> StoreFuture<'_, Option<ForcedRelease>> {
        self.deliver(CommandKind::Other, Vec::new(), move |store| {
            answer_of(store.force_release(key, if_held_by))
        })
    }

    fn request_release(
        &self,
        key: LockKey,
        if_held_by: Option<String>,
    ) -> StoreFuture<'_, Option<u32>> {
        self.deliver(CommandKind::Other, Vec::new(), move |store| {
            answer_of(store.request_release(key, if_held_by))
        })
    }

    fn release_requested(&self, holder: Holder) -> StoreFuture<'_, bool> {
        self.deliver(CommandKind::Other, Vec::new(), move |store| {
            answer_of(store.release_requested(holder))
        })
    }
}
