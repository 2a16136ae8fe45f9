//! The old lock: one of rslock, which is released when it is dropped.

use std::{panic::resume_unwind, time::Duration};

use rslock::{Lock, LockError, LockManager};
use tokio::runtime::Handle;

pub type OldError = LockError;

#[derive(Clone, Debug)]
pub struct OldLocks {
    manager: LockManager,
    pub ttl: Duration,
}

#[derive(Debug)]
pub struct OldLock {
    lock: Option<Lock>,
    ttl: Duration,
}

impl OldLocks {
    /// `manager` must use the servers of version 0, and `ttl` must be that of version 0.
    pub fn new(mut manager: LockManager, ttl: Duration) -> Self {
        // One try per call, so that a wait ends on time. The caller retries.
        manager.set_retry(1, Duration::from_millis(1));
        Self { manager, ttl }
    }

    pub async fn try_take(&self, key: &str) -> Result<Option<OldLock>, OldError> {
        let (manager, key, ttl) = (self.manager.clone(), key.to_owned(), self.ttl);
        // A `lock` that is dropped halfway leaves its key. A task runs to its end. If its handle was
        // dropped, its result is dropped too, which releases the lock.
        let taking = tokio::spawn(async move {
            manager.lock(key.as_str(), ttl).await.map(|lock| OldLock { lock: Some(lock), ttl })
        });
        match taking.await {
            Ok(Ok(lock)) => Ok(Some(lock)),
            // Held by another process, or too few servers answered: rslock does not report which.
            Ok(Err(LockError::Unavailable)) => Ok(None),
            Ok(Err(error)) => Err(error),
            Err(ended) => match ended.try_into_panic() {
                Ok(panic) => resume_unwind(panic),
                // The runtime is shutting down.
                Err(_) => Ok(None),
            },
        }
    }
}

impl OldLock {
    /// Returns `false` if another process holds the lock, or none. A failed `extend` has deleted the
    /// key.
    pub async fn renew(&self) -> Result<bool, OldError> {
        match &self.lock {
            Some(lock) => Ok(lock.lock_manager.extend(lock, self.ttl).await.is_ok()),
            None => Ok(false),
        }
    }

    pub async fn give_back(mut self) {
        if let Some(lock) = &self.lock {
            lock.lock_manager.unlock(lock).await;
        }
        self.lock = None;
    }
}

/// Releases after a disconnect or a panic. Without this the lock would stay until its TTL ends.
impl Drop for OldLock {
    fn drop(&mut self) {
        if let Some(lock) = self.lock.take()
            && let Ok(runtime) = Handle::try_current()
        {
            runtime.spawn(lock.release());
        }
    }
}
