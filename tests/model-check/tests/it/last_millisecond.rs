//! The last millisecond of a lease: Redis says that zero are left of it. A script that writes the lock again
//! with what is left would set a time to live of zero, which Redis refuses: an error in place of an outcome.

use std::time::Duration;

use lock_core::{
    Kind, Mode,
    test_util::{Ask, PlainCall, ScriptCaller, Step},
};
use lock_model_check::{
    lua::Interpreter,
    redis::{Redis, Reply},
    texts::Texts,
};

use crate::against_redis::scripts::{KINDS, Wire, call, caller};

const LEASE: Duration = Duration::from_secs(600);
const LONG: Duration = Duration::from_secs(3_600);

fn ask(mode: Mode, holds: u32, place: Option<Duration>) -> Step {
    Step::Acquire(Ask {
        mode,
        holds,
        lease: LEASE,
        yields: false,
        place,
        waited: Duration::ZERO,
        permits: 2,
        wanted_permits: 1,
    })
}

/// All that an owner may send.
fn steps(mode: Mode) -> Vec<Step> {
    let (reads, writes) = if mode == Mode::Read { (1, 0) } else { (0, 1) };
    let releases = [(0, false), (0, true), (1, false)];
    let mut steps = vec![
        ask(mode, 1, None),
        ask(mode, 1, Some(LONG)),
        ask(mode, 2, None),
        Step::Renew { mode, lease: LEASE },
        Step::FreePermits { permits: 1 },
        Step::TakeAway,
    ];
    steps.extend(releases.map(|(holds, in_line)| Step::Release { mode, holds, in_line }));
    steps.push(if mode == Mode::Read {
        Step::Upgrade { reads, writes: writes + 1, lease: LEASE }
    } else {
        Step::Downgrade { reads: reads + 1, writes, lease: LEASE }
    });
    steps
}

fn modes(kind: Kind) -> &'static [Mode] {
    match kind {
        Kind::ReadWrite | Kind::FairReadWrite => &[Mode::Write, Mode::Read],
        _ => &[Mode::Write],
    }
}

/// All that any owner may send.
fn calls(wire: Wire, kind: Kind) -> Vec<PlainCall> {
    let owners = ["a", "b", "c", "d"].into_iter();
    let owned = owners.flat_map(|owner| modes(kind).iter().map(move |mode| (owner, *mode)));
    let mut calls = Vec::new();
    for (owner, mode) in owned {
        let own = caller(wire, kind, owner);
        calls.extend(steps(mode).into_iter().map(|step| call(wire, kind, owner, step)));
        if kind != Kind::Semaphore {
            calls.push(own.transfer(mode, &caller(wire, kind, "d"), "7"));
        }
        if wire == Wire::Native {
            calls.push(ScriptCaller::leave(&[(&own, mode)], "7"));
        }
    }
    calls
}

/// Before: a holder with so many holds, and two others that wait, or hold it too where there may be several.
fn before(mode: Mode, holds: u32, others: Option<Mode>) -> Vec<(&'static str, Step)> {
    let mut before: Vec<_> = (1..=holds).map(|holds| ("a", ask(mode, holds, None))).collect();
    let others = ["b", "c"].into_iter().zip(others.into_iter().cycle());
    before.extend(others.map(|(owner, mode)| (owner, ask(mode, 1, Some(LONG)))));
    before
}

/// Whether Redis refused something: the outcome of one lock of several may be its error, as a text.
fn is_refused(reply: &Reply) -> bool {
    match reply {
        Reply::Error(_) => true,
        Reply::Bulk(text) => String::from_utf8_lossy(text).contains("ERR "),
        Reply::Array(parts) => parts.iter().any(is_refused),
        _ => false,
    }
}

#[test]
fn every_script_has_an_outcome_in_the_last_millisecond_of_a_lease() {
    let lua = Interpreter::of_thread(&Texts::real());
    let wires = [Wire::Redisson, Wire::Native];
    for (wire, kind) in wires.into_iter().flat_map(|wire| KINDS.map(|kind| (wire, kind))) {
        let others = || modes(kind).iter().copied().map(Some).chain([None]);
        let pairs = modes(kind).iter().flat_map(|mode| others().map(move |others| (*mode, others)));
        let states =
            pairs.flat_map(|(mode, others)| [1, 2].map(|holds| before(mode, holds, others)));
        for state in states {
            let mut redis = Redis::at(1_700_000_000_000_000);
            for (owner, step) in &state {
                let reply = lua.run(&mut redis, &call(wire, kind, owner, *step));
                assert!(!is_refused(&reply), "{kind} {step:?}: {reply:?}");
            }
            redis.advance(LEASE.as_millis().try_into().unwrap());
            assert!(redis.entry(b"k").is_some(), "{wire:?} {kind}: it has ended already");
            for call in calls(wire, kind) {
                let reply = lua.run(&mut redis.clone(), &call);
                assert!(
                    !matches!(reply, Reply::Error(_)),
                    "{kind}, {state:?}: {call:?}: {reply:?}"
                );
            }
        }
    }
}
