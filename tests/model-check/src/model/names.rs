//! The names of a model's lock, or of several, and of their owners.
//!
//! An owner is reported by one byte of its name that occurs in no other name: so states that differ in
//! the names of clients alone are found to be the same.

use lock_core::{Kind, test_util::ScriptCaller};

use lock_core::LockKey;

/// One for each owner that may be known at a time.
pub(crate) const SYMBOLS: &[u8; 6] = b"ABCDEF";

/// How a lock stands in Redis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wire {
    Redisson,
    Native,
}

/// The names of one lock.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct LockNames {
    pub(crate) wire: Wire,
    /// As clients know it.
    pub(crate) key: &'static str,
    tag: &'static str,
    pub(crate) lock: &'static [u8],
    pub(crate) line: &'static [u8],
    pub(crate) alive: &'static [u8],
    pub(crate) token: &'static [u8],
    pub(crate) queue: &'static [u8],
    pub(crate) leases: &'static [u8],
}

macro_rules! names_of {
    ($key:literal) => {
        LockNames {
            wire: Wire::Redisson,
            key: $key,
            tag: concat!("{", $key, "}"),
            lock: $key.as_bytes(),
            line: concat!("lock_waiters:{", $key, "}").as_bytes(),
            alive: concat!("lock_alive:{", $key, "}").as_bytes(),
            token: concat!("redisson_lock_token:{", $key, "}").as_bytes(),
            queue: concat!("redisson_lock_queue:{", $key, "}").as_bytes(),
            leases: concat!("{", $key, "}:timeout").as_bytes(),
        }
    };
}

/// On the native wire: `alive` has the places, and all locks have one token.
macro_rules! native_names_of {
    ($key:literal) => {
        LockNames {
            wire: Wire::Native,
            key: $key,
            tag: concat!("{", $key, "}"),
            lock: $key.as_bytes(),
            line: concat!("lock_line:{", $key, "}").as_bytes(),
            alive: concat!("lock_places:{", $key, "}").as_bytes(),
            token: b"lock_token:",
            queue: b"",
            leases: b"",
        }
    };
}

/// Of the one lock of most models.
pub(crate) static K: LockNames = names_of!("k");
/// The same on the native wire.
pub(crate) static NATIVE_K: LockNames = native_names_of!("k");
/// Of those that are requested together, in their order.
pub(crate) static SEVERAL: [LockNames; 2] = [names_of!("a"), names_of!("b")];

/// The same on the native wire.
pub(crate) static NATIVE_SEVERAL: [LockNames; 2] = [native_names_of!("a"), native_names_of!("b")];

/// What stands for the greatest token that a client knows, where a call is made before it is known.
pub(crate) const KNOWN: u64 = 7_777_777_777_777_777;

/// As Redis knows it.
pub(crate) fn owner(kind: Kind, names: &LockNames, number: u8) -> Vec<u8> {
    let symbol = SYMBOLS[usize::from(number)];
    match (names.wire, kind) {
        (Wire::Redisson, Kind::Semaphore) => [b"permit-number--", [symbol].as_slice()].concat(),
        (Wire::Native, Kind::Semaphore) => {
            [b"0-0-80-0-".as_slice(), &[symbol], b":", PERMIT.as_bytes()].concat()
        }
        _ => [b"0-0-80-0-".as_slice(), &[symbol], b":1"].concat(),
    }
}

/// On the native wire the client in an owner's name tells it from others.
const PERMIT: &str = "00000000000000000000000000000001";

/// The caller of this number.
pub(crate) fn caller(kind: Kind, names: &LockNames, number: u8) -> ScriptCaller {
    let text = |bytes| String::from_utf8(bytes).expect("BUG: an owner's name is text");
    let bytes = owner(kind, names, number);
    if names.wire == Wire::Native {
        let name = text(bytes);
        let (client, number) = name.split_once(':').expect("BUG: it has a client");
        let owner = if kind == Kind::Semaphore { number } else { &name };
        return ScriptCaller::native(kind, &names.lock_key(), client, owner, KNOWN);
    }
    let name = match kind {
        Kind::Semaphore => bytes.iter().map(|byte| format!("{byte:02x}")).collect(),
        _ => text(bytes),
    };
    ScriptCaller::new(kind, &names.lock_key(), &name)
}

/// A caller that was never there.
pub(crate) fn newcomer(kind: Kind, names: &LockNames, number: u32) -> ScriptCaller {
    let client = "0-0-80-0-a";
    let name = match kind {
        Kind::Semaphore => format!("{:032x}", number + 1),
        _ => format!("{client}:{}", number + 1),
    };
    match names.wire {
        Wire::Redisson => ScriptCaller::new(kind, &names.lock_key(), &name),
        Wire::Native => ScriptCaller::native(kind, &names.lock_key(), client, &name, KNOWN),
    }
}

impl LockNames {
    fn lock_key(&self) -> LockKey {
        LockKey::try_from(self.key).expect("BUG: it is a key")
    }

    /// Whether a key of Redis is one of this lock's.
    pub(crate) fn has(&self, key: &[u8]) -> bool {
        let tag = self.tag.as_bytes();
        key == self.lock || key.windows(tag.len()).any(|part| part == tag)
    }

    /// The key of an owner's read hold.
    pub(crate) fn read_key(&self, owner: &[u8], hold: u32) -> Vec<u8> {
        let hold = format!(":rwlock_timeout:{hold}");
        [self.tag.as_bytes(), b":", owner, hold.as_bytes()].concat()
    }

    /// The channel that wakes waiters; a fair kind's waiter has its own, and on the native wire each
    /// client.
    pub(crate) fn channel(&self, kind: Kind, waiter: &[u8]) -> Vec<u8> {
        if self.wire == Wire::Native {
            let client = waiter.split(|byte| *byte == b':').next().unwrap_or_default();
            return [format!("lock_wake:{}:", self.tag).as_bytes(), client].concat();
        }
        let (sort, is_own) = match kind {
            Kind::ReadWrite => ("redisson_rwlock", false),
            Kind::FairReadWrite => ("lock_turn", true),
            Kind::Fair => ("redisson_lock__channel", true),
            Kind::Semaphore => ("redisson_sc", false),
            _ => ("redisson_lock__channel", false),
        };
        let channel = format!("{sort}:{}", self.tag).into_bytes();
        if is_own { [&channel, b":".as_slice(), waiter].concat() } else { channel }
    }

    /// What wakes a waiter that shares its channel with others: zeros before the message.
    pub(crate) fn is_for(&self, waiter: &[u8], message: &[u8]) -> bool {
        let ([first, ..], [.., tens, ones]) = (waiter, waiter) else { return false };
        // On the native wire the client's part is in the channel.
        let first = if self.wire == Wire::Native { 0 } else { usize::from(*first) };
        let number = first + 10 * usize::from(*tens) + usize::from(*ones);
        let zeros = number % 32 + 1;
        let (before, rest) = message.split_at(zeros.min(message.len()));
        before.iter().all(|digit| *digit == b'0')
            && !rest.is_empty()
            && (rest == b"0" || rest[0] != b'0')
    }
}
