//! Looking at a lock from outside, and taking it away.

use lock_store::{ForcedRelease, Holds, IntoLockKey, Kind, LockKey, Mode};

use super::{LockClient, scope::Scope};
use crate::{
    operate::{self, hot_keys_of, inspect, inspect_all, snapshot},
    types::{ClientStatistics, HotKey, InspectError, Inspection, RecentEvents, WrongKind},
};

impl LockClient {
    /// Returns whether `key` is held in this mode, in any process. A holder of a kind without readers,
    /// or of a semaphore, counts as a writer. The answer may be outdated when it arrives: use it for a
    /// dashboard, not as a condition.
    ///
    /// # Errors
    ///
    /// See [`InspectError`].
    pub async fn is_locked(&self, key: impl IntoLockKey, mode: Mode) -> Result<bool, InspectError> {
        let snapshot = snapshot(self.inner(), &key.into_lock_key()?).await?;
        Ok(match mode {
            Mode::Read => snapshot.holders.iter().any(|holder| holder.holds.read > 0),
            Mode::Write => snapshot.mode == Some(Mode::Write),
        })
    }

    /// Returns whether the ambient [`Scope`] holds `key` in this mode, as the store sees it. False outside
    /// a scope.
    ///
    /// # Errors
    ///
    /// See [`InspectError`].
    pub async fn is_held(&self, key: impl IntoLockKey, mode: Mode) -> Result<bool, InspectError> {
        Ok(self.hold_count(key, mode).await? > 0)
    }

    /// Returns how many times the ambient [`Scope`] holds `key` in this mode, as the store sees it. Zero
    /// outside a scope.
    ///
    /// # Errors
    ///
    /// See [`InspectError`].
    pub async fn hold_count(&self, key: impl IntoLockKey, mode: Mode) -> Result<u32, InspectError> {
        let key = key.into_lock_key()?;
        let client = self.inner().owners.client();
        let hold = Scope::current().and_then(|scope| scope.holds().slot(client, &key).hold());
        let snapshot = snapshot(self.inner(), &key).await?;
        let Some(hold) = hold else { return Ok(0) };
        let owner = hold.lease.owner.to_string();
        let own = snapshot.holders.iter().find(|holder| holder.owner == owner);
        // A lock that is released but not yet confirmed does not count.
        let stored = own.map_or_else(Holds::default, |own| own.holds).of(mode);
        Ok(stored.min(hold.state().guards.of(mode)))
    }

    /// Returns the holders of a lock, the remaining times of their leases, and the waiters. Names
    /// and work of the owners that the store does not answer for are `None`.
    ///
    /// # Errors
    ///
    /// See [`InspectError`].
    pub async fn inspect(&self, key: impl IntoLockKey) -> Result<Inspection, InspectError> {
        inspect(self.inner(), &key.into_lock_key()?).await
    }

    /// Inspects several locks in few round trips, each at another moment; in their order. A lock
    /// that cannot be inspected has its own error. So a key that is not a lock, or a node that does
    /// not answer, hides no other.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let locks = lock_core::LockClient::in_memory();
    /// let _guard = locks.write("order:42").acquire().await?;
    /// let page = locks.list_page("order:", None, 100).await?;
    /// let seen = locks.inspect_all(page.keys).await;
    /// assert_eq!(seen[0].as_ref().unwrap().holders.len(), 1);
    /// # Ok(()) }
    /// ```
    ///
    /// # Cancel safety
    ///
    /// Nothing is changed in any case.
    pub async fn inspect_all(
        &self,
        keys: impl IntoIterator<Item = LockKey>,
    ) -> Vec<Result<Inspection, InspectError>> {
        inspect_all(self.inner(), keys.into_iter().collect()).await
    }

    /// Returns how many acquisitions of this client were refused, and how many of its locks were lost, in
    /// the last quarter of an hour. Nothing is sent.
    #[must_use]
    pub fn recent_events(&self) -> RecentEvents {
        self.inner().events.recent()
    }

    /// Returns the keys that acquisitions of this client found taken most often since it was built, at
    /// most `limit` of them, at most 64. Nothing is sent. The counts are those of a sketch of bounded
    /// size: see [`HotKey::overcount`].
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let locks = lock_core::LockClient::in_memory();
    /// let _guard = locks.write("order:42").acquire().await?;
    /// assert!(locks.write("order:42").try_acquire().await.is_err());
    /// let hottest = &locks.hot_keys(10)[0];
    /// assert_eq!((hottest.key.as_str(), hottest.contended), ("order:42", 1));
    /// # Ok(()) }
    /// ```
    #[must_use]
    pub fn hot_keys(&self, limit: usize) -> Vec<HotKey> {
        self.inner().statistics.hot_keys.top(limit)
    }

    /// Returns the hot keys of this client and of others, added up: of each client that one of these
    /// owners belongs to, such as the holders and waiters of [`inspect_all`](Self::inspect_all), at most
    /// 128 clients. A client whose acquisitions wait writes its hot keys to the store, at most every ten
    /// seconds. ZooKeeper does not keep them.
    ///
    /// # Errors
    ///
    /// See [`InspectError`].
    ///
    /// # Cancel safety
    ///
    /// Nothing is changed in any case.
    pub async fn hot_keys_of(
        &self,
        owners: &[String],
        limit: usize,
    ) -> Result<Vec<HotKey>, InspectError> {
        hot_keys_of(self.inner(), owners, limit).await
    }

    /// Returns counts of this client's commands and events since it was built. Nothing is sent.
    #[must_use]
    pub fn statistics(&self) -> ClientStatistics {
        operate::statistics(self.inner())
    }

    /// Takes a lock away from its holders, wakes its waiters, and makes the fencing tokens of the
    /// holders stale. A message makes the holders renew at once, and their locks are
    /// [lost](crate::LockGuard::lost) then. If it does not arrive, they find out with their next
    /// renewal. Until then a holder may continue its work, so let the resource refuse it by the
    /// token. Holders with [`renew(false)`](crate::Acquire::renew) find out when their lease ends.
    ///
    /// # Errors
    ///
    /// See [`InspectError`]. After [`InspectError::Unavailable`] the lock may have been released. A second
    /// call may then take it from the next holder.
    ///
    /// # Cancel safety
    ///
    /// If the future is dropped, the lock may have been released.
    pub async fn force_release(
        &self,
        key: impl IntoLockKey,
    ) -> Result<ForcedRelease, InspectError> {
        let key = key.into_lock_key()?;
        let forced = self.inner().admin()?.force_release(key.clone(), None).await?;
        Ok(forced.ok_or(WrongKind { key, kind: Kind::ReadWrite })?)
    }

    /// Requests the holders of `key` to release it, and returns how many there are: readers of one
    /// process that [share](crate::Acquire::max_shared_readers) a hold of the store count as one. The
    /// holders are notified through
    /// [`LockGuard::release_requested`](crate::LockGuard::release_requested) and decide: the lock is not
    /// taken away. Later holders do not receive the request.
    ///
    /// # Errors
    ///
    /// See [`InspectError`].
    ///
    /// # Cancel safety
    ///
    /// If the future is dropped, the request may have been made.
    pub async fn request_release(&self, key: impl IntoLockKey) -> Result<u32, InspectError> {
        let key: LockKey = key.into_lock_key()?;
        let requested = self.inner().admin()?.request_release(key.clone(), None).await?;
        Ok(requested.ok_or(WrongKind { key, kind: Kind::ReadWrite })?)
    }
}
