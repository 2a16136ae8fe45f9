//! What a thread has.

use std::time::Duration;

use lock_core::{
    Acquire, AcquireError, LockClient, LockGuard, Lockable, LostSignal, PermitGuard, ReleaseError,
};

use crate::kind::Kind;

#[derive(Debug)]
pub(crate) enum Guard {
    Lock(LockGuard),
    Permit(PermitGuard),
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
            (None, _) => unreachable!("only permits are no locks"),
        }
    }

    pub(crate) fn token(&self) -> Option<u64> {
        match self {
            Self::Lock(guard) => Some(guard.fencing_token().get()),
            Self::Permit(_) => None,
        }
    }

    pub(crate) fn is_held(&self) -> bool {
        match self {
            Self::Lock(guard) => guard.is_held(),
            Self::Permit(guard) => guard.is_held(),
        }
    }

    pub(crate) fn lost(&self) -> LostSignal {
        match self {
            Self::Lock(guard) => guard.lost(),
            Self::Permit(guard) => guard.lost(),
        }
    }

    pub(crate) async fn release(self) -> Result<(), ReleaseError> {
        match self {
            Self::Lock(guard) => guard.release().await,
            Self::Permit(guard) => guard.release().await,
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
