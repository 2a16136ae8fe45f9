//! `rslock`, as it comes.

use rslock::{LockGuard, LockManager};

use super::LEASE;

#[derive(Clone)]
pub(crate) struct Rslock(LockManager);

impl Rslock {
    pub(super) fn connect(url: &str) -> Self {
        Self(LockManager::new(vec![url]))
    }

    pub(super) async fn take(&self, key: &str) -> LockGuard {
        self.0.acquire(key, LEASE).await.expect("a lock")
    }
}
