//! Every name that Redisson's wire writes to Redis, with its type and meaning.
//!
//! `N` is the client's prefix and the lock's key; `B` is `N` in braces, unless `N` has a hash tag.
//! All names of one lock are in one slot of a cluster. `O` is an owner.
//!
//! | name | type | content | owner |
//! |---|---|---|---|
//! | `N` of a plain, fair or fenced lock | hash, with TTL | `O` -> holds | Redisson's |
//! | `N` of a read/write lock, fair or not | hash, with TTL | `mode` -> `read` or `write`; `O` -> read holds; `O:write` -> write holds | Redisson's |
//! | `N` of a semaphore | string, kept forever | free permits | Redisson's |
//! | `B:O:rwlock_timeout:i` | string, with TTL | `1`: the owner's read hold `i` lives | Redisson's |
//! | `B:timeout` | sorted set, kept forever | 16 bytes of a permit -> epoch ms at which its lease ends | Redisson's |
//! | `redisson_rwlock:B` | channel | `0`: a read was released, `1`: a write was, or readers may try again | Redisson's |
//! | `redisson_lock__channel:B` | channel | `0`: a plain lock was released, or a waiter has left | Redisson's |
//! | `redisson_lock__channel:B:O` | channel | `0`: it is this fair waiter's turn | Redisson's |
//! | `redisson_sc:B` | channel | the number of free permits after they grew | Redisson's |
//! | `redisson_lock_queue:B` | list, with TTL unless Redisson waits too | the waiters of a fair lock, `O`, next first | Redisson's |
//! | `redisson_lock_timeout:B` | sorted set, with TTL as the queue | `O` -> epoch ms after which Redisson skips it | Redisson's |
//! | `redisson_lock_token:B` | string, with TTL unless permanent | the last fencing token | Redisson's name (`RFencedLock`), our numbers |
//! | `lock_waiters:B` | hash, with TTL | `read:O` or `write:O` -> `since:until` (epoch ms) of each waiter | ours |
//! | `lock_waiters:B` of a fair read/write lock | sorted set, with TTL | `read:O` or `write:O` -> number of arrival; `fair` -> 0 while it is held or waited for; `writer:O` -> a writer's number, negated | ours |
//! | `lock_alive:B` | sorted set, with TTL | `O`, in a fair read/write lock `read:O` or `write:O` -> epoch ms until which its place in line lives | ours |
//! | `lock_turn:B:O` | channel | `1`: this waiter of a fair read/write lock may enter | ours |
//! | `lock_asked:B` | set, with TTL | owners that were requested to release; a semaphore's permits in hex | ours |
//! | `lock_asked:B` | channel | `1`: an owner was requested to release | ours |
//! | `lock_asked:{<prefix>}:<client>` | channel | `1`: a lock was taken away from this client | ours |
//! | `lock_places:B` | sorted set, with TTL | `#redisson`, `#native` -> when clients of that wire last left the lock free for the other's: see `lib/pause` | the native wire's |
//! | `lock_token:<prefix>`, in a cluster `lock_token:<prefix>{n}` for each slot | string, kept forever | where it exists, it is kept at each token | the native wire's |
//! | `lock_client:<uuid>` | string, with TTL | the client's name: service, instance, since when |
//! | `lock_client:<uuid>:all` | string, with TTL | the client's hot keys |
//! | `lock_client:<owner>` | string, with TTL | the work of a long hold or wait of this owner |

use std::fmt;

use lock_store::LockKey;

use crate::redis::protocol::{NamePattern, counter_pattern};

/// The names of one lock.
#[derive(Debug)]
pub(crate) struct LockNames {
    /// `N`
    pub(crate) lock: String,
    /// `B`
    pub(crate) tag: String,
}

impl LockNames {
    /// A lock that is never acquired: to check whether scripts run.
    pub(crate) fn probe(prefix: &str) -> Self {
        let lock = format!("{prefix}probe");
        Self { tag: format!("{{{lock}}}"), lock }
    }

    /// A lock that no client can take, to check the user's rights.
    fn untaken(prefix: &str) -> Self {
        // No key has a control character.
        let lock = format!("{prefix}\u{1}rights");
        Self { tag: format!("{{{lock}}}"), lock }
    }

    pub(crate) fn new(prefix: &str, key: &LockKey) -> Self {
        let lock = [prefix, key.as_str()].concat();
        let tag = if lock.contains('{') { lock.clone() } else { ["{", &lock, "}"].concat() };
        Self { lock, tag }
    }

    /// Prefix of an owner's read keys; `:i` follows.
    pub(crate) fn reads(&self, owner: impl fmt::Display) -> String {
        format!("{}:{owner}:rwlock_timeout", self.tag)
    }

    /// The channel on which releases of the read/write lock are published.
    pub(crate) fn channel(&self) -> String {
        self.named("redisson_rwlock")
    }

    pub(crate) fn token(&self) -> String {
        self.named("redisson_lock_token")
    }

    /// The waiters, except those of a fair lock with one holder.
    pub(crate) fn waiters(&self) -> String {
        self.named("lock_waiters")
    }

    /// The channel of the releases of a plain lock; `:O` follows for a waiter of a fair one.
    pub(crate) fn lock_channel(&self) -> String {
        self.named("redisson_lock__channel")
    }

    pub(crate) fn queue(&self) -> String {
        self.named("redisson_lock_queue")
    }

    pub(crate) fn deadlines(&self) -> String {
        self.named("redisson_lock_timeout")
    }

    pub(crate) fn alive(&self) -> String {
        self.named("lock_alive")
    }

