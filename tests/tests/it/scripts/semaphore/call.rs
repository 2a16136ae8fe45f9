//! Calls of semaphore/*.

use std::fmt::Display;

use crate::scripts::support::call::{Call, LEASE, PLACE_MS};
use crate::scripts::support::keys::{LEASES, LINE, LOCK, SEMAPHORE_CHANNEL};

/// A permit's 16 bytes.
pub(crate) fn permit(number: u32) -> String {
    format!("permit-{number:09}")
}

pub(crate) fn acquire(number: u32, total: i64) -> Call {
    Call::new(
        "semaphore/acquire",
        [LOCK, LEASES, SEMAPHORE_CHANNEL, LINE],
        [
            ("permit", &permit(number)),
            ("lease", &LEASE),
            ("total", &total),
            ("place_ms", &0),
            ("waited_ms", &0),
            ("wanted", &1),
        ],
    )
}

/// One that waits when it is refused.
pub(crate) fn wait(number: u32, total: i64) -> Call {
    acquire(number, total).with("place_ms", PLACE_MS)
}

pub(crate) fn release(number: u32) -> Call {
    let args: [(_, &dyn Display); 2] = [("permit", &permit(number)), ("queued", &0)];
    Call::new("semaphore/release", [LOCK, LEASES, SEMAPHORE_CHANNEL, LINE], args)
}

pub(crate) fn renew(number: u32) -> Call {
    let args: [(_, &dyn Display); 2] = [("permit", &permit(number)), ("lease", &LEASE)];
    Call::new("semaphore/renew", [LEASES], args)
}

pub(crate) fn resize(total: i64, counts: u32) -> Call {
    Call::new(
        "semaphore/resize",
        [LOCK, LEASES, SEMAPHORE_CHANNEL, LINE],
        [("total", &total), ("counts", &counts)],
    )
}
