//! A replica of a service that migrates from an old lock to ours.

use std::{error::Error, future::Future, time::Duration};

use lock_tower::{AcquireError, LockClient, LockError};
use rslock::LockManager;
use tokio::time::{Instant, sleep};

use super::{hand_rolled, of_rslock};

/// The deployed version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// The old lock alone, never renewed.
    Zero,
    /// Both.
    One,
    /// Ours alone.
    Two,
}

/// The kind of the old lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OldKind {
    HandRolled,
    Rslock,
}

/// One replica.
#[derive(Clone, Debug)]
pub struct Replica {
    version: Version,
    old: Old,
    new: LockClient,
}

#[derive(Clone, Debug)]
enum Old {
    HandRolled(hand_rolled::OldLocks),
    Rslock(LockManager, Duration),
}

/// Why work was not completed.
#[derive(Debug)]
pub enum Undone {
    /// Nothing was done: another replica holds a lock.
    Busy,
    Failed(Box<dyn Error + Send + Sync>),
}

impl Replica {
    pub const OLD_KEY: &str = "order:42";
    pub const NEW_KEY: &str = "order:42";
    pub const NEW_NAME: &str = "lock:order:42";

    pub async fn start(version: Version, kind: OldKind, url: &str, ttl: Duration) -> Self {
        let client = redis::Client::open(url).expect("a redis:// URL");
        let old = match kind {
            OldKind::HandRolled => {
                let redis = client.get_multiplexed_async_connection().await;
                Old::HandRolled(hand_rolled::OldLocks { redis: redis.expect("no Redis"), ttl })
            }
            OldKind::Rslock => Old::Rslock(LockManager::from_clients(vec![client]), ttl),
        };
        let new = LockClient::builder().lease(ttl).connect(url).await.expect("no Redis");
        Self { version, old, new }
    }

    /// Waits for background releases, before the process ends.
    pub async fn shut_down(self) {
        self.new.shutdown(Duration::from_secs(30)).await.expect("not all is released");
    }

    /// Does `work` under the locks of its version.
    ///
    /// # Errors
    ///
    /// [`Undone`].
    pub async fn run<F: Future>(&self, wait: Duration, work: F) -> Result<F::Output, Undone> {
        match (self.version, &self.old) {
            (Version::Two, _) => Ok(self
                .new
                .write(Self::NEW_KEY)
                .wait(wait)
                .run(work)
                .await
                .map_err(Undone::from)?),
            (Version::One, Old::HandRolled(old)) => {
                use hand_rolled::Both;
                let both = Both::acquire(old, Self::OLD_KEY, &self.new, Self::NEW_KEY, wait);
                Ok(both.await?.run(work).await?)
            }
            (Version::One, Old::Rslock(manager, ttl)) => {
                use of_rslock::{Both, OldLocks};
                let old = OldLocks::new(manager.clone(), *ttl);
                let both = Both::acquire(&old, Self::OLD_KEY, &self.new, Self::NEW_KEY, wait);
                Ok(both.await?.run(work).await?)
            }
            (Version::Zero, Old::HandRolled(old)) => {
                let deadline = Instant::now() + wait;
                let lock = loop {
                    if let Ok(Some(lock)) = old.try_take(Self::OLD_KEY).await {
                        break lock;
                    }
                    pause(deadline).await?;
                };
                let output = work.await;
                lock.give_back().await;
                Ok(output)
            }
            (Version::Zero, Old::Rslock(manager, ttl)) => {
                let deadline = Instant::now() + wait;
                let lock = loop {
                    if let Ok(lock) = manager.lock(Self::OLD_KEY, *ttl).await {
                        break lock;
                    }
                    pause(deadline).await?;
                };
                let output = work.await;
                lock.release().await;
                Ok(output)
            }
        }
    }
}

/// Between two tries of version 0.
async fn pause(deadline: Instant) -> Result<(), Undone> {
    if Instant::now() >= deadline {
        return Err(Undone::Busy);
    }
    sleep(Duration::from_millis(10)).await;
    Ok(())
}

impl From<LockError> for Undone {
    fn from(error: LockError) -> Self {
        match error {
            LockError::Acquire(AcquireError::Busy(_)) => Self::Busy,
            error => Self::Failed(error.into()),
        }
    }
}

impl From<hand_rolled::BothError> for Undone {
    fn from(error: hand_rolled::BothError) -> Self {
        use hand_rolled::BothError;
        match error {
            BothError::OldBusy | BothError::New(AcquireError::Busy(_)) => Self::Busy,
            error => Self::Failed(error.into()),
        }
    }
}

impl From<of_rslock::BothError> for Undone {
    fn from(error: of_rslock::BothError) -> Self {
        use of_rslock::BothError;
        match error {
            BothError::OldBusy | BothError::New(AcquireError::Busy(_)) => Self::Busy,
            error => Self::Failed(error.into()),
        }
    }
}
