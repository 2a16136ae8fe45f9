//! What a majority of servers has granted.

use std::{future::Future, pin::pin, time::Duration};

use futures_util::{
    future::select_all,
    stream::{FuturesUnordered, StreamExt},
};

use crate::{
    gate::Permit,
    guard::{LockGuard, run_while_held},
    types::{LockKey, Lost, LostCause, ReleaseError},
};

/// For how long a majority can be relied upon: `lease - elapsed - drift` of the one among them that
/// ends first.
pub(crate) fn remaining(guards: &[LockGuard], majority: usize) -> Duration {
    let mut left: Vec<_> = guards.iter().map(LockGuard::remaining).collect();
    left.sort_unstable_by(|one, other| other.cmp(one));
    left.get(majority - 1).copied().unwrap_or_default()
}

/// Proof that a majority of servers has granted the lock, until it is dropped, released or lost.
///
/// As a [`LockGuard`], but without a mode and without a fencing token: no server knows of all
/// grants, so none could number them.
#[must_use = "the lock is released as soon as the guard is dropped"]
#[derive(Debug)]
pub struct RedLockGuard {
    pub(crate) key: LockKey,
    pub(crate) guards: Vec<LockGuard>,
    pub(crate) majority: usize,
    pub(crate) _permit: Permit<()>,
}

impl RedLockGuard {
    /// Returns the key, as it was requested.
    #[must_use]
    pub fn key(&self) -> &LockKey {
        &self.key
    }

    /// For how long the lock may still be relied upon if no renewal gets through, on this process'
    /// clock: until the majority's first lease ends, less a margin of a twentieth of the lease for
    /// clocks that run at different speeds. Zero once it is lost.
    #[must_use]
    pub fn remaining(&self) -> Duration {
        remaining(&self.guards, self.majority)
    }

    /// On how many servers it is held at this moment.
    #[must_use]
    pub fn servers_held(&self) -> usize {
        self.guards.iter().filter(|guard| guard.is_held()).count()
    }

    /// Whether a majority still holds at this moment.
    #[must_use]
    pub fn is_held(&self) -> bool {
        self.servers_held() >= self.majority
    }

    fn ensure_held(&self) -> Result<(), Lost> {
        let lost = || Lost { key: self.key.clone(), cause: LostCause::Expired };
        if self.is_held() { Ok(()) } else { Err(lost()) }
    }

    /// A future that resolves when too few servers are left for a majority. It does not borrow the
    /// guard.
    pub fn lost(&self) -> impl Future<Output = Lost> + Send + 'static {
        let mut signals: Vec<_> = self.guards.iter().map(LockGuard::lost).collect();
        let (majority, key) = (self.majority, self.key.clone());
        async move {
            let mut cause = LostCause::Expired;
            while signals.len() >= majority {
                // Polls all signals: after the process was paused, no timer has fired for any of
                // them yet.
                let (lost, _, left) = select_all(signals).await;
                (cause, signals) = (lost.cause(), left);
            }
            Lost { key, cause }
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
        run_while_held(|| self.lost(), || self.ensure_held(), work).await
    }

    /// Releases the lock on every server and waits until a majority of those that granted it has
    /// confirmed that, which is enough for others to get it.
    ///
    /// # Errors
    ///
    /// [`ReleaseError::Lost`]: the lock had been lost before. [`ReleaseError::Unavailable`]: too few
    /// servers have confirmed; the release goes on in the background.
    ///
    /// # Cancel safety
    ///
    /// The releases go on in the background, as if the guard had been dropped.
    pub async fn release(self) -> Result<(), ReleaseError> {
        self.ensure_held()?;
        let mut releases: FuturesUnordered<_> =
            self.guards.into_iter().map(LockGuard::release).collect();
        let (mut confirmed, mut failed) = (0, None);
        while let Some(released) = releases.next().await {
            match released {
                Ok(()) => confirmed += 1,
                Err(error) => failed = Some(error),
            }
            if confirmed >= self.majority {
                return Ok(());
            }
        }
        failed.map_or(Ok(()), Err)
    }
}
