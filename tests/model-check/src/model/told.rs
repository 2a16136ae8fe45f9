//! Whether those that may enter are woken, they alone, and the lock reserved for them.

use lock_core::{Kind, Mode};

use super::{
    names::LockNames,
    setup::{RESERVED_MS, Setup},
    standing::{Standing, Waiter},
};

type Published = [(Vec<u8>, Vec<u8>)];

/// Whether those are told that may enter after a step and might not before.
pub(crate) fn all_told(
    setup: &Setup,
    before: &Standing,
    after: &Standing,
    told: &Published,
) -> bool {
    let opens = |mode| after.lets_in(mode) && !before.lets_in(mode);
    if setup.kind.is_fair() {
        let first = |at: &Standing| at.waiters.iter().find(|waiter| waiter.left > 0).cloned();
        let was_first = first(before).map(|waiter| waiter.owner);
        return first(after).is_none_or(|waiter| {
            let channel = setup.names.channel(setup.kind, &waiter.owner);
            // The one before it has left, and was the last that was in the way.
            let is_next = after.lets_in(waiter.mode) && was_first.as_ref() != Some(&waiter.owner);
            !(opens(waiter.mode) || is_next) || told.iter().any(|told| told.0 == channel)
        });
    }
    let opened = match setup.kind {
        Kind::Semaphore => free(setup, after) > free(setup, before).max(0),
        _ => opens(Mode::Read) || opens(Mode::Write),
    };
    let has_left = before.waiters.iter().any(|one| !after.waits(&one.owner));
    let is_next = !next(setup, after).is_empty();
    let must_tell = opened || (has_left && is_next);
    !must_tell || is_passed_on(setup, after, told)
}

fn free(setup: &Setup, at: &Standing) -> i64 {
    i64::from(setup.permits) - i64::try_from(at.held.len()).unwrap_or(i64::MAX)
}

/// Those that may enter before all others, without a fair line.
fn next<'a>(setup: &Setup, at: &'a Standing) -> &'a [Waiter] {
    let waiters = at.waiters.as_slice();
    let readers = waiters.iter().take_while(|waiter| waiter.mode == Mode::Read).count();
    let count = match setup.kind {
        Kind::Semaphore => usize::try_from(free(setup, at)).unwrap_or(0),
        _ if at.lets_in(Mode::Write) => readers.max(1),
        _ if at.lets_in(Mode::Read) => readers,
        _ => 0,
    };
    &waiters[..count.min(waiters.len())]
}

/// Whether the lock is reserved for the next waiters, and each of them was woken, and no others. If
/// there are none, all subscribers are woken.
pub(crate) fn is_passed_on(setup: &Setup, at: &Standing, told: &Published) -> bool {
    let channel = setup.names.channel(setup.kind, b"");
    let messages: Vec<&[u8]> =
        told.iter().filter(|told| told.0 == channel).map(|told| told.1.as_slice()).collect();
    let next = next(setup, at);
    if next.is_empty() {
        return !messages.is_empty();
    }
    let is_woken = |waiter: &Waiter| {
        waiter.left <= RESERVED_MS
            && messages.iter().any(|message| LockNames::is_for(&waiter.owner, message))
    };
    let is_wanted =
        |message: &&[u8]| next.iter().any(|waiter| LockNames::is_for(&waiter.owner, message));
    next.iter().all(is_woken) && messages.iter().all(is_wanted)
}

/// Whether a free lock is reserved already.
pub(crate) fn is_reserved(setup: &Setup, at: &Standing) -> bool {
    next(setup, at).first().is_some_and(|waiter| waiter.left <= RESERVED_MS)
}
