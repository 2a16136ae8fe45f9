//! Pasts for the checkers' own tests: what never happened, so that each can be seen to fail.

use super::{Answer, Ask, Hold, Past, Verdict, Windows};
use crate::{
    clock::Nanos,
    deployment::Sort,
    keys::{Access, Family},
    nemesis::Window,
    schedule::Lane,
};

pub(super) fn hold(worker: usize, access: Access, begin: Nanos, last: Nanos) -> Hold {
    Hold {
        // Each of its own.
        ask: usize::try_from(begin).unwrap_or_default(),
        worker,
        key: Family::ReadWrite.key(0),
        access,
        begin,
        last,
        over: last,
        token: None,
        lease: 1_000,
        kept: 1_000,
        reported: None,
        killed: None,
        parked: None,
        is_freed: false,
    }
}

pub(super) fn ask(worker: usize, at: Nanos, end: Nanos) -> Ask {
    Ask {
        worker,
        life: 0,
        family: Family::ReadWrite,
        access: Access::Write,
        keys: vec![Family::ReadWrite.key(0)],
        at,
        wait: 12_000_000_000,
        lease: 1_000,
        kept: 1_000,
        end,
        answer: Answer::Granted,
    }
}

pub(super) fn past(holds: Vec<Hold>) -> Past {
    Past { holds, ..Past::default() }
}

pub(super) fn quiet() -> Windows {
    Windows::new(Sort::Standalone, &[], &[])
}

pub(super) fn window(row: u8, lane: Lane, begin: Nanos, end: Nanos) -> Windows {
    let window = Window { row, variant: 0, lane, begin, end, injected: true };
    Windows::new(Sort::Standalone, &[window], &[])
}

pub(super) fn lossy(begin: Nanos, end: Nanos) -> Windows {
    window(10, Lane::Servers, begin, end)
}

pub(super) fn silent(begin: Nanos, end: Nanos) -> Windows {
    window(5, Lane::Worker(0), begin, end)
}

pub(super) fn verdict_of(
    check: impl Fn(&Past, &Windows, &mut Verdict),
    past: &Past,
    windows: &Windows,
) -> Verdict {
    let mut verdict = Verdict::default();
    check(past, windows, &mut verdict);
    verdict
}
