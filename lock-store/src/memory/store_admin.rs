//! The operator's side of the store in memory.

use super::{lock::KeyEntry, store::MemoryStore};
use crate::{
    command::Holder,
    outcome::StoreFuture,
    snapshot::LockSnapshot,
    store_admin::StoreAdmin,
    types::{ClientInfo, ForcedRelease, KeyPage, LockKey},
};

impl StoreAdmin for MemoryStore {
    fn inspect(&self, key: LockKey) -> StoreFuture<'_, Option<LockSnapshot>> {
        self.with_keys(|keys| Some(keys.snapshot(&key)))
    }

    fn list(
        &self,
        prefix: String,
        after: Option<String>,
        limit: usize,
    ) -> StoreFuture<'_, KeyPage> {
        self.with_keys(|keys| {
            let mut held = keys.begin_with(&prefix);
            held.retain(|key| {
                let snapshot = keys.snapshot(key);
                after.as_deref().is_none_or(|after| key.as_str() > after)
                    && !snapshot.holders.is_empty()
            });
            KeyPage::cut(held, limit)
        })
    }

    fn work(&self, owners: Vec<String>) -> StoreFuture<'_, Vec<Option<String>>> {
        self.with_keys(|keys| owners.iter().map(|owner| keys.work.get(owner).cloned()).collect())
    }

    fn client_names(&self, clients: Vec<String>) -> StoreFuture<'_, Vec<Option<ClientInfo>>> {
        self.with_keys(|_| vec![None; clients.len()])
    }

    fn force_release(
        &self,
        key: LockKey,
        if_held_by: Option<String>,
    ) -> StoreFuture<'_, Option<ForcedRelease>> {
        self.with_keys(|keys| Some(keys.force_release(&key, if_held_by.as_deref())))
    }

    fn request_release(
        &self,
        key: LockKey,
        if_held_by: Option<String>,
    ) -> StoreFuture<'_, Option<u32>> {
        self.with_keys(|keys| {
            let requested = keys.request_release(&key, if_held_by.as_deref());
            Some(u32::try_from(requested).unwrap_or(u32::MAX))
        })
    }

    fn release_requested(&self, holder: Holder) -> StoreFuture<'_, bool> {
        self.with_keys(|keys| {
            let is_requested =
                |entry: &mut KeyEntry| entry.release_requests.contains(&holder.owner.to_string());
            keys.with(&holder.key, None, |entry, _| is_requested(entry)).unwrap_or(false)
        })
    }
}
