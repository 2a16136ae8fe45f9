//! What a thread has.

use std::time::Duration;

use lock_core::{
    Acquire, AcquireError, LockGuard, Lockable, MultiGuard, PermitGuard, RedLockGuard, ReleaseError,
};

use crate::{kind::Kind, stores::Stores};

#[derive(Debug)]
pub(crate) enum Guard {
    Lock(LockGuard),
    Permit(PermitGuard),
    Multi(MultiGuard),
    Red(RedLockGuard),
}

impl Guard {
    /// A lease of 0 is the client's, renewed; any other runs out, as in Redisson.
    pub(crate) async fn acquire(
        stores: &Stores,
        kind: Kind,
        key: &str,
        wait_ms: u64,
        lease_ms: u64,
    ) -> Result<Self, AcquireError> {
        let locks = stores.main();
        match (kind.ask(locks, key), kind) {
            (Some(lock), _) => Ok(Self::Lock(on_terms(lock, wait_ms, lease_ms).acquire().await?)),
            (None, Kind::Semaphore(permits)) => {
                let permit = locks.semaphore(key, permits).permit();
                Ok(Self::Permit(on_terms(permit, wait_ms, lease_ms).acquire().await?))
            }
            (None, Kind::Red) => {
                let lock = stores.red_lock().lock(key);
                Ok(Self::Red(on_terms(lock, wait_ms, lease_ms).acquire().await?))
            }
            (None, _) => {
                let member = |member: &str| {
                    let (key, server) = member.split_once('@').unwrap_or((member, "0"));
                    stores.number(server).reentrant(key)
                };
                let all = locks.multi_lock(key.split(',').map(member));
                Ok(Self::Multi(on_terms(all, wait_ms, lease_ms).acquire().await?))
            }
        }
    }

    pub(crate) fn token(&self) -> Option<u64> {
        match self {
            Self::Lock(guard) => Some(guard.fencing_token().get()),
            Self::Permit(_) | Self::Multi(_) | Self::Red(_) => None,
        }
    }

    pub(crate) fn is_held(&self) -> bool {
        match self {
            Self::Lock(guard) => guard.is_held(),
            Self::Permit(guard) => guard.is_held(),
            Self::Multi(guard) => guard.is_held(),
            Self::Red(guard) => guard.is_held(),
        }
    }

    /// Returns when it is lost.
    pub(crate) async fn lost(&self) {
        match self {
            Self::Lock(guard) => guard.lost().await,
            Self::Permit(guard) => guard.lost().await,
            Self::Multi(guard) => guard.lost().await,
            Self::Red(guard) => guard.lost().await,
        };
    }

    /// Returns when another client has requested its release.
    pub(crate) async fn release_requested(&self) {
        match self {
            Self::Lock(guard) => guard.release_requested().await,
            Self::Permit(guard) => guard.release_requested().await,
            Self::Multi(guard) => guard.release_requested().await,
            // No request reaches it.
            Self::Red(_) => std::future::pending().await,
        }
    }

    pub(crate) async fn release(self) -> Result<(), ReleaseError> {
        match self {
            Self::Lock(guard) => guard.release().await,
            Self::Permit(guard) => guard.release().await,
            Self::Multi(guard) => guard.release().await,
            Self::Red(guard) => guard.release().await,
        }
    }
}

fn on_terms<T: Lockable>(requested: Acquire<T>, wait_ms: u64, lease_ms: u64) -> Acquire<T> {
    let requested = requested.wait(Duration::from_millis(wait_ms));
    if lease_ms == 0 {
        return requested;
    }
    requested.lease(Duration::from_millis(lease_ms)).renew(false)
}
