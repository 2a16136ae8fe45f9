//! The names of a model's lock, or of several, and of their owners.
//!
//! An owner is told by one byte of its name that occurs in no other name: so states that differ in
//! the names of clients alone are found to be the same.

use lock_core::{Kind, test_util::ScriptCaller};

use lock_core::LockKey;

/// One for each owner that may be known at a time.
pub(crate) const SYMBOLS: &[u8; 6] = b"ABCDEF";

/// The names of one lock.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct LockNames {
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

/// Of the one lock of most models.
pub(crate) static K: LockNames = names_of!("k");
/// Of those that are asked for together, in their order.
pub(crate) static SEVERAL: [LockNames; 2] = [names_of!("a"), names_of!("b")];

/// As Redis knows it.
pub(crate) fn owner(kind: Kind, number: u8) -> Vec<u8> {
    let symbol = SYMBOLS[usize::from(number)];
    if kind == Kind::Semaphore {
        return [b"permit-number--", [symbol].as_slice()].concat();
    }
    [b"0-0-80-0-".as_slice(), &[symbol], b":1"].concat()
}

/// The caller of this number.
pub(crate) fn caller(kind: Kind, names: &LockNames, number: u8) -> ScriptCaller {
    let bytes = owner(kind, number);
    let name = match kind {
        Kind::Semaphore => bytes.iter().map(|byte| format!("{byte:02x}")).collect(),
        _ => String::from_utf8(bytes).expect("BUG: an owner's name is text"),
    };
    ScriptCaller::new(kind, &names.lock_key(), &name)
}

/// A caller that was never there.
pub(crate) fn newcomer(kind: Kind, names: &LockNames, number: u32) -> ScriptCaller {
    let name = match kind {
        Kind::Semaphore => format!("{:032x}", number + 1),
        _ => format!("0-0-80-0-a:{}", number + 1),
    };
    ScriptCaller::new(kind, &names.lock_key(), &name)
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

    /// The channel that wakes waiters; a fair kind's waiter has its own.
    pub(crate) fn channel(&self, kind: Kind, waiter: &[u8]) -> Vec<u8> {
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
    pub(crate) fn is_for(waiter: &[u8], message: &[u8]) -> bool {
        let ([first, ..], [.., tens, ones]) = (waiter, waiter) else { return false };
        let number = usize::from(*first) + 10 * usize::from(*tens) + usize::from(*ones);
        let zeros = number % 32 + 1;
        let (before, rest) = message.split_at(zeros.min(message.len()));
        before.iter().all(|digit| *digit == b'0')
            && !rest.is_empty()
            && (rest == b"0" || rest[0] != b'0')
    }
}
