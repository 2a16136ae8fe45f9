//! The guard of a lock that a majority of servers has granted.

use std::{future::Future, pin::pin, sync::Arc, time::Duration};

use futures_util::{
    future::select_all,
    stream::{FuturesUnordered, StreamExt},
};
use lock_store::LockKey;

use super::members::{Members, remaining};
use crate::{
    gate::Permit,
    guard::run_while_held,
    types::{Lost, LostCause, ReleaseError},
};

/// Proof that a majority of servers has granted the lock, until it is dropped, released or lost.
///
/// As a [`LockGuard`](crate::LockGuard), but without a mode and without a fencing token: no server knows
/// of all grants, so none could number them.
///
/// A server may lack the lock because it was not reachable, was restarted or had granted it to
/// another client. It is requested again with every renewal, and counts again when it has granted
/// the lock. So a long hold outlives the loss of one server after the other, as long as a majority
/// has it at every moment. A lost majority stays lost. A hold without renewal takes no server back.
#[must_use = "the lock is released as soon as the guard is dropped"]
#[derive(Debug)]
pub struct RedLockGuard {
    members: Arc<Members>,
    _permit: Permit<()>,
}

impl RedLockGuard {
    pub(super) fn new(members: Arc<Members>, permit: Permit<()>) -> Self {
        Self { members, _permit: permit }
    }

    /// Returns the key, as it was requested.
    #[must_use]
    pub fn key(&self) -> &LockKey {
        &self.members.key
    }

    /// Returns for how long the lock may still be relied upon if no renewal gets through, on this
    /// process' clock: until the majority's first lease ends, less a margin of a twentieth of the
    /// lease for clocks that run at different speeds. Zero once it is lost.
    #[must_use]
    pub fn remaining(&self) -> Duration {
        self.members.read(|grants| remaining(grants, self.members.majority))
    }

    /// Returns on how many servers it is held at this moment.
    #[must_use]
    pub fn servers_held(&self) -> usize {
        self.members.signals().len()
    }

    /// Returns whether a majority still holds at this moment.
    #[must_use]
    pub fn is_held(&self) -> bool {
        self.members.check().is_ok()
    }

    /// Returns a future that resolves when too few servers are left for a majority. It does not
    /// borrow the guard.
    pub fn lost(&self) -> impl Future<Output = Lost> + Send + 'static + use<> {
        let members = Arc::clone(&self.members);
        async move {
            loop {
                // Before the check: if it succeeds, they are at least a majority. One that is added
                // later needs no signal, because the majority lasts until one of these is lost. All
                // of them are polled: after the process was paused, no timer has fired for any yet.
                let signals = members.signals();
                match members.check() {
                    Ok(()) => drop(select_all(signals).await),
                    Err(lost) if lost.cause == LostCause::Released => std::future::pending().await,
                    Err(lost) => return lost,
                }
            }
        }
    }

    /// Runs `work` for as long as a majority holds: see [`LockView::protect`](crate::LockView::protect).
    ///
    /// # Errors
    ///
    /// [`Lost`] when the majority was lost first.
    ///
    /// # Cancel safety
    ///
    /// Dropping this drops the work. The guard stays.
    pub async fn protect<F: Future>(&self, work: F) -> Result<F::Output, Lost> {
        let work = pin!(work);
        run_while_held(|| self.lost(), || self.members.check(), work).await
    }

    /// Releases the lock on every server, and waits until a majority of those that granted it has
    /// confirmed. That is enough for others to get it.
    ///
    /// # Errors
    ///
    /// [`ReleaseError::Lost`]: the lock had been lost before. [`ReleaseError::Unavailable`]: too
    /// few servers have confirmed; the release continues in the background.
    ///
    /// # Cancel safety
    ///
    /// The releases continue in the background, as if the guard had been dropped.
    pub async fn release(self) -> Result<(), ReleaseError> {
        self.members.check()?;
        let grants = self.members.end();
        let mut releases: FuturesUnordered<_> =
            grants.into_iter().map(|grant| grant.guard.release()).collect();
        let (mut confirmed, mut failed) = (0, None);
        while let Some(released) = releases.next().await {
            match released {
                Ok(()) => confirmed += 1,
                Err(error) => failed = Some(error),
            }
            if confirmed >= self.members.majority {
                return Ok(());
            }
        }
        failed.map_or(Ok(()), Err)
    }
}

impl Drop for RedLockGuard {
    fn drop(&mut self) {
        drop(self.members.end());
    }
}
