//! The old lock: a string that only the process that set it deletes, and now renews.

use std::time::Duration;

use redis::{RedisError, Script, aio::MultiplexedConnection, cmd};
use tokio::runtime::Handle;

const RENEW: &str = "if redis.call('GET', KEYS[1]) == ARGV[1] then
    return redis.call('PEXPIRE', KEYS[1], ARGV[2])
end
return 0";
const DELETE: &str = "if redis.call('GET', KEYS[1]) == ARGV[1] then
    return redis.call('DEL', KEYS[1])
end
return 0";

pub type OldError = RedisError;

#[derive(Clone, Debug)]
pub struct OldLocks {
    pub redis: MultiplexedConnection,
    /// The TTL of version 0, which it writes after `PX`.
    pub ttl: Duration,
}

#[derive(Debug)]
pub struct OldLock {
    locks: OldLocks,
    key: String,
    value: String,
    given_back: bool,
}

impl OldLocks {
    pub async fn try_take(&self, key: &str) -> Result<Option<OldLock>, OldError> {
        let value = format!("{:016x}", getrandom::u64().expect("the system has random numbers"));
        // Created before the command is sent, so that a future dropped halfway releases too.
        let mut lock =
            OldLock { locks: self.clone(), key: key.to_owned(), value, given_back: false };
        let ttl = self.ttl.as_millis() as u64;
        let mut set = cmd("SET");
        set.arg(key).arg(&lock.value).arg("NX").arg("PX").arg(ttl);
        let taken: bool = set.query_async(&mut self.redis.clone()).await?;
        lock.given_back = !taken;
        Ok(taken.then_some(lock))
    }
}

impl OldLock {
    /// Returns `false` if another process holds the lock, or none.
    pub async fn renew(&self) -> Result<bool, OldError> {
        let ttl = self.locks.ttl.as_millis() as u64;
        let mut redis = self.locks.redis.clone();
        Script::new(RENEW).key(&self.key).arg(&self.value).arg(ttl).invoke_async(&mut redis).await
    }

    pub async fn give_back(mut self) {
        let deleted = delete(self.locks.redis.clone(), self.key.clone(), self.value.clone()).await;
        self.given_back = deleted.is_ok();
    }
}

/// Releases after a disconnect or a panic. Without this the lock would stay until its TTL ends.
impl Drop for OldLock {
    fn drop(&mut self) {
        if !self.given_back
            && let Ok(runtime) = Handle::try_current()
        {
            let (key, value) = (self.key.clone(), self.value.clone());
            runtime.spawn(delete(self.locks.redis.clone(), key, value));
        }
    }
}

async fn delete(
    mut redis: MultiplexedConnection,
    key: String,
    value: String,
) -> Result<(), OldError> {
    Script::new(DELETE).key(key).arg(value).invoke_async(&mut redis).await
}
