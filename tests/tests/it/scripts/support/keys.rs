//! Keys in Redis as a test expects them.

use std::fmt;

pub(crate) const LOCK: &str = "lock:k";
pub(crate) const TAG: &str = "{lock:k}";
pub(crate) const CHANNEL: &str = "redisson_rwlock:{lock:k}";
pub(crate) const LOCK_CHANNEL: &str = "redisson_lock__channel:{lock:k}";
pub(crate) const QUEUE: &str = "redisson_lock_queue:{lock:k}";
pub(crate) const DEADLINES: &str = "redisson_lock_timeout:{lock:k}";
pub(crate) const ALIVE: &str = "lock_alive:{lock:k}";
pub(crate) const LEASES: &str = "{lock:k}:timeout";
pub(crate) const SEMAPHORE_CHANNEL: &str = "redisson_sc:{lock:k}";
pub(crate) const TURN: &str = "lock_turn:{lock:k}";
pub(crate) const ASKED: &str = "lock_asked:{lock:k}";
pub(crate) const TOKEN: &str = "redisson_lock_token:{lock:k}";
/// The native wire's, which is not there unless a test puts it there.
pub(crate) const COUNTER: &str = "lock_token:lock:";
pub(crate) const LINE: &str = "lock_waiters:{lock:k}";

pub(crate) const FOREVER: i64 = -1;

/// How much later than the script a test may look, on the slowest machine.
const SLACK: i64 = 60_000;

/// One key: name, type with content (fields of a hash by name), and TTL in ms.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Key {
    pub(crate) name: String,
    pub(crate) content: String,
    pub(crate) ttl: i64,
}

impl Key {
    pub(crate) fn new(name: &str, content: impl Into<String>, ttl: i64) -> Self {
        Self { name: name.to_owned(), content: content.into(), ttl }
    }

    /// A line without its times, which no test knows beforehand.
    pub(crate) fn timeless(mut self) -> Self {
        if self.name.starts_with("lock_waiters:") && self.content.starts_with("hash ") {
            let fields: Vec<_> = self.content.split(' ').map(without_times).collect();
            self.content = fields.join(" ");
        }
        self
    }

    /// The same key, a moment later.
    fn became(&self, later: &Self) -> bool {
        (&self.name, &self.content) == (&later.name, &later.content) && within(later.ttl, self.ttl)
    }
}

/// `mode:owner` of a waiter's field; any other field as it is.
fn without_times(field: &str) -> &str {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let times = |value: &str| {
        value.split_once(':').is_some_and(|(since, until)| is_number(since) && is_number(until))
    };
    field.split_once('=').filter(|(_, value)| times(value)).map_or(field, |(name, _)| name)
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} = {} ({} ms)", self.name, self.content, self.ttl)
    }
}

/// Whether `left` may remain of what was `ms` before.
pub(crate) fn within(left: i64, ms: i64) -> bool {
    if ms < 0 { left == ms } else { left <= ms && left > ms - SLACK }
}

/// The lock, with the fields of its hash sorted by name.
pub(crate) fn lock(fields: &str, ttl: i64) -> Key {
    Key::new(LOCK, format!("hash {fields}"), ttl)
}

/// The key of an owner's read hold.
pub(crate) fn read(owner: &str, hold: u32, ttl: i64) -> Key {
    Key::new(&format!("{TAG}:{owner}:rwlock_timeout:{hold}"), "string 1", ttl)
}

/// The lock and its owners' keys.
pub(crate) fn with<const N: usize>(lock: Key, reads: [Key; N]) -> Vec<Key> {
    [vec![lock], reads.into()].concat()
}

/// The line of these waiters, each `mode:owner`, sorted by name, since whenever.
pub(crate) fn waiters(names: &str) -> Key {
    Key::new(LINE, format!("hash {names}"), crate::scripts::support::call::PLACE_MS)
}

/// Returns how `after` differs from `before` a moment ago, if it does; both sorted by name.
pub(crate) fn difference(before: &[Key], after: &[Key]) -> Option<String> {
    let same = before.len() == after.len() && before.iter().zip(after).all(|(b, a)| b.became(a));
    (!same).then(|| format!("expected {before:#?}\nfound {after:#?}"))
}
