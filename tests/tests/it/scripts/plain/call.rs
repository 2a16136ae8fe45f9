//! Calls of exclusive/*.

use std::fmt::Display;

use crate::scripts::support::call::{Call, HOUR, LEASE, PLACE_MS};
use crate::scripts::support::keys::{COUNTER, LINE, LOCK, LOCK_CHANNEL, TOKEN};

pub(crate) fn acquire(owner: &str, holds: u32) -> Call {
    Call::new(
        "exclusive/acquire",
        [LOCK, LINE, TOKEN, LOCK_CHANNEL, COUNTER],
        [
            ("owner", &owner),
            ("lease", &LEASE),
            ("token_ttl", &HOUR),
            ("place_ms", &PLACE_MS),
            ("waited_ms", &0),
            ("yields", &1),
            ("holds", &holds),
            ("reserved_tokens", &0),
        ],
    )
}

pub(crate) fn release(owner: &str, holds: u32) -> Call {
    Call::new(
        "exclusive/release",
        [LOCK, LOCK_CHANNEL, LINE],
        [("owner", &owner), ("holds", &holds), ("queued", &0)],
    )
}

pub(crate) fn renew(owner: &str) -> Call {
    let args: [(_, &dyn Display); 2] = [("owner", &owner), ("lease", &LEASE)];
    Call::new("exclusive/renew", [LOCK], args)
}