    /// Prefix of the channels of waiters of a fair read/write lock; `:O` follows.
    pub(crate) fn turn(&self) -> String {
        self.named("lock_turn")
    }

    /// A semaphore's permits in use.
    pub(crate) fn leases(&self) -> String {
        format!("{}:timeout", self.tag)
    }

    pub(crate) fn semaphore_channel(&self) -> String {
        self.named("redisson_sc")
    }

    /// The owners whose release was requested, and the channel of such requests.
    pub(crate) fn release_request(&self) -> String {
        self.named("lock_asked")
    }

    /// The channel of one waiter, of `lock_channel` or of `turn`.
    pub(crate) fn of_waiter(channel: &str, owner: impl fmt::Display) -> String {
        format!("{channel}:{owner}")
    }

    fn named(&self, what: &str) -> String {
        [what, ":", &self.tag].concat()
    }
}

/// Every kind of key under a prefix; the locks themselves come first.
pub(crate) fn key_patterns(prefix: &str) -> Vec<NamePattern> {
    let names = LockNames::untaken(prefix);
    let behind = |name: String| NamePattern { name, pattern: format!("~{{{prefix}*") };
    let mut patterns = vec![
        NamePattern { name: names.lock.clone(), pattern: format!("~{prefix}*") },
        behind(names.leases()),
        behind(names.reads("")),
    ];
    patterns.extend(BESIDE.map(|what| NamePattern {
        name: format!("{what}{}", names.tag),
        pattern: format!("~{what}{{{prefix}*"),
    }));
    patterns.push(counter_pattern(prefix));
    patterns
}

/// Every kind of channel under a prefix.
pub(crate) fn channel_patterns(prefix: &str) -> Vec<NamePattern> {
    let names = LockNames::untaken(prefix);
    let channels = [
        names.channel(),
        names.lock_channel(),
        names.semaphore_channel(),
        names.turn(),
        names.release_request(),
    ];
    let patterns = channels.map(|name| {
        let pattern = format!("&{}{{{prefix}*", name.trim_end_matches(&names.tag));
        NamePattern { name, pattern }
    });
    patterns.into()
}

/// The text before the tag in the names that are not locks.
const BESIDE: [&str; 11] = [
    "redisson_rwlock:",
    "redisson_lock__channel:",
    "redisson_sc:",
    "redisson_lock_queue:",
    "redisson_lock_timeout:",
    "redisson_lock_token:",
    "lock_waiters:",
    "lock_alive:",
    "lock_turn:",
    "lock_asked:",
    "lock_places:",
];

/// The key whose lock has this name, if it is the name of a lock of a client with this prefix.
pub(crate) fn key_of(prefix: &str, name: &str) -> Option<LockKey> {
    let beside = BESIDE.iter().any(|what| name.starts_with(what) && name.contains('{'))
        || name.starts_with("lock_client:");
    // The names of a semaphore's leases and of an owner's reads continue after the tag.
    let behind = name.rsplit_once('}').is_some_and(|(_, behind)| {
        behind.ends_with(":timeout") || behind.contains(":rwlock_timeout:")
    });
    if beside || behind {
        return None;
    }
    LockKey::try_from(name.strip_prefix(prefix)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_locks_name_differs_from_those_beside_it() {
        for prefix in ["", "lock:", "lock_"] {
            for key in ["order:42", "order:{42}", "{42}:x", "a:timeout", "next:x", "k*[?"] {
                let key = LockKey::try_from(key).expect("a key");
                let names = LockNames::new(prefix, &key);
                assert_eq!(key_of(prefix, &names.lock), Some(key));
                for beside in [
                    format!("{}:1", names.reads("u:1")),
                    names.token(),
                    names.waiters(),
                    names.queue(),
                    names.deadlines(),
                    names.alive(),
                    names.leases(),
                    names.release_request(),
                    "lock_client:u".to_owned(),
                ] {
                    assert_eq!(key_of(prefix, &beside), None, "{beside}");
                }
            }
        }
        assert_eq!(key_of("lock:", "order:42"), None);
        assert_eq!(key_of("lock:", "lock:"), None);
    }

    #[test]
    fn side_keys_share_the_locks_slot() {
        let names = |key: &str| LockNames::new("lock:", &LockKey::try_from(key).expect("a key"));
        let plain = names("order:42");
        assert_eq!(plain.lock, "lock:order:42");
        assert_eq!(plain.reads("u:1"), "{lock:order:42}:u:1:rwlock_timeout");
        assert_eq!(plain.channel(), "redisson_rwlock:{lock:order:42}");
        assert_eq!(plain.lock_channel(), "redisson_lock__channel:{lock:order:42}");
        assert_eq!(plain.queue(), "redisson_lock_queue:{lock:order:42}");
        assert_eq!(plain.deadlines(), "redisson_lock_timeout:{lock:order:42}");
        assert_eq!(plain.leases(), "{lock:order:42}:timeout");
        assert_eq!(plain.semaphore_channel(), "redisson_sc:{lock:order:42}");
        assert_eq!(plain.alive(), "lock_alive:{lock:order:42}");
        assert_eq!(LockNames::of_waiter(&plain.turn(), "u:1"), "lock_turn:{lock:order:42}:u:1");
        assert_eq!(plain.release_request(), "lock_asked:{lock:order:42}");
        let tagged = names("order:{42}");
        assert_eq!(
            tagged.tag, "lock:order:{42}",
            "Redisson adds no braces to a name that has some"
        );
        assert_eq!(tagged.token(), "redisson_lock_token:lock:order:{42}");
        assert_eq!(tagged.waiters(), "lock_waiters:lock:order:{42}");
    }
}
