//! Version 1: the old lock and then the new one, never the other way round.

use std::{future::Future, pin::pin, time::Duration};

use lock_tower::{AcquireError, FencingToken, LockClient, LockGuard, errors::Lost};
use tokio::time::{Instant, sleep_until, timeout_at};

use super::old_lock::{OldError, OldLock, OldLocks};

/// The pause between two tries of the old lock, which does not notify its waiters.
const PAUSE: Duration = Duration::from_millis(50);

#[derive(Debug, thiserror::Error)]
pub enum BothError {
    #[error("the old lock is held by another process")]
    OldBusy,
    #[error("the old lock: {0}")]
    Old(#[from] OldError),
    #[error("the old lock was lost while the work ran")]
    OldLost,
    #[error(transparent)]
    New(#[from] AcquireError),
    #[error(transparent)]
    NewLost(#[from] Lost),
}

/// Both locks. Dropping it releases both.
#[derive(Debug)]
pub struct Both {
    // Dropped in this order.
    new: LockGuard,
    old: Kept,
}

impl Both {
    /// Waits at most `wait` for both locks together.
    pub async fn acquire(
        old: &OldLocks,
        old_key: &str,
        new: &LockClient,
        new_key: &str,
        wait: Duration,
    ) -> Result<Self, BothError> {
        let deadline = Instant::now() + wait;
        let mut old = Kept::take(old, old_key, deadline).await?;
        let left = deadline.saturating_duration_since(Instant::now());
        let new = new.write(new_key).wait(left).lease(old.half()).acquire();
        let new = old.during(new).await??;
        Ok(Self { new, old })
    }

    pub fn fencing_token(&self) -> FencingToken {
        self.new.fencing_token()
    }

    /// Runs `work` while both locks are held. If one is lost, `work` is cancelled.
    pub async fn run<F: Future>(self, work: F) -> Result<F::Output, BothError> {
        let Self { new, mut old } = self;
        let output = old.during(new.protect(work)).await??;
        // An error changes nothing: the work is done, and the lease expires.
        let _ = new.release().await;
        old.lock.give_back().await;
        Ok(output)
    }
}

/// The old lock, renewed.
///
/// A process relies on it for half of its TTL after a renewal, and the lease of the new lock is half
/// of the TTL too. So when the process is stopped, the new lock ends before another process can take
/// the old one, and `protect` does not poll the work again.
#[derive(Debug)]
struct Kept {
    lock: OldLock,
    ttl: Duration,
    renewed: Instant,
}

impl Kept {
    async fn take(locks: &OldLocks, key: &str, deadline: Instant) -> Result<Self, BothError> {
        loop {
            let sent = Instant::now();
            if let Some(lock) = locks.try_take(key).await? {
                return Ok(Self { lock, ttl: locks.ttl, renewed: sent });
            }
            let now = Instant::now();
            if now >= deadline {
                return Err(BothError::OldBusy);
            }
            sleep_until(deadline.min(now + PAUSE)).await;
        }
    }

    fn half(&self) -> Duration {
        self.ttl / 2
    }

    /// Runs `step`, which is not polled while a renewal is in progress.
    async fn during<F: Future>(&mut self, step: F) -> Result<F::Output, BothError> {
        let mut step = pin!(step);
        let mut due = self.renewed + self.ttl / 4;
        loop {
            if Instant::now() < due {
                tokio::select! {
                    output = &mut step => return Ok(output),
                    () = sleep_until(due) => {}
                }
            }
            let sent = Instant::now();
            let end = self.renewed + self.half();
            match timeout_at(end, self.lock.renew()).await {
                Ok(Ok(true)) if sent < end => {
                    self.renewed = sent;
                    due = sent + self.ttl / 4;
                }
                // The outcome is unknown: retry while there is time.
                Ok(Err(_)) if Instant::now() < end => due = end.min(sent + self.ttl / 20),
                _ => return Err(BothError::OldLost),
            }
        }
    }
}
