//! Whether those who wait hear of it when they may enter.

use lock_core::{Kind, Mode};

use super::{
    setup::Setup,
    standing::{Standing, Waiter},
};

/// Whether those are told who may enter after a step and might not before.
pub(crate) fn all_told(
    setup: &Setup,
    before: &Standing,
    after: &Standing,
    told: &[Vec<u8>],
) -> bool {
    let kind = setup.kind;
    let is_told = |waiter: &[u8]| told.contains(&setup.names.channel(kind, waiter));
    if kind == Kind::Semaphore {
        let free = |at: &Standing| at.held.len() < usize::try_from(setup.permits).unwrap_or(0);
        return free(before) || !free(after) || is_told(b"");
    }
    let opens = |mode| after.lets_in(mode) && !before.lets_in(mode);
    if kind.is_fair() {
        let first = after.waiters.iter().find(|waiter| waiter.left > 0);
        return first.is_none_or(|waiter| !opens(waiter.mode) || is_told(&waiter.owner));
    }
    // Behind a writer stands everybody, behind a reader only writers.
    let behind = |one: &Waiter| if one.mode == Mode::Write { Mode::Read } else { Mode::Write };
    let gone = before.waiters.iter().filter(|_| after.waiters.is_empty());
    let left = gone.map(behind).any(|mode| after.lets_in(mode));
    !(opens(Mode::Read) || opens(Mode::Write) || left) || is_told(b"")
}
