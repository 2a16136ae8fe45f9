//! What an operator reads of a lock is what stands there, and nothing is changed by reading it.

use lock_core::{Kind, Mode};

use super::{
    calls::{Calls, Requested},
    contents::{Held, LockContents, Waiter},
    names::Wire,
    setup::Setup,
    state::ModelState,
};
use crate::redis::Reply;

/// Whether the script that inspects lists each living holder and waiter and no other, in their order, and
/// changes nothing of theirs. After an eviction it may call what is left no lock.
pub(super) fn is_true(setup: &Setup, world: &ModelState, calls: &Calls) -> bool {
    let contents = LockContents::of(&world.redis, setup.kind, setup.names);
    let mut redis = world.redis.clone();
    let reply = calls.run(&mut redis, Requested::Inspect, 0);
    // On the native wire it drops what has expired.
    let is_unchanged = match setup.names.wire {
        Wire::Redisson => redis == world.redis,
        Wire::Native => LockContents::of(&redis, setup.kind, setup.names) == contents,
    };
    if !is_unchanged {
        return false;
    }
    let parts = reply.parts();
    if world.evicted {
        return matches!(parts.first().and_then(Reply::text), Some("STATE" | "WRONG_KIND"));
    }
    let [status, _, _, _, left, _, _, complete, holders, waiters] = parts else { return false };
    let held: Vec<&Held> = contents.held.iter().filter(|held| held.lives()).collect();
    status.text() == Some("STATE")
        && complete.int() == Some(1)
        && held.is_empty() == (left.int() == Some(-2))
        && lists(setup, holders.parts(), &held)
        && are_in_line(setup, waiters.parts(), &contents)
}

fn lists(setup: &Setup, listed: &[Reply], held: &[&Held]) -> bool {
    let is_listed = |held: &&Held| {
        listed.iter().any(|one| {
            let [owner, reads, writes, left] = one.parts() else { return false };
            // Of a semaphore how many permits it has.
            let held_writes =
                if setup.kind == Kind::Semaphore { setup.wanted } else { held.writes };
            owner.text() == Some(&shown(setup, &held.owner))
                && reads.int() == Some(held.reads.into())
                && writes.int() == Some(held_writes.into())
                && left.int().is_some_and(|left| 0 < left && left <= held.time_left())
        })
    };
    listed.len() == held.len() && held.iter().all(is_listed)
}

/// In a fair line the first living ones are listed in their order; elsewhere all, by how long they wait.
fn are_in_line(setup: &Setup, listed: &[Reply], contents: &LockContents) -> bool {
    let waiting: Vec<&Waiter> = contents.waiters.iter().filter(|waiter| waiter.left > 0).collect();
    let is_the_same = |(one, waiter): (&Reply, &&Waiter)| {
        let [owner, mode] = one.parts() else { return false };
        let expected = if waiter.mode == Mode::Read { "read" } else { "write" };
        owner.text() == Some(&shown(setup, &waiter.owner)) && mode.text() == Some(expected)
    };
    listed.len() == waiting.len() && listed.iter().zip(&waiting).all(is_the_same)
}

/// An owner as an operator reads it: of a permit on Redisson's wire its digits.
fn shown(setup: &Setup, owner: &[u8]) -> String {
    match (setup.names.wire, setup.kind) {
        (Wire::Redisson, Kind::Semaphore) => {
            owner.iter().map(|byte| format!("{byte:02x}")).collect()
        }
        _ => String::from_utf8_lossy(owner).into_owned(),
    }
}
