//! The operator's side of a store.

use std::future::ready;

use futures_util::FutureExt;

use crate::{
    command::Holder,
    outcome::{StoreFuture, unsupported},
    snapshot::LockSnapshot,
    types::{ClientInfo, ForcedRelease, KeyPage, LockKey},
};

/// The operator's side of a store: inspecting locks and taking them away, by
/// `LockClient::inspect` and its like.
pub trait StoreAdmin: Send + Sync {
    /// Returns the store's state of a key, at one moment. `None` if it is not a lock.
    fn inspect(&self, key: LockKey) -> StoreFuture<'_, Option<LockSnapshot>>;

    /// Returns the state as [`inspect`](Self::inspect) does, for a caller that needs the holders
    /// alone: each waiter calls it after half a second, so its cost should not grow with the
    /// waiters, which it leaves out. Default: `inspect`.
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

    /// Returns the names of clients, by [`OwnerId::client`](crate::OwnerId::client): one answer
    /// each, in order, `None` if it is not known. Default: none is known.
    fn client_names(&self, clients: Vec<String>) -> StoreFuture<'_, Vec<Option<ClientInfo>>> {
        ready(Ok(vec![None; clients.len()])).boxed()
    }

    /// Returns the texts of [`LockStore::record_work`](crate::LockStore::record_work), by the owners as in the snapshots of
    /// [`inspect`](Self::inspect): one answer each, in order, `None` if there is none. Default: there is
    /// none.
    fn work(&self, owners: Vec<String>) -> StoreFuture<'_, Vec<Option<String>>> {
        ready(Ok(vec![None; owners.len()])).boxed()
    }

    /// Takes a lock away from all its holders, makes their tokens stale, and wakes waiters. With
    /// `if_held_by` only while this owner, as in a snapshot, is one of them: otherwise the lock is
    /// as it was, and the answer that it was not held. `None` if the key holds something that is not
    /// a lock. Not sent again: it would take the lock from the next holder. Default: unsupported.
    fn force_release(
        &self,
        key: LockKey,
        if_held_by: Option<String>,
    ) -> StoreFuture<'_, Option<ForcedRelease>> {
        let _ = (key, if_held_by);
        unsupported("taking locks away")
    }

    /// Requests that all current holders release the lock, and returns how many there are. With
    /// `if_held_by` only while this owner is one of them: otherwise none is requested. `None` if the
    /// key holds something that is not a lock. Default: unsupported.
    fn request_release(
        &self,
        key: LockKey,
        if_held_by: Option<String>,
    ) -> StoreFuture<'_, Option<u32>> {
        let _ = (key, if_held_by);
        unsupported("requests to release")
    }

    /// Returns whether this holder was requested to release. Default: `false`.
    fn release_requested(&self, holder: Holder) -> StoreFuture<'_, bool> {
        drop(holder);
        ready(Ok(false)).boxed()
    }
}
