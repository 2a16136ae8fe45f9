//! What a client may do next, and what it requests by it.

use lock_core::{Kind, Mode};

use super::{
    op::{Ask, Op},
    setup::{Setup, Trouble},
    state::{Hold, SeveralState},
};
use crate::{
    model::{
        lock_use::owners,
        names::{SEVERAL, SYMBOLS},
    },
    redis::Redis,
};

/// What a program does with the locks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LockUse {
    /// Requests for both at once, also again.
    All([Mode; 2]),
    /// Requests for one of them, also again.
    One(usize, Mode),
    /// Drops a guard of one, or brings Redis down to what the program has, or leaves the line.
    Release(usize),
}

/// All that a client may do.
pub(super) fn lock_uses(setup: &Setup, world: &SeveralState, at: usize) -> Vec<LockUse> {
    let may_ask = |lock: usize, mode: Mode, reenters: bool| {
        let Some(hold) = &world.clients[at].holds[lock] else {
            return new_owner(world, at, lock).is_some();
        };
        let again = reenters && hold.guards > 0 && hold.guards < holds(setup, lock);
        hold.mode == mode && (hold.requests() || again)
    };
    let mut lock_uses = Vec::new();
    for modes in setup.requests {
        let has = |lock: usize| {
            world.clients[at].holds[lock].as_ref().is_some_and(|hold| hold.guards > 0)
        };
        let both = may_ask(0, modes[0], true) && may_ask(1, modes[1], true);
        if both
            && !(has(0) && has(1))
            && (is_asked_again(setup, world, at) || !setup.ends_connections)
        {
            lock_uses.push(LockUse::All(*modes));
        }
    }
    if setup.ends_connections && world.clients[at].late.is_some() {
        return lock_uses;
    }
    for lock in [0, 1] {
        for mode in setup.modes(lock) {
            // What is requested at once is not requested again alone.
            if world.clients[at].late.is_none() && may_ask(lock, mode, false) {
                lock_uses.push(LockUse::One(lock, mode));
            }
        }
        let hold = world.clients[at].holds[lock].as_ref();
        let settles = hold.is_some_and(|hold| hold.guards > 0 || !hold.is_settled());
        if settles {
            lock_uses.push(LockUse::Release(lock));
        }
    }
    lock_uses
}

fn holds(setup: &Setup, lock: usize) -> u32 {
    if setup.kinds[lock] == Kind::Semaphore { 1 } else { setup.holds }
}

/// What several are requested by a command under way may be taken back by it. A client ends the old
/// connection before it uses another one; here it may at most ask for the very same again before, and
/// that only where the answer can be no other one.
fn is_asked_again(setup: &Setup, world: &SeveralState, at: usize) -> bool {
    let client = &world.clients[at];
    let Some(requests) = client.late else { return true };
    if setup.trouble != Trouble::None {
        return false;
    }
    let same = |(hold, ask): (&Option<Hold>, Ask)| {
        hold.as_ref().is_some_and(|hold| hold.owner == ask.owner && hold.guards + 1 == ask.holds)
    };
    client.holds.iter().zip(requests).all(same)
}

/// An owner of this client's that nothing in this lock's keys mentions.
fn new_owner(world: &SeveralState, at: usize, lock: usize) -> Option<u8> {
    let client = &world.clients[at];
    let late = client.late.map(|requests| requests[lock].owner);
    let known =
        |owner: u8| late == Some(owner) || stands(&world.redis, lock, SYMBOLS[usize::from(owner)]);
    owners(world.clients.len(), at).find(|owner| !known(*owner))
}

fn stands(redis: &Redis, lock: usize, symbol: u8) -> bool {
    let mut entries = redis.entries().filter(|(key, _)| SEVERAL[lock].has(key));
    entries.any(|(key, entry)| key.contains(&symbol) || entry.value.names(symbol))
}

/// What a lock_use requests of Redis; what is known before the answer is written down.
pub(super) fn begin(
    setup: &Setup,
    world: &mut SeveralState,
    at: usize,
    lock_use: LockUse,
) -> Option<Op> {
    match lock_use {
        LockUse::All(modes) => Some(Op::All([
            ask(setup, world, at, 0, modes[0])?,
            ask(setup, world, at, 1, modes[1])?,
        ])),
        LockUse::One(lock, mode) => Some(Op::One(lock, ask(setup, world, at, lock, mode)?)),
        LockUse::Release(lock) => {
            let hold = world.clients[at].holds[lock].as_mut()?;
            hold.guards = hold.guards.saturating_sub(1);
            hold.leaving = hold.guards == 0;
            let (owner, mode, holds) = (hold.owner, hold.mode, hold.guards);
            let in_line = hold.in_line && hold.guards == 0;
            Some(Op::Release { at: lock, owner, mode, holds, in_line })
        }
    }
}

fn ask(setup: &Setup, world: &mut SeveralState, at: usize, lock: usize, mode: Mode) -> Option<Ask> {
    let now = world.now();
    if world.clients[at].holds[lock].is_none() {
        let owner = new_owner(world, at, lock)?;
        world.clients[at].holds[lock] = Some(Hold::new(owner, mode, now));
    }
    let hold = world.clients[at].holds[lock].as_mut()?;
    let (owner, holds, waited) = (hold.owner, hold.guards + 1, now - hold.since);
    hold.stored = holds;
    if hold.guards > 0 {
        return Some(Ask { owner, mode, holds, yields: false, waits: false, waited: 0 });
    }
    hold.in_line = setup.waits;
    let yields = hold.yields_until.is_none_or(|until| now < until);
    Some(Ask { owner, mode, holds, yields, waits: setup.waits, waited })
}
