//! Calls of common/*.

use std::fmt::Display;

use crate::scripts::support::call::{Call, HOUR, reads};
use crate::scripts::support::keys::{
    ALIVE, ASKED, CHANNEL, COUNTER, DEADLINES, LEASES, LINE, LOCK, LOCK_CHANNEL, QUEUE,
    SEMAPHORE_CHANNEL, TAG, TOKEN, TURN,
};

pub(crate) fn inspect() -> Call {
    let args: [(_, &dyn Display); 2] = [("tag", &TAG), ("waiters", &1)];
    let keys = [LOCK, LINE, QUEUE, DEADLINES, ALIVE, TOKEN, LEASES];
    Call::new("common/inspect", keys, args)
}

pub(crate) fn force_release() -> Call {
    let keys = [
        LOCK,
        LINE,
        QUEUE,
        DEADLINES,
        ALIVE,
        TOKEN,
        LEASES,
        LOCK_CHANNEL,
        CHANNEL,
        TURN,
        SEMAPHORE_CHANNEL,
        COUNTER,
    ];
    let args: [(_, &dyn Display); 3] = [("tag", &TAG), ("token_ttl", &HOUR), ("holder", &"")];
    Call::new("common/force_release", keys, args)
}

pub(crate) fn request_release() -> Call {
    let args: [(_, &dyn Display); 3] = [("tag", &TAG), ("ttl", &HOUR), ("holder", &"")];
    Call::new("common/request_release", [LOCK, ASKED, LEASES], args)
}

pub(crate) fn requested(owner: &str) -> Call {
    let args: [(_, &dyn Display); 1] = [("owner", &owner)];
    Call::new("common/release_requested", [ASKED], args)
}

/// Passes an owner's only write of a lock with readers, or its only read, on.
pub(crate) fn transfer(mode: &str, from: &str, to: &str) -> Call {
    let (of_from, of_to) = (format!("{from}:write"), format!("{to}:write"));
    let (field, other, to_field) =
        if mode == "write" { (&*of_from, from, &*of_to) } else { (from, &*of_from, to) };
    transfer_fields(field, other, to_field, from, to, mode == "read")
}

/// The same of a lock with one holder.
pub(crate) fn transfer_plain(from: &str, to: &str) -> Call {
    transfer_fields(from, "", to, from, to, false)
}

fn transfer_fields(
    field: &str,
    other: &str,
    to_field: &str,
    from: &str,
    to: &str,
    shared: bool,
) -> Call {
    let args: [(_, &dyn Display); 4] =
        [("field", &field), ("other", &other), ("to", &to_field), ("shared", &u8::from(shared))];
    Call::new("common/transfer", [LOCK, &reads(from), &reads(to)], args)
}

/// All of these acquires in one; the further keys of their releases are put in.
pub(crate) fn acquire_all(members: &[Call]) -> Call {
    let mut all = Call { script: "common/acquire_all", keys: Vec::new(), args: Vec::new() };
    for member in members {
        let mut member = member.clone();
        // The lock's name stands first; side keys of another lock are made from it.
        let name = member.keys[0].clone();
        let more = match member.script {
            "fair_read_write/acquire" => Some(format!("redisson_rwlock:{{{name}}}")),
            _ => None,
        };
        member.keys.extend(more);
        all.args.push(("which", member.script.to_owned()));
        all.args.push(("keys", member.keys.len().to_string()));
        all.args.push(("args", member.said().len().to_string()));
        all.keys.extend(member.keys.clone());
        all.args.extend(member.said().to_vec());
    }
    all
}

/// The same call for the lock `lock:<name>` instead of `lock:k`.
pub(crate) fn of(name: &str, call: Call) -> Call {
    let mut call = call;
    for text in call.keys.iter_mut().chain(call.args.iter_mut().map(|(_, value)| value)) {
        *text = text.replace("lock:k", &format!("lock:{name}"));
    }
    call
}
