//! Looking at a lock from outside, and taking it away.

use super::{LockClient, scope::Scope};
use crate::{
    store::{Holds, LockSnapshot},
    types::{
        ForcedRelease, HolderInfo, InspectError, Inspection, IntoLockKey, Kind, LockKey, Mode,
        WaiterInfo, WrongKind,
    },
};

impl LockClient {
    /// Whether anybody, in any process, holds `key` in this mode; of kinds without readers, and of
    /// semaphores, whoever holds them writes. True at the moment of looking, so good for a dashboard
    /// and useless as a condition.
    ///
    /// # Errors
    ///
    /// See [`InspectError`].
    pub async fn is_locked(&self, key: impl IntoLockKey, mode: Mode) -> Result<bool, InspectError> {
        let standing = self.standing(&key.into_lock_key()?).await?;
        Ok(match mode {
            Mode::Read => standing.holders.iter().any(|holder| holder.holds.read > 0),
            Mode::Write => standing.mode == Some(Mode::Write),
        })
    }

    /// Whether the ambient [`Scope`] holds `key` in this mode, as the store sees it. False outside
    /// a scope.
    ///
    /// # Errors
    ///
    /// See [`InspectError`].
    pub async fn is_held(&self, key: impl IntoLockKey, mode: Mode) -> Result<bool, InspectError> {
        Ok(self.hold_count(key, mode).await? > 0)
    }

    /// How many times the ambient [`Scope`] holds `key` in this mode, as the store sees it. Zero
    /// outside a scope.
    ///
    /// # Errors
    ///
    /// See [`InspectError`].
    pub async fn hold_count(&self, key: impl IntoLockKey, mode: Mode) -> Result<u32, InspectError> {
        let key = key.into_lock_key()?;
        let client = self.engine().owners.client();
        let hold = Scope::current().and_then(|scope| scope.holds().slot(client, &key).hold());
        let standing = self.standing(&key).await?;
        let Some(hold) = hold else { return Ok(0) };
        let owner = hold.lease.owner.to_string();
        let own = standing.holders.iter().find(|holder| holder.owner == owner);
        // What is released but not yet confirmed does not count.
        let stored = own.map_or_else(Holds::default, |own| own.holds).of(mode);
        Ok(stored.min(hold.state().guards.of(mode)))
    }

    /// Looks at a lock: who holds it, for how long still, and who waits.
    ///
    /// # Errors
    ///
    /// See [`InspectError`].
    pub async fn inspect(&self, key: impl IntoLockKey) -> Result<Inspection, InspectError> {
        let standing = self.standing(&key.into_lock_key()?).await?;
        let holders = standing.holders.iter().map(|holder| &holder.owner);
        let owners = holders.chain(standing.waiters.iter().map(|waiter| &waiter.owner));
        let mut clients: Vec<_> = owners.filter_map(|owner| client_of(owner)).collect();
        clients.sort_unstable();
        clients.dedup();
        let infos = self.engine().admin()?.client_names(clients.clone()).await?;
        let info = |owner: &str| {
            let at = clients.binary_search(&client_of(owner)?).ok()?;
            infos.get(at).cloned().flatten()
        };
        let holders = standing.holders.iter().map(|holder| HolderInfo {
            client: info(&holder.owner),
            owner: holder.owner.clone(),
            reads: holder.holds.read,
            writes: holder.holds.write,
            remaining: holder.remaining,
        });
        let waiters = standing.waiters.iter().map(|waiter| WaiterInfo {
            client: info(&waiter.owner),
            owner: waiter.owner.clone(),
            mode: waiter.mode,
        });
        Ok(Inspection {
            kind: standing.kind,
            mode: standing.mode,
            holders: holders.collect(),
            remaining: standing.remaining,
            waiters: waiters.collect(),
            free_permits: standing.free_permits,
            fencing_token: standing.token,
            complete: standing.complete,
        })
    }

    /// Takes a lock away from whoever holds it, wakes those who wait for it, and makes the holder's
    /// fencing token stale. The holder learns of it at its next renewal and is
    /// [lost](crate::LockGuard::lost) then; until then it may go on, so let the resource refuse it
    /// by the token.
    ///
    /// # Errors
    ///
    /// See [`InspectError`]. After [`InspectError::Unavailable`] it may have been done; it may be
    /// asked again, but then it may take the lock from the next holder.
    ///
    /// # Cancel safety
    ///
    /// It may have been done.
    pub async fn force_release(
        &self,
        key: impl IntoLockKey,
    ) -> Result<ForcedRelease, InspectError> {
        let key = key.into_lock_key()?;
        let forced = self.engine().admin()?.force_release(key.clone()).await?;
        Ok(forced.ok_or(WrongKind { key, kind: Kind::ReadWrite })?)
    }

    /// Asks whoever holds `key` to release it, and says how many there are: readers of one process
    /// who [share](crate::Acquire::max_shared_readers) what the store has for them count as one. It is for the holders to
    /// listen ([`LockGuard::release_requested`](crate::LockGuard::release_requested)) and to follow:
    /// nothing is taken from anybody. Those who hold it later are not meant.
    ///
    /// # Errors
    ///
    /// See [`InspectError`].
    ///
    /// # Cancel safety
    ///
    /// The holders may have been asked.
    pub async fn request_release(&self, key: impl IntoLockKey) -> Result<u32, InspectError> {
        let key: LockKey = key.into_lock_key()?;
        let asked = self.engine().admin()?.request_release(key.clone()).await?;
        Ok(asked.ok_or(WrongKind { key, kind: Kind::ReadWrite })?)
    }

    async fn standing(&self, key: &LockKey) -> Result<LockSnapshot, InspectError> {
        let standing = self.engine().admin()?.inspect(key.clone()).await?;
        Ok(standing.ok_or_else(|| WrongKind { key: key.clone(), kind: Kind::ReadWrite })?)
    }
}

/// The client in an owner of the shape `<client>:<number>`.
fn client_of(owner: &str) -> Option<String> {
    owner.rsplit_once(':').map(|(client, _)| client.to_owned())
}
