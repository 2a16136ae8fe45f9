//! The semaphores of Redisson's wire that have another number of permits in Redis than this client gives.
//!
//! Redisson keeps the number, so the one in Redis counts. A client that set its own would
//! overwrite that of replicas of another version, and they its own, so the difference is only reported.

use std::collections::BTreeMap;

use lock_store::{LockKey, runtime::Mutex};

/// Of more semaphores the difference is not kept, and is logged each time.
const MOST_KEPT: usize = 1_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Difference {
    own: u32,
    in_redis: i64,
}

#[derive(Debug, Default)]
pub(crate) struct PermitNumbers(Mutex<BTreeMap<LockKey, Difference>>);

impl PermitNumbers {
    /// Compares this client's number with the one in Redis, which is `None` if it is the same. Logs a
    /// difference that is new.
    pub(crate) fn compare(&self, key: &LockKey, own: u32, in_redis: Option<i64>) {
        let Some(in_redis) = in_redis else { return self.forget(key) };
        let difference = Difference { own, in_redis };
        let mut differences = self.0.lock();
        if differences.get(key) == Some(&difference) {
            return;
        }
        if differences.len() < MOST_KEPT || differences.contains_key(key) {
            differences.insert(key.clone(), difference);
        }
        drop(differences);
        tracing::warn!(
            own,
            in_redis,
            "a semaphore has another number of permits in Redis than this client gives: the one in Redis \
             counts, until `lockctl permits` sets it (LockClient::health names the key)"
        );
        tracing::debug!(%key, own, in_redis, "the semaphore with another number of permits");
    }

    pub(crate) fn forget(&self, key: &LockKey) {
        let mut differences = self.0.lock();
        // Nearly always there is none, which needs no key.
        if !differences.is_empty() {
            differences.remove(key);
        }
    }

    pub(crate) fn warnings(&self) -> Vec<String> {
        let warning = |(key, Difference { own, in_redis }): (&LockKey, &Difference)| {
            format!(
                "the semaphore `{key}` has {in_redis} permits in Redis, and this client gives {own}: the \
                 number in Redis counts, until `lockctl permits` sets it"
            )
        };
        self.0.lock().iter().map(warning).collect()
    }
}
