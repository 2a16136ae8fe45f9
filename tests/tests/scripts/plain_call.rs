//! Calls of lock/*.

use std::fmt::Display;

use crate::call::{Call, HOUR, LEASE, MARK_LIFE};
use crate::keys::{LOCK, LOCK_CHANNEL, MARK, TOKEN};

pub(crate) fn acquire(owner: &str, holds: u32) -> Call {
    Call::new(
        "lock/acquire",
        [LOCK, MARK, TOKEN],
        [
            ("owner", &owner),
            ("lease", &LEASE),
            ("token_ttl", &HOUR),
            ("mark_ms", &MARK_LIFE),
            ("waited_ms", &0),
            ("yields", &1),
            ("holds", &holds),
            ("turns", &0),
        ],
    )
}

pub(crate) fn release(owner: &str, holds: u32) -> Call {
    Call::new(
        "lock/release",
        [LOCK, LOCK_CHANNEL, MARK],
        [("owner", &owner), ("holds", &holds), ("marked", &0)],
    )
}

pub(crate) fn renew(owner: &str) -> Call {
    let args: [(_, &dyn Display); 2] = [("owner", &owner), ("lease", &LEASE)];
    Call::new("lock/renew", [LOCK], args)
}
