//! What must be so in every state.

use lock_core::Kind;

use super::{
    calls::{Calls, NONSENSE, Requested},
    contents::{Held, LockContents},
    lock_use::name,
    names::{LockNames, Wire},
    setup::{PLACE, Setup},
    state::{Hold, ModelState},
    wrong::Wrong,
};
use crate::redis::{Redis, Reply, Value};

/// The first rule that is broken.
pub(super) fn judge(setup: &Setup, world: &ModelState, contents: &LockContents) -> Option<Wrong> {
    if has_endless_keys(setup, &world.redis) {
        return Some(Wrong::Endless);
    }
    // A holder whose key was evicted has nothing any more, and does not know.
    if world.evicted {
        return None;
    }
    if !excludes(setup, world) {
        return Some(Wrong::Exclusion);
    }
    let holds = world.clients.iter().filter_map(|client| client.hold.as_ref());
    for hold in holds.filter(|hold| hold.believes(world.now())) {
        let held = contents.by(&name(setup, hold.owner));
        if !is_backed(setup.names, &world.redis, hold, held, world.now()) {
            return Some(Wrong::CutShort);
        }
    }
    (setup.kind == Kind::Semaphore && !adds_up(setup, &world.redis)).then_some(Wrong::Permits)
}

fn has_endless_keys(setup: &Setup, redis: &Redis) -> bool {
    redis.entries().any(|(key, entry)| entry.ends.is_none() && !may_stay(setup, key))
}

/// The clients that rely on a hold may hold it together.
fn excludes(setup: &Setup, world: &ModelState) -> bool {
    let holds = world.clients.iter().filter_map(|client| client.hold.as_ref());
    let believers: Vec<&Hold> = holds.filter(|hold| hold.believes(world.now())).collect();
    if setup.kind == Kind::Semaphore {
        return believers.len() <= setup.most_holders();
    }
    believers.len() < 2 || believers.iter().all(|hold| hold.guards.writes == 0)
}

/// Redis has at least what the program believes in, for at least as long.
fn is_backed(names: &LockNames, redis: &Redis, hold: &Hold, held: Option<&Held>, now: i64) -> bool {
    let Some(held) = held else { return false };
    let left = hold.until - now;
    if hold.doubt {
        return held.reads + held.writes >= hold.guards.total() && held.time_left() >= left;
    }
    let reads_until = hold.reads_until - now;
    let reads = hold.guards.reads == 0
        || reads_until <= 0
        || (held.reads >= hold.guards.reads
            && held.left >= reads_until
            && (1..=hold.guards.reads)
                .filter(|_| names.wire == Wire::Redisson)
                .all(|at| redis.left_ms(&names.read_key(&held.owner, at)) >= reads_until));
    let writes =
        hold.guards.writes == 0 || (held.writes >= hold.guards.writes && held.left >= left);
    reads && writes
}

pub(crate) fn may_stay(setup: &Setup, key: &[u8]) -> bool {
    let names = setup.names;
    match setup.kind {
        _ if setup.is_native() => key == names.token,
        Kind::Semaphore => key == names.lock || key == names.leases,
        Kind::Fenced => key == names.token,
        _ => false,
    }
}

pub(crate) fn adds_up(setup: &Setup, redis: &Redis) -> bool {
    if setup.is_native() {
        let out = LockContents::of(redis, setup.kind, setup.names).held.len();
        return out <= setup.most_holders();
    }
    let Some(Value::Text(free)) = redis.entry(setup.names.lock).map(|entry| &entry.value) else {
        return true;
    };
    let out = match redis.entry(setup.names.leases).map(|entry| &entry.value) {
        Some(Value::Sorted(members)) => members.len(),
        _ => 0,
    };
    let free: i64 = std::str::from_utf8(free).ok().and_then(|free| free.parse().ok()).unwrap_or(-1);
    free + i64::try_from(out).unwrap_or_default() == i64::from(setup.permits)
}

/// If all clients stopped here: when all leases are over a new owner gets in, and at last nothing
/// is left except tokens, and on Redisson's wire permits.
pub(super) fn is_freed(setup: &Setup, world: &ModelState, calls: &Calls) -> bool {
    let mut redis = world.redis.clone();
    redis.fill(false);
    let place = i64::try_from(PLACE.as_millis()).unwrap_or_default();
    redis.advance(setup.longest_lease().max(place) + 1);
    // States with nothing except a token are alike: once is enough.
    let is_free = redis.entries().all(|(key, _)| key == setup.names.token);
    let permits = if setup.kind == Kind::Semaphore { setup.permits / setup.wanted } else { 1 };
    if !is_free || world.operations < 2 {
        let mut redis = redis.clone();
        for newcomer in 0..permits {
            let reply = calls.run(&mut redis, Requested::Newcomer(newcomer), 0);
            if reply.parts().first().and_then(Reply::text) != Some("GRANTED") {
                return false;
            }
        }
    }
    redis.advance(2 * place + 1_001);
    redis.entries().all(|(key, _)| key == setup.names.token || may_stay(setup, key))
}

/// Arguments that are none change nothing and are refused.
pub(super) fn is_picky(world: &ModelState, calls: &Calls) -> bool {
    // What a script says to them does not depend on much.
    let run = |redis: &mut Redis, which| calls.run(redis, Requested::Nonsense(which), 0);
    world.operations > 1 || refuses_nonsense(&world.redis, run)
}

/// Whether a call with each [nonsense](NONSENSE) is refused and changes nothing.
pub(crate) fn refuses_nonsense(before: &Redis, run: impl Fn(&mut Redis, usize) -> Reply) -> bool {
    (0..NONSENSE.len()).all(|which| {
        let mut redis = before.clone();
        let reply = run(&mut redis, which);
        let is_refused = reply.parts().first().and_then(Reply::text) == Some("INVALID");
        is_refused && redis == *before
    })
}
