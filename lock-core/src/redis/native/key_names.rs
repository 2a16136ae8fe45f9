//! Every name that the native wire writes to Redis, with its type and meaning.
//!
//! `N` is the client's prefix and the lock's key; `B` is `N` in braces, unless `N` has a hash tag.
//! All names of one lock are in one slot of a cluster. `O` is an owner. A place is `r:O` or `w:O`.
//!
//! | name | type | content |
//! |---|---|---|
//! | `N` | string, with TTL | the one holder of a lock, or a mark that waiters are in line, and the line while it is short: see `lib/value` |
//! | `N` | sorted set, with TTL | several readers, or a semaphore's permits in use: owner -> epoch ms at which its lease ends |
//! | `lock_line:B` | sorted set, with TTL | a line that is not in the value: place of each waiter -> number of arrival, of a semaphore since when it has waited (us) |
//! | `lock_places:B` | sorted set, with TTL | place of each waiter -> epoch ms until which it lives; `#native`, `#redisson`: see `lib/pause` |
//! | `lock_wake:B:<client>` | channel | a waiter of this client may try again |
//! | `lock_asked:B` | set, with TTL; channel | owners that were requested to release; a message when there is one |
//! | `lock_asked:{<prefix>}:<client>` | channel | a lock was taken away from this client |
//! | `lock_token:<prefix>`, in a cluster `lock_token:<prefix>{n}` for each slot | string, kept forever | the last fencing token of all locks there |
//! | `lock_client:<uuid>` | string, with TTL | the client's name: service, instance, since when |
//! | `lock_client:<uuid>:all` | string, with TTL | the client's hot keys |
//! | `lock_client:<owner>` | string, with TTL | the work of a long hold or wait of this owner |

use lock_store::LockKey;

use crate::redis::protocol::{NamePattern, counter_pattern};

/// The text before the tag in the names that are not locks.
const BESIDE: [&str; 5] =
    ["lock_line:", "lock_places:", "lock_wake:", "lock_asked:", "lock_token:"];

pub(crate) fn lock(prefix: &str, key: &LockKey) -> String {
    [prefix, key.as_str()].concat()
}

/// The name of something that belongs to a lock.
fn beside(what: &str, lock: &str) -> String {
    if lock.contains('{') { [what, lock].concat() } else { [what, "{", lock, "}"].concat() }
}

/// The other names that a lock may have, in the order of the scripts' keys.
pub(super) fn beside_lock(lock: &str) -> [String; 2] {
    ["lock_line:", "lock_places:"].map(|what| beside(what, lock))
}

pub(crate) fn release_request(lock: &str) -> String {
    beside("lock_asked:", lock)
}

/// The channel of a client's waiters.
pub(crate) fn wake(lock: &str, client: &str) -> String {
    [&beside("lock_wake:", lock), ":", client].concat()
}

/// The key whose lock has this name, if it is the name of a lock of a client with this prefix.
pub(crate) fn key_of(prefix: &str, name: &str) -> Option<LockKey> {
    if BESIDE.iter().any(|what| name.starts_with(what)) || name.starts_with("lock_client:") {
        return None;
    }
    LockKey::try_from(name.strip_prefix(prefix)?).ok()
}

/// Every kind of key under a prefix; the locks themselves come first.
pub(crate) fn key_patterns(prefix: &str) -> Vec<NamePattern> {
    // No key has a control character.
    let lock = format!("{prefix}\u{1}rights");
    let behind = |what: &str| NamePattern {
        name: beside(what, &lock),
        pattern: format!("~{what}{{{prefix}*"),
    };
    vec![
        NamePattern { name: lock.clone(), pattern: format!("~{prefix}*") },
        behind("lock_line:"),
        behind("lock_places:"),
        behind("lock_asked:"),
        counter_pattern(prefix),
    ]
}

/// Every kind of channel under a prefix.
pub(crate) fn channel_patterns(prefix: &str) -> Vec<NamePattern> {
    let lock = format!("{prefix}\u{1}rights");
    ["lock_wake:", "lock_asked:"]
        .map(|what| NamePattern {
            name: beside(what, &lock),
            pattern: format!("&{what}{{{prefix}*"),
        })
        .into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::redis::protocol::slot_of;

    #[test]
    fn names_beside_a_lock_are_in_its_slot_and_are_not_locks() {
        for key in ["order:42", "order:{42}", "{42}:x", "a:timeout", "k*[?"] {
            let key = LockKey::try_from(key).expect("a key");
            for prefix in ["", "lock:", "lock_"] {
                let lock = lock(prefix, &key);
                assert_eq!(key_of(prefix, &lock), Some(key.clone()));
                for name in [release_request(&lock), wake(&lock, "u"), beside("lock_line:", &lock)]
                {
                    assert_eq!(slot_of(name.as_bytes()), slot_of(lock.as_bytes()));
                    assert_eq!(key_of(prefix, &name), None, "{name}");
                }
            }
        }
    }
}
