//! What must be so in every state.

use lock_core::{Kind, Mode};

use super::{
    calls::{Calls, Requested},
    rules::contents_of_both,
    setup::{LEASE_MS, Setup, Trouble},
    state::{Hold, SeveralState},
};
use crate::{
    model::{
        Setup as Side, Wrong,
        contents::LockContents,
        everywhere::{adds_up, may_stay, refuses_nonsense},
        names::{NATIVE_SEVERAL, SEVERAL, owner},
        setup::PLACE,
    },
    redis::{Redis, Reply},
};

/// The first rule that is broken.
pub(super) fn judge(setup: &Setup, sides: &[Side; 2], world: &SeveralState) -> Option<Wrong> {
    let contents = contents_of_both(setup, &world.redis);
    for (lock, contents) in contents.iter().enumerate() {
        let holds = world.clients.iter().filter_map(|client| client.holds[lock].as_ref());
        let believers: Vec<&Hold> = holds.filter(|hold| hold.believes(world.now())).collect();
        if believers.len() > 1 && believers.iter().any(|hold| hold.mode == Mode::Write) {
            return Some(Wrong::Exclusion);
        }
        if !believers.iter().all(|hold| is_backed(setup, lock, world, hold, contents)) {
            return Some(Wrong::CutShort);
        }
        if setup.kinds[lock] == Kind::Semaphore && !adds_up(&sides[lock], &world.redis) {
            return Some(Wrong::Permits);
        }
    }
    let mut entries = world.redis.entries();
    let endless = entries.any(|(key, entry)| entry.ends.is_none() && !stays(setup, sides, key));
    endless.then_some(Wrong::Endless)
}

/// Redis has at least what the program believes in, for at least as long.
fn is_backed(
    setup: &Setup,
    lock: usize,
    world: &SeveralState,
    hold: &Hold,
    contents: &LockContents,
) -> bool {
    let name = owner(setup.kinds[lock], &setup.names[lock], hold.owner);
    let Some(held) = contents.by(&name) else { return false };
    let left = hold.until - world.now();
    let reads = if hold.mode == Mode::Read { hold.guards } else { 0 };
    held.of(hold.mode) >= hold.guards
        && held.left >= left
        && (setup.is_native()
            || (1..=reads)
                .all(|at| world.redis.left_ms(&setup.names[lock].read_key(&name, at)) >= left))
}

fn stays(setup: &Setup, sides: &[Side; 2], key: &[u8]) -> bool {
    let foreign = match setup.trouble {
        Trouble::Foreign => key == setup.names[1].lock,
        Trouble::ForeignToken => key == setup.names[1].token,
        _ => false,
    };
    foreign || sides.iter().any(|side| may_stay(side, key))
}

fn is_token(key: &[u8]) -> bool {
    SEVERAL.iter().chain(&NATIVE_SEVERAL).any(|names| key == names.token)
}

/// If all clients stopped here: when all leases are over a new owner gets both, and at last nothing
/// is left except tokens and permits.
pub(super) fn is_freed(
    setup: &Setup,
    sides: &[Side; 2],
    world: &SeveralState,
    calls: &Calls,
) -> bool {
    let mut redis = world.redis.clone();
    let place = i64::try_from(PLACE.as_millis()).unwrap_or_default();
    redis.advance(LEASE_MS.max(place) + 1);
    // States with nothing except tokens are alike: once is enough.
    let is_free = redis.entries().all(|(key, _)| is_token(key));
    if !world.troubled && (!is_free || world.operations < 2) {
        let reply = calls.run(&mut redis, Requested::Newcomer);
        if reply.parts().first().and_then(Reply::text) != Some("GRANTED") {
            return false;
        }
    }
    redis.advance(2 * place + 1_001);
    redis.entries().all(|(key, _)| is_token(key) || stays(setup, sides, key))
}

/// A lease of the second lock that is none changes nothing, of the first one neither.
pub(super) fn is_picky(world: &SeveralState, calls: &Calls) -> bool {
    // What a script says to them does not depend on much.
    let run = |redis: &mut Redis, which| calls.run(redis, Requested::Nonsense(which));
    world.operations > 1 || refuses_nonsense(&world.redis, run)
}
