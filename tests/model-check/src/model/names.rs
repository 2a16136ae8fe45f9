//! The names of the one lock of a model, and of its owners.
//!
//! An owner is told by one byte of its name that occurs in no other name: so states that differ in
//! the names of clients alone are found to be the same.

use lock_core::__private::{Caller, Kind};

use lock_core::LockKey;

/// One for each owner that may be known at a time.
pub(super) const SYMBOLS: &[u8; 6] = b"ABCDEF";

pub(super) const LOCK: &[u8] = b"k";
pub(super) const MARK: &[u8] = b"lock_next:{k}";
pub(super) const ALIVE: &[u8] = b"lock_alive:{k}";
pub(super) const TOKEN: &[u8] = b"redisson_lock_token:{k}";
pub(super) const QUEUE: &[u8] = b"redisson_lock_queue:{k}";
pub(super) const LEASES: &[u8] = b"{k}:timeout";

/// As Redis knows it.
pub(super) fn owner(kind: Kind, number: u8) -> Vec<u8> {
    let symbol = SYMBOLS[usize::from(number)];
    if kind == Kind::Semaphore {
        return [b"permit-number--", [symbol].as_slice()].concat();
    }
    [b"0-0-80-0-".as_slice(), &[symbol], b":1"].concat()
}

/// Whoever asks under that name.
pub(super) fn caller(kind: Kind, number: u8) -> Caller {
    let bytes = owner(kind, number);
    let name = match kind {
        Kind::Semaphore => bytes.iter().map(|byte| format!("{byte:02x}")).collect(),
        _ => String::from_utf8(bytes).expect("BUG: an owner's name is text"),
    };
    let key = LockKey::try_from("k").expect("BUG: it is a key");
    Caller::new(kind, &key, &name)
}

/// Somebody who was never there.
pub(super) fn newcomer(kind: Kind, number: u32) -> Caller {
    let key = LockKey::try_from("k").expect("BUG: it is a key");
    let name = match kind {
        Kind::Semaphore => format!("{:032x}", number + 1),
        _ => format!("0-0-80-0-a:{}", number + 1),
    };
    Caller::new(kind, &key, &name)
}

/// The key of an owner's read hold.
pub(super) fn read_key(owner: &[u8], hold: u32) -> Vec<u8> {
    [b"{k}:".as_slice(), owner, format!(":rwlock_timeout:{hold}").as_bytes()].concat()
}

/// Where it is told that who waits may try again; a fair kind's waiter has its own.
pub(super) fn channel(kind: Kind, waiter: &[u8]) -> Vec<u8> {
    match kind {
        Kind::ReadWrite => b"redisson_rwlock:{k}".to_vec(),
        Kind::FairReadWrite => [b"lock_turn:{k}:".as_slice(), waiter].concat(),
        Kind::Fair => [b"redisson_lock__channel:{k}:".as_slice(), waiter].concat(),
        Kind::Semaphore => b"redisson_sc:{k}".to_vec(),
        _ => b"redisson_lock__channel:{k}".to_vec(),
    }
}
