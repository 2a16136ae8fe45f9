//! Whether those that may enter are woken, they alone, and the lock reserved for them.

use lock_core::{Kind, Mode};

use super::{
    contents::{LockContents, Waiter},
    setup::{RESERVED_MS, Setup},
};

type Published = [(Vec<u8>, Vec<u8>)];

/// Whether those are reported that may enter after a step and might not before.
pub(crate) fn all_told(
    setup: &Setup,
    before: &LockContents,
    after: &LockContents,
    reported: &Published,
) -> bool {
    let opens = |mode| after.lets_in(mode) && !before.lets_in(mode);
    if setup.kind.is_fair() && !setup.is_native() {
        let first = |at: &LockContents| at.waiters.iter().find(|waiter| waiter.left > 0).cloned();
        let was_first = first(before).map(|waiter| waiter.owner);
        return first(after).is_none_or(|waiter| {
            let channel = setup.names.channel(setup.kind, &waiter.owner);
            // The one before it has left, and was the last that was in the way.
            let is_next = after.lets_in(waiter.mode) && was_first.as_ref() != Some(&waiter.owner);
            !(opens(waiter.mode) || is_next)
                || reported.iter().any(|reported| reported.0 == channel)
        });
    }
    let opened = match setup.kind {
        Kind::Semaphore => free(setup, after) > free(setup, before).max(0),
        _ => opens(Mode::Read) || opens(Mode::Write),
    };
    let has_left = before.waiters.iter().any(|one| !after.waits(&one.owner));
    let is_next = !next(setup, after).is_empty();
    let must_tell = opened || (has_left && is_next);
    !must_tell || is_passed_on(setup, after, reported)
}

fn free(setup: &Setup, at: &LockContents) -> i64 {
    let in_use = i64::try_from(at.held.len()).unwrap_or(i64::MAX) * i64::from(setup.wanted);
    i64::from(setup.permits) - in_use
}

/// Those that may enter before all others, without a fair line of Redisson's wire.
fn next<'a>(setup: &Setup, at: &'a LockContents) -> Vec<&'a Waiter> {
    let waiters = || at.waiters.iter().filter(|waiter| waiter.left > 0);
    let readers = waiters().take_while(|waiter| waiter.mode == Mode::Read).count();
    let count = match setup.kind {
        Kind::Semaphore => usize::try_from(free(setup, at) / i64::from(setup.wanted)).unwrap_or(0),
        _ if at.lets_in(Mode::Write) => readers.max(1),
        _ if at.lets_in(Mode::Read) => readers,
        _ => 0,
    };
    waiters().take(count).collect()
}

/// Whether the lock is reserved for the next waiters, and each of them was woken, and no others. If
/// there are none, all subscribers are woken.
pub(crate) fn is_passed_on(setup: &Setup, at: &LockContents, reported: &Published) -> bool {
    let shared = setup.names.channel(setup.kind, b"");
    // On the native wire nothing is published but to the clients of those that are next.
    let messages: Vec<_> = reported
        .iter()
        .filter(|reported| {
            reported.0 == shared || setup.is_native() && setup.names.has(&reported.0)
        })
        .collect();
    let next = next(setup, at);
    if next.is_empty() {
        return messages.is_empty() == setup.is_native();
    }
    let is_for = |waiter: &Waiter, reported: &(Vec<u8>, Vec<u8>)| {
        reported.0 == setup.names.channel(setup.kind, &waiter.owner)
            && setup.names.is_for(&waiter.owner, &reported.1)
    };
    // A fair kind is reserved until the place itself ends.
    let is_reserved = |waiter: &Waiter| waiter.left <= RESERVED_MS || setup.kind.is_fair();
    let is_woken = |waiter: &&Waiter| {
        is_reserved(waiter) && messages.iter().any(|reported| is_for(waiter, reported))
    };
    let is_wanted =
        |reported: &&(Vec<u8>, Vec<u8>)| next.iter().any(|waiter| is_for(waiter, reported));
    next.iter().all(is_woken) && messages.iter().all(is_wanted)
}

/// Whether a free lock is reserved already.
pub(crate) fn is_reserved(setup: &Setup, at: &LockContents) -> bool {
    next(setup, at).first().is_some_and(|waiter| waiter.left <= RESERVED_MS)
}
