//! Calls of native/*.

use std::fmt::Display;

use crate::scripts::support::call::{Call, HOUR, LEASE, PLACE_MS};
use crate::scripts::support::keys::{ASKED, COUNTER, LOCK};

pub(crate) const LINE: &str = "lock_line:{lock:k}";
pub(crate) const PLACES: &str = "lock_places:{lock:k}";

/// Takes a reentrant lock, or a place in its line.
pub(crate) fn acquire(owner: &str) -> Call {
    Call::new(
        "native/acquire",
        [LOCK, LINE, PLACES, COUNTER],
        [
            ("owner", &owner),
            ("kind", &"e"),
            ("mode", &"write"),
            ("lease", &LEASE),
            ("holds", &1),
            ("place", &PLACE_MS),
            ("yields", &0),
            ("more", &0),
            ("floor", &0),
            ("total", &0),
            ("beside", &0),
            ("waited", &0),
        ],
    )
}

/// Reads under a read/write lock.
pub(crate) fn read(owner: &str) -> Call {
    acquire(owner).with("kind", "r").with("mode", "read")
}

/// Writes under a read/write lock.
pub(crate) fn write(owner: &str) -> Call {
    acquire(owner).with("kind", "r")
}

/// Takes several permits at once of a semaphore that has `total`.
pub(crate) fn permits(owner: &str, wanted: u32, total: u32) -> Call {
    acquire(owner).with("kind", "s").with("holds", wanted).with("total", total)
}

/// Takes several locks, all or none.
pub(crate) fn acquire_all(members: &[Call]) -> Call {
    Call { script: "native/acquire_all", ..batch(members) }
}

/// Releases the last hold of an owner; `of` has the letters of the kind and of the mode.
pub(crate) fn release(of: &str, owner: &str) -> Call {
    let args: [(_, &dyn Display); 3] =
        [("value", &format!("lt1{of}{owner}")), ("holds", &0), ("queued", &0)];
    Call::new("native/release", [LOCK, LINE, PLACES], args)
}

/// Releases a lock if this is its value.
pub(crate) fn release_free(value: &str) -> Call {
    Call::new("native/release_free", [LOCK], [("value", &value)])
}

/// Takes waiters out of the line, each `(owner, mode)`.
pub(crate) fn leave(kind: &str, waiters: &[(&str, &str)]) -> Call {
    let mut call = Call::new("native/leave", [LOCK, LINE, PLACES], [("kind", &kind)]);
    for (owner, mode) in waiters {
        call.args.extend([("owner", (*owner).to_owned()), ("mode", (*mode).to_owned())]);
    }
    call
}

/// Renews a hold of this kind and mode.
pub(crate) fn renew(kind: &str, mode: &str, owner: &str) -> Call {
    let args: [(_, &dyn Display); 4] =
        [("owner", &owner), ("kind", &kind), ("mode", &mode), ("lease", &LEASE)];
    Call::new("native/renew", [LOCK], args)
}

/// Brings an owner of a read/write lock to these holds: up, if `to` is `write`.
pub(crate) fn convert(owner: &str, to: &str, reads: u32, writes: u32) -> Call {
    Call::new(
        "native/convert",
        [LOCK, LINE, PLACES, COUNTER],
        [
            ("owner", &owner),
            ("kind", &"r"),
            ("to", &to),
            ("lease", &LEASE),
            ("reads", &reads),
            ("writes", &writes),
            ("floor", &0),
        ],
    )
}

/// Passes an owner's hold of this kind and mode on.
pub(crate) fn transfer(kind: &str, mode: &str, owner: &str, to: &str) -> Call {
    let args: [(_, &dyn Display); 4] =
        [("owner", &owner), ("kind", &kind), ("mode", &mode), ("to", &to)];
    Call::new("native/transfer", [LOCK, LINE, PLACES], args)
}

pub(crate) fn inspect() -> Call {
    let args: [(_, &dyn Display); 2] = [("beside", &0), ("waiters", &1)];
    Call::new("native/inspect", [LOCK, LINE, PLACES, COUNTER], args)
}

pub(crate) fn count_permits() -> Call {
    Call::new("native/count_permits", [LOCK, LINE, PLACES], [])
}

pub(crate) fn force_release() -> Call {
    let args: [(_, &dyn Display); 3] = [("floor", &0), ("beside", &0), ("holder", &"")];
    Call::new("native/force_release", [LOCK, LINE, PLACES, COUNTER], args)
}

pub(crate) fn request_release() -> Call {
    let args: [(_, &dyn Display); 2] = [("ttl", &HOUR), ("holder", &"")];
    Call::new("native/request_release", [LOCK, LINE, PLACES, ASKED], args)
}

pub(crate) fn release_requested(owner: &str) -> Call {
    Call::new("native/release_requested", [ASKED], [("owner", &owner)])
}

/// Joins several calls of one script.
pub(crate) fn batch(calls: &[Call]) -> Call {
    let keys = calls.iter().flat_map(|call| call.keys.clone()).collect();
    let args = calls.iter().flat_map(|call| call.args.clone()).collect();
    Call { script: calls[0].script, keys, args }
}
