//! Every name that this library writes to Redis, with its type and meaning.
//!
//! `N` is the client's prefix and the lock's key; `B` is `N` in braces, unless `N` has a hash tag of
//! its own. All names of one lock are in one slot of a cluster. `O` is an owner.
//!
//! | name | type | content | whose |
//! |---|---|---|---|
//! | `N` | hash, with TTL | `mode` -> `read` or `write`; `O` -> read holds; `O:write` -> write holds | Redisson's |
//! | `B:O:rwlock_timeout:i` | string, with TTL | `1`: the owner's read hold `i` lives | Redisson's |
//! | `redisson_rwlock:B` | channel | `0`: a read was released, `1`: a write was, or readers may try again | Redisson's |
//! | `redisson_lock_token:B` | string, with TTL unless permanent | the last fencing token | Redisson's name (`RFencedLock`), our numbers |
//! | `lock_next:B` | string, with TTL | `since:read:O` or `since:write:O`: the waiter that is next | ours |
//! | `lock_client:<uuid>` | string, with TTL | who the client is: service, instance, since when | ours |

use crate::LockKey;

/// The names of one lock.
#[derive(Debug)]
pub(super) struct LockNames {
    /// `N`
    pub(super) lock: String,
    /// `B`
    pub(super) tag: String,
}

impl LockNames {
    /// A lock that nobody takes: to ask whether scripts run.
    pub(super) fn probe(prefix: &str) -> Self {
        let lock = format!("{prefix}probe");
        Self { tag: format!("{{{lock}}}"), lock }
    }

    pub(super) fn new(prefix: &str, key: &LockKey) -> Self {
        let lock = format!("{prefix}{key}");
        let tag = if lock.contains('{') { lock.clone() } else { format!("{{{lock}}}") };
        Self { lock, tag }
    }

    /// Prefix of an owner's read keys; `:i` follows.
    pub(super) fn reads(&self, owner: &str) -> String {
        format!("{}:{owner}:rwlock_timeout", self.tag)
    }

    pub(super) fn channel(&self) -> String {
        format!("redisson_rwlock:{}", self.tag)
    }

    pub(super) fn token(&self) -> String {
        format!("redisson_lock_token:{}", self.tag)
    }

    pub(super) fn mark(&self) -> String {
        format!("lock_next:{}", self.tag)
    }
}

pub(super) fn client(id: &str) -> String {
    format!("lock_client:{id}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn side_keys_share_the_locks_slot() {
        let names = |key: &str| LockNames::new("lock:", &LockKey::try_from(key).expect("a key"));
        let plain = names("order:42");
        assert_eq!(plain.lock, "lock:order:42");
        assert_eq!(plain.reads("u:1"), "{lock:order:42}:u:1:rwlock_timeout");
        assert_eq!(plain.channel(), "redisson_rwlock:{lock:order:42}");
        let tagged = names("order:{42}");
        assert_eq!(
            tagged.tag, "lock:order:{42}",
            "Redisson adds no braces to a name that has some"
        );
        assert_eq!(tagged.token(), "redisson_lock_token:lock:order:{42}");
        assert_eq!(tagged.mark(), "lock_next:lock:order:{42}");
    }
}
