//! `async-redis-lock` with its defaults, except for its wait.

use async_redis_lock::{Lock, Locker, Options};

use super::LEASE;

#[derive(Clone)]
pub(crate) struct AsyncRedisLock {
    locker: Locker,
    options: Options,
    drops: bool,
}

impl AsyncRedisLock {
    /// `drops`: whether the guard is dropped, so that a task of its own releases.
    pub(super) async fn connect(url: &str, drops: bool) -> Self {
        let locker = Locker::from_redis_url(url).await.expect("a server at the URL");
        Self { locker, options: Options::new().ttl(LEASE).timeout(None), drops }
    }

    pub(super) async fn take(&self, key: &str) -> Lock {
        self.locker.acquire_with_options(&self.options, key).await.expect("a lock")
    }

    pub(super) async fn give_back(&self, held: Lock) {
        match self.drops {
            true => drop(held),
            false => held.release().await.expect("a release"),
        }
    }
}
