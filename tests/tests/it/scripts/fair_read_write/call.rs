//! Calls of fair_read_write/*.

use std::fmt::Display;

use crate::scripts::fair::call::PLACE;
use crate::scripts::support::call::{Call, HOUR, LEASE, reads};
use crate::scripts::support::keys::{ALIVE, CHANNEL, COUNTER, LINE, LOCK, TAG, TOKEN, TURN};

pub(crate) fn acquire(mode: &str, owner: &str, holds: u32) -> Call {
    Call::new(
        "fair_read_write/acquire",
        [LOCK, &reads(owner), LINE, ALIVE, TOKEN, TURN, COUNTER],
        [
            ("owner", &owner),
            ("mode", &mode),
            ("lease", &LEASE),
            ("holds", &holds),
            ("place_ms", &PLACE),
            ("token_ttl", &HOUR),
            ("tag", &TAG),
        ],
    )
}

pub(crate) fn read(owner: &str) -> Call {
    acquire("read", owner, 1)
}

pub(crate) fn write(owner: &str) -> Call {
    acquire("write", owner, 1)
}

pub(crate) fn release(mode: &str, owner: &str, holds: u32) -> Call {
    Call::new(
        "fair_read_write/release",
        [LOCK, &reads(owner), CHANNEL, LINE, ALIVE, TURN],
        [("owner", &owner), ("mode", &mode), ("holds", &holds), ("queued", &0)],
    )
}

/// The call of a waiter that gives up.
pub(crate) fn leave(mode: &str, owner: &str) -> Call {
    release(mode, owner, 0).with("queued", 1)
}

/// `mode:owner` of waiters that give up together.
pub(crate) fn leave_together(waiters: &[&str]) -> Call {
    let call = Call::new("fair_read_write/leave", [LOCK, CHANNEL, LINE, ALIVE, TURN], []);
    let args = waiters.iter().map(|waiter| ("waiters", (*waiter).to_owned())).collect();
    Call { args, ..call }
}

pub(crate) fn upgrade(owner: &str, read_holds: u32, write_holds: u32) -> Call {
    Call::new(
        "fair_read_write/upgrade",
        [LOCK, &reads(owner), TOKEN, LINE, COUNTER],
        [
            ("owner", &owner),
            ("lease", &LEASE),
            ("read_holds", &read_holds),
            ("write_holds", &write_holds),
            ("token_ttl", &HOUR),
            ("tag", &TAG),
        ],
    )
}

pub(crate) fn downgrade(owner: &str, read_holds: u32, write_holds: u32) -> Call {
    Call::new(
        "fair_read_write/downgrade",
        [LOCK, &reads(owner), CHANNEL, LINE, ALIVE, TURN],
        [
            ("owner", &owner),
            ("lease", &LEASE),
            ("read_holds", &read_holds),
            ("write_holds", &write_holds),
        ],
    )
}

pub(crate) fn renew(mode: &str, owner: &str) -> Call {
    let args: [(_, &dyn Display); 3] = [("mode", &mode), ("owner", &owner), ("lease", &LEASE)];
    Call::new("fair_read_write/renew", [LOCK, &reads(owner), LINE], args)
}
