//! Version 1: the old lock and then the new one, never the other way round.

use std::{future::Future, pin::pin, time::Duration};

use lock_tower::{AcquireError, FencingToken, LockClient, LockGuard, Lost};
use tokio::time::{Instant, sleep_until, timeout_at};

use super::old_lock::{OldError, OldLock, OldLocks};

/// How long to wait before the old lock is tried again: it tells nobody that it is free.
const PAUSE: Duration = Duration::from_millis(50);

#[derive(Debug, thiserror::Error)]
pub enum BothError {
    #[error("somebody else holds the old lock")]
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

/// Both locks. Dropping it gives both back.
#[derive(Debug)]
pub struct Both {
    // Dropped in this order.
    new: LockGuard,
    old: Kept,
}

impl Both {
    /// Waits for both together no longer than `wait`.
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

    /// Runs `work` for as long as both are held; it is dropped where it stands when one is lost.
    pub async fn run<F: Future>(self, work: F) -> Result<F::Output, BothError> {
        let Self { new, mut old } = self;
        let output = old.during(new.protect(work)).await??;
        // Unconfirmed by now, or lost since: the work is done, and the lease ends by itself.
        let _ = new.release().await;
        old.lock.give_back().await;
        Ok(output)
    }
}

/// The old lock, renewed.
///
/// It is believed in for half of its time after a renewal, and the lease of the new lock is the
/// other half. So when the process is stopped, the new lock ends before the old one can be taken
/// by somebody else, and `protect` does not let the work take one more step.
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

    /// Runs `step`, which stands still for the moment that a renewal takes.
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
                // Nobody knows: ask again while there is time.
                Ok(Err(_)) if Instant::now() < end => due = end.min(sent + self.ttl / 20),
                _ => return Err(BothError::OldLost),
            }
        }
    }
}
