//! No waiter waits for a free lock: it polls, so a lost message does not matter.
//!
//! A lock counts as free when every hold of it was certainly over: its release confirmed, or its
//! lease ended. A waiter of a free lock that is not granted to another
//! must get it within [`BOUND`] of time in which neither Redis nor its own links were disturbed:
//! three seconds until it polls, one for which it may defer to another, and one for the machine. After
//! the holder was killed the waiter knows when the lease ends, and needs no message: it must get the
//! lock within [`INHERITED`], a tenth of a second and the machine's
//! one, unless it waits in a fair line behind others that are dead.

use std::collections::{HashMap, HashSet};

use super::{
    Answer, Ask, Finding, Hold, Past, Verdict, Windows,
    windows::{Span, outside, touches, union},
};
use crate::{
    clock::{MS, Nanos, SECOND},
    history::Refusal,
    keys::Family,
};

const BOUND: Nanos = 5 * SECOND;
const INHERITED: Nanos = 1_100 * MS;
/// Shorter waits cannot show anything.
const WORTH_A_LOOK: Nanos = SECOND;
/// Longer than any slice.
const FOR_EVER: Nanos = Nanos::MAX / 2;
/// A fair waiter that died keeps its place for so long.
const PLACE: Nanos = 3 * SECOND;

pub(super) fn check(past: &Past, windows: &Windows, verdict: &mut Verdict) {
    let blocked = blocked(past, windows);
    let killed = past.holds.iter().filter(|hold| hold.killed.is_some());
    let inheritances: HashSet<(&str, Nanos)> =
        killed.clone().map(|hold| (hold.key.as_str(), hold.over)).collect();
    verdict.heirs += killed.filter(|hold| has_heir(past, hold)).count() as u64;
    let waiters = past.requests.iter().filter(|ask| {
        // Which permit is free cannot be seen from outside.
        !matches!(ask.family, Family::Semaphore | Family::Limits) && ask.end - ask.at > WORTH_A_LOOK
    });
    for ask in waiters {
        verdict.stalls_looked_at += 1;
        let troubles = windows.troubles(ask.worker);
        let spans = ask.keys.iter().filter_map(|key| blocked.get(key.as_str()));
        let blocked = union(spans.flatten().copied().collect());
        for gap in gaps((ask.at, ask.end), &blocked) {
            let stalled = outside(gap, troubles);
            verdict.longest_stall = verdict.longest_stall.max(stalled);
            let inherits = |key: &String| inheritances.contains(&(key.as_str(), gap.0));
            let may_queue = ask.family.is_fair() || windows.every_waiter_queues();
            // Between two tries to lead is a pause, and the place of one that replaces may be another dead one's.
            let pauses = matches!(ask.family, Family::Leader | Family::Replaced);
            let inherits = !may_queue && !pauses && ask.keys.iter().any(inherits);
            if inherits {
                verdict.longest_inheritance = verdict.longest_inheritance.max(stalled);
            }
            if stalled > if inherits { INHERITED } else { BOUND } {
                let what = format!(
                    "worker {} waited {:.3} s for a lock that was free",
                    ask.worker,
                    stalled as f64 / 1e9
                );
                let key = ask.keys.first().cloned();
                verdict.findings.push(Finding { check: "stalls", at: gap.0, key, what });
            }
        }
    }
}

/// Returns whether a waiter was there when its process was killed.
fn has_heir(past: &Past, hold: &Hold) -> bool {
    let waits =
        |ask: &Ask| ask.at <= hold.last && hold.last < ask.end && ask.keys.contains(&hold.key);
    past.requests.iter().any(|ask| ask.answer != Answer::Killed && waits(ask))
}

