//! What a thread has.

use std::time::Duration;

use lock_core::{
    Acquire, AcquireError, LockClient, LockGuard, Lockable, MultiGuard, PermitGuard, ReleaseError,
};

use crate::kind::Kind;

#[derive(Debug)]
pub(crate) enum Guard {
    Lock(LockGuard),
    Permit(PermitGuard),
    Multi(MultiGuard),
}

impl Guard {
    /// A lease of 0 is the client's, renewed; any other runs out, as in Redisson.
    pub(crate) async fn acquire(
        locks: &LockClient,
        kind: Kind,
        key: &str,
        wait_ms: u64,
        lease_ms: u64,
    ) -> Result<Self, AcquireError> {
        match (kind.ask(locks, key), kind) {
            (Some(lock), _) => Ok(Self::Lock(on_terms(lock, wait_ms, lease_ms).acquire().await?)),
            (None, Kind::Semaphore(permits)) => {
                let permit = locks.semaphore(key, permits).permit();
                Ok(Self::Permit(on_terms(permit, wait_ms, lease_ms).acquire().await?))
            }
            (None, _) => {
                let members = key.split(',').map(|key| locks.reentrant(key));
                let all = on_terms(locks.multi_lock(members), wait_ms, lease_ms);
                Ok(Self::Multi(all.acquire().await?))
            }
        }
    }

    pub(crate) fn token(&self) -> Option<u64> {
        match self {
            Self::Lock(guard) => Some(guard.fencing_token().get()),
            Self::Permit(_) | Self::Multi(_) => None,
        }
    }

    pub(crate) fn is_held(&self) -> bool {
        match self {
            Self::Lock(guard) => guard.is_held(),
            Self::Permit(guard) => guard.is_held(),
            Self::Multi(guard) => guard.is_held(),
        }
    }

    /// Returns when it is lost.
    pub(crate) async fn lost(&self) {
        match self {
            Self::Lock(guard) => guard.lost().await,
            Self::Permit(guard) => guard.lost().await,
            Self::Multi(guard) => guard.lost().await,
        };
    }

    /// Returns when another client has requested its release.
    pub(crate) async fn release_requested(&self) {
        match self {
            Self::Lock(guard) => guard.release_requested().await,
            Self::Permit(guard) => guard.release_requested().await,
            Self::Multi(guard) => guard.release_requested().await,
        }
    }

    pub(crate) async fn release(self) -> Result<(), ReleaseError> {
        match self {
            Self::Lock(guard) => guard.release().await,
            Self::Permit(guard) => guard.release().await,
            Self::Multi(guard) => guard.release().await,
        }
    }
}

fn on_terms<T: Lockable>(asked: Acquire<T>, wait_ms: u64, lease_ms: u64) -> Acquire<T> {
    let asked = asked.wait(Duration::from_millis(wait_ms));
    if lease_ms == 0 {
        return asked;
    }
    asked.lease(Duration::from_millis(lease_ms)).renew(false)
}
