//! Sends every command of the store over the link.

use std::time::Duration;

use futures_util::{FutureExt, future::BoxFuture};

use super::{CommandKind, link::FaultyLink};
use crate::{
    store::{
        AcquireCommand, Acquired, AcquiredAll, ConvertCommand, Downgraded, Holder, LeaveCommand,
        LockSnapshot, LockStore, ReleaseCommand, Released, RenewCommand, Renewal, StoreAdmin,
        StoreFuture, StoreHealth, StoreIdentity, Upgraded, WakeTopic, WakeupReceiver,
    },
    types::{ClientInfo, ForcedRelease, KeyList, LockKey, Mode, StoreError, Unavailable},
};

/// Properties of the store, which it returns at once.
fn said<T>(answer: StoreFuture<'_, T>) -> Result<T, StoreError> {
    answer.now_or_never().expect("BUG: the store in memory waits for something")
}

impl LockStore for FaultyLink {
    fn acquire(&self, step: AcquireCommand) -> StoreFuture<'_, Acquired> {
        let owners = vec![step.owner.clone()];
        self.ask(CommandKind::Acquire, owners, move |store| said(store.acquire(step)))
    }

    fn supports_atomic_multi(&self, _keys: &[&LockKey]) -> bool {
        self.script.supports_atomic_multi()
    }

    fn acquire_all(&self, steps: Vec<AcquireCommand>) -> StoreFuture<'_, AcquiredAll> {
        let owners = steps.iter().map(|step| step.owner.clone()).collect();
        self.ask(CommandKind::Acquire, owners, move |store| said(store.acquire_all(steps)))
    }

    fn release(&self, step: ReleaseCommand) -> StoreFuture<'_, Released> {
        let owners = vec![step.holder.owner.clone()];
        self.ask(CommandKind::Release, owners, move |store| said(store.release(step)))
    }

    fn leave(&self, step: LeaveCommand) -> StoreFuture<'_, ()> {
        let owners = step.waiters.iter().map(|(owner, _)| owner.clone()).collect();
        self.ask(CommandKind::Release, owners, move |store| said(store.leave(step)))
    }

    fn shard(&self, key: &LockKey) -> u16 {
        self.store.shard(key)
    }

    fn renew(&self, mode: Mode, steps: Vec<RenewCommand>) -> StoreFuture<'_, Vec<Renewal>> {
        let owners = steps.iter().map(|step| step.holder.owner.clone()).collect();
        self.ask(CommandKind::Renew, owners, move |store| said(store.renew(mode, steps)))
    }

    fn reserves_tokens(&self) -> bool {
        true
    }

    fn supports_mode_changes(&self) -> bool {
        true
    }

    fn upgrade(&self, step: ConvertCommand) -> StoreFuture<'_, Upgraded> {
        let owners = vec![step.holder.owner.clone()];
        self.ask(CommandKind::Upgrade, owners, move |store| said(store.upgrade(step)))
    }

    fn downgrade(&self, step: ConvertCommand) -> StoreFuture<'_, Downgraded> {
        let owners = vec![step.holder.owner.clone()];
        self.ask(CommandKind::Downgrade, owners, move |store| said(store.downgrade(step)))
    }

    fn set_permits(
        &self,
        key: LockKey,
        permits: u32,
        only_missing: bool,
    ) -> StoreFuture<'_, Option<i64>> {
        self.ask(CommandKind::Other, Vec::new(), move |store| {
            said(store.set_permits(key, permits, only_missing))
        })
    }

    fn wakeups(&self, topic: WakeTopic) -> WakeupReceiver {
        self.hear(self.store.wakeups(topic))
    }

    fn connection_status(&self) -> Result<(), Unavailable> {
        self.store.connection_status()
    }

    fn identity(&self) -> StoreFuture<'_, StoreIdentity> {
        let identity = said(LockStore::identity(&self.store));
        self.ask(CommandKind::Other, Vec::new(), move |_| identity)
    }

    fn health(&self) -> BoxFuture<'_, StoreHealth> {
        let asked =
            self.ask(CommandKind::Other, Vec::new(), |store| Ok(store.connection_status()?));
        let told = |answer: Result<(), StoreError>| StoreHealth {
            kind: "scripted",
            round_trip: answer.map(|()| Duration::ZERO).map_err(Unavailable::from),
            warnings: Vec::new(),
        };
        asked.map(told).boxed()
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
        self.ask(CommandKind::Other, Vec::new(), move |store| said(store.inspect(key)))
    }

    fn list(&self, prefix: String, limit: usize) -> StoreFuture<'_, KeyList> {
        self.ask(CommandKind::Other, Vec::new(), move |store| said(store.list(prefix, limit)))
    }

    fn client_names(&self, clients: Vec<String>) -> StoreFuture<'_, Vec<Option<ClientInfo>>> {
        self.ask(CommandKind::Other, Vec::new(), move |store| said(store.client_names(clients)))
    }

    fn force_release(&self, key: LockKey) -> StoreFuture<'_, Option<ForcedRelease>> {
        self.ask(CommandKind::Other, Vec::new(), move |store| said(store.force_release(key)))
    }

    fn request_release(&self, key: LockKey) -> StoreFuture<'_, Option<u32>> {
        self.ask(CommandKind::Other, Vec::new(), move |store| said(store.request_release(key)))
    }

    fn release_requested(&self, holder: Holder) -> StoreFuture<'_, bool> {
        self.ask(CommandKind::Other, Vec::new(), move |store| said(store.release_requested(holder)))
    }
}