/// When each key was held, or may have been.
fn blocked<'a>(past: &'a Past, windows: &Windows) -> HashMap<&'a str, Vec<Span>> {
    let servers = windows.of_servers();
    // What ends while a server is disturbed may be noticed there when that is over.
    let late = |at: Nanos, over: Nanos| {
        let from = servers.partition_point(|it| it.1 < at);
        let disturbed = servers.get(from).filter(|it| it.0 <= over);
        disturbed.map_or(over, |it| over.max(it.1 + over.saturating_sub(at)))
    };
    let mut blocked: HashMap<&str, Vec<Span>> = HashMap::new();
    for hold in &past.holds {
        let stays = hold.killed.is_some_and(|killed| windows.clock_jumped(hold.begin, killed));
        let over = if stays { FOR_EVER } else { late(hold.last, hold.over) };
        blocked.entry(&hold.key).or_default().push((hold.begin, over));
    }
    for ask in &past.requests {
        let troubles = windows.troubles(ask.worker);
        let queues = ask.family.is_fair() || windows.every_waiter_queues();
        let mut spans = Vec::new();
        if windows.every_waiter_queues() {
            // It is the first in line, perhaps, and does not know: until it is reported, or its session ends.
            let within = troubles.iter().filter(|it| it.0 < ask.end && ask.at < it.1);
            spans.extend(within.map(|it| (it.0.max(ask.at), it.1.min(ask.end) + ask.kept)));
        }
        if let Some(over) = may_hold_until(ask, queues, troubles) {
            spans.push((ask.end, late(ask.end, over)));
        }
        // It acquires one after the other, and holds some while it waits for the next.
        if ask.family == Family::Limits && windows.takes_several_in_turn() {
            spans.push((ask.at, ask.end));
        }
        for key in &ask.keys {
            blocked.entry(key).or_default().extend(&spans);
        }
    }
    for spans in blocked.values_mut() {
        spans.extend(windows.foreign());
        *spans = union(std::mem::take(spans));
    }
    blocked
}

/// Until when an acquisition that was not granted may stand in others' way.
fn may_hold_until(ask: &Ask, queues: bool, troubles: &[Span]) -> Option<Nanos> {
    let in_doubt = matches!(
        ask.answer,
        Answer::Killed
            | Answer::Refused(
                Refusal::Cancelled | Refusal::Unavailable(..) | Refusal::Lost | Refusal::Replaced
            )
    );
    let disturbed = touches((ask.at, ask.end), troubles);
    match (in_doubt, queues && (disturbed || ask.answer == Answer::Killed)) {
        (_, true) => Some(ask.end + ask.kept.max(PLACE)),
        (true, false) => Some(ask.end + ask.kept),
        (false, false) => None,
    }
}

/// What `blocked` leaves of `span`, piece by piece.
fn gaps(span: Span, blocked: &[Span]) -> Vec<Span> {
    let (mut gaps, mut from) = (Vec::new(), span.0);
    for (begin, end) in blocked.iter().filter(|it| it.1 > span.0 && it.0 < span.1) {
        if *begin > from {
            gaps.push((from, *begin));
        }
        from = from.max(*end);
    }
    if from < span.1 {
        gaps.push((from, span.1));
    }
    gaps
}

#[cfg(test)]
mod tests {
    use super::super::testing::{ask, hold, quiet, verdict_of};
    use super::*;
    use crate::{deployment::Sort, keys::Access, nemesis::Window, schedule::Lane};

    fn stalls(held_until: Nanos) -> usize {
        let mut waiter = ask(1, 0, 12 * SECOND);
        waiter.answer = Answer::Refused(Refusal::Busy);
        let mut held = hold(0, Access::Write, 0, held_until);
        held.over = held_until;
        let past = Past { requests: vec![waiter], holds: vec![held], ..Past::default() };
        verdict_of(check, &past, &quiet()).findings.len()
    }

    #[test]
    fn a_waiter_before_a_free_lock_is_found() {
        assert_eq!(stalls(11 * SECOND), 0);
        assert_eq!(stalls(SECOND), 1);
    }

    #[test]
    fn on_zookeeper_a_waiter_that_is_cut_off_stands_in_the_way_until_its_session_ends() {
        let stalls = |sort, kept| {
            let cut = Window {
                row: 5,
                variant: 0,
                lane: Lane::Worker(0),
                begin: SECOND,
                end: 6 * SECOND,
                injected: true,
            };
            let mut ahead = ask(0, 0, 7 * SECOND);
            (ahead.kept, ahead.answer) = (kept, Answer::Refused(Refusal::Busy));
            let behind = ask(1, SECOND, 9 * SECOND);
            let past = Past { requests: vec![ahead, behind], ..Past::default() };
            verdict_of(check, &past, &Windows::new(sort, &[cut], &[])).findings.len()
        };
        assert_eq!(stalls(Sort::Standalone, 2 * SECOND), 1);
        assert_eq!(stalls(Sort::ZooKeeper, 2 * SECOND), 0);
    }

    #[test]
    fn a_late_successor_is_found() {
        let inherited = |after: Nanos| {
            let killed = Hold {
                killed: Some(SECOND),
                over: 2 * SECOND,
                ..hold(0, Access::Write, 0, SECOND)
            };
            let heir = ask(1, 0, 2 * SECOND + after);
            let past = Past { requests: vec![heir], holds: vec![killed], ..Past::default() };
            verdict_of(check, &past, &quiet())
        };
        assert_eq!((inherited(SECOND).findings.len(), inherited(SECOND).heirs), (0, 1));
        assert_eq!(inherited(2 * SECOND).findings.len(), 1);
    }
}
