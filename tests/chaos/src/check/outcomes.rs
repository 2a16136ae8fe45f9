//! Every acquisition ends in time, and with an outcome that it may end with; no worker saw what must
//! not be.

use super::{Answer, Ask, Finding, Past, Verdict, Windows, windows::touches};
use crate::{
    clock::{MS, Nanos, SECOND},
    history::Refusal,
    keys::Family,
};

/// What comes on top of the wait: the longest command timeout, that of ZooKeeper's sessions here, once for a
/// release of the own process that is on its way and once for the last answer.
const ANSWERS: Nanos = 2 * 600 * MS + 50 * MS;
/// For how long servers are slow that have just started: an ensemble of ZooKeeper above all, whose code is not
/// compiled yet.
const STARTING: Nanos = 2 * SECOND;
/// For the machine.
const SLACK: Nanos = 3 * SECOND;

pub(super) fn check(past: &Past, windows: &Windows, verdict: &mut Verdict) {
    let foreign = windows.foreign();
    for ask in &past.requests {
        if let Some(what) = wrong(ask, windows, &foreign) {
            let key = ask.keys.first().cloned();
            verdict.findings.push(Finding { check: "outcomes", at: ask.end, key, what });
        }
    }
    report(&past.wrong, "workers", verdict);
    let begin = past.requests.iter().map(|ask| ask.at).min().unwrap_or_default();
    for ask in &past.requests {
        if let Some(why) = unexplained(ask, windows) {
            let when = match touches((ask.at, ask.end), windows.stalled()) {
                _ if ask.at < begin + STARTING => "as the servers start: ",
                true => "near a stall of the machine: ",
                false => "",
            };
            let reason = format!("{when}{}", without_numbers(why));
            *verdict.unexplained.entry(reason).or_default() += 1;
        }
    }
}

/// Refused as unavailable before its wait had ended, beside no fault that keeps it from the store: a
/// connection that ends is replaced, and what it carried is sent again. A machine that is too slow for the
/// command timeout refuses too, so this is a figure.
fn unexplained<'a>(ask: &'a Ask, windows: &Windows) -> Option<&'a str> {
    let Answer::Refused(Refusal::Unavailable(_, why)) = &ask.answer else { return None };
    let is_early = ask.wait == 0 || ask.end + MS < ask.at + ask.wait;
    let is_beside = touches((ask.at, ask.end), windows.troubles(ask.worker));
    (is_early && !is_beside).then_some(why)
}

/// The same reason with other addresses and times is the same.
fn without_numbers(why: &str) -> String {
    let mut text = String::new();
    for part in why.chars() {
        match part {
            '0'..='9' if text.ends_with('#') => {}
            '0'..='9' => text.push('#'),
            _ => text.push(part),
        }
    }
    text
}

/// What was seen that must not be.
pub(super) fn report(wrong: &[(Nanos, String)], check: &'static str, verdict: &mut Verdict) {
    for (at, what) in wrong {
        let what = what.clone();
        verdict.findings.push(Finding { check, at: *at, key: None, what });
    }
}

fn wrong(ask: &Ask, windows: &Windows, foreign: &[(Nanos, Nanos)]) -> Option<String> {
    let stops = windows.stops(ask.worker).iter();
    let stopped: Nanos =
        stops.filter(|it| it.0 < ask.end && ask.at < it.1).map(|it| it.1 - it.0).sum();
    let took = ask.end - ask.at;
    if took > ask.wait + ANSWERS + SLACK + stopped {
        let (took, wait) = (took as f64 / 1e9, ask.wait as f64 / 1e9);
        return Some(format!(
            "worker {} waited {took:.3} s, not {wait:.3} s, for {:?}",
            ask.worker, ask.answer
        ));
    }
    match &ask.answer {
        Answer::Missing => Some(format!("worker {} was never answered", ask.worker)),
        // An eviction that takes one of a lock's keys leaves others that make no lock.
        // Both wires on one key: the one that comes second is refused.
        Answer::Refused(Refusal::WrongKind) if ask.family == Family::BothWires => None,
        Answer::Refused(Refusal::WrongKind)
            if !touches((ask.at, ask.end), foreign) && !windows.lost_between(ask.at, ask.end) =>
        {
            Some(format!("worker {} found something else than a lock", ask.worker))
        }
        Answer::Refused(Refusal::Other(why)) => Some(format!("worker {}: {why}", ask.worker)),
        Answer::Refused(Refusal::Replaced) if ask.family != Family::Replaced => {
            Some(format!("worker {} was replaced where the latest does not win", ask.worker))
        }
        // One of several may be lost while the others are waited for, and a fill's lock before it has checked it.
        Answer::Refused(Refusal::Lost) if ask.keys.len() == 1 && ask.family != Family::Flight => {
            Some(format!("worker {} lost what it had not been granted", ask.worker))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{ask, quiet, verdict_of};
    use super::*;
    use crate::deployment::Sort;

    fn findings(answer: Answer, end: Nanos) -> usize {
        let ask = Ask { answer, wait: SECOND, ..ask(0, 0, end) };
        let past = Past { requests: vec![ask], ..Past::default() };
        verdict_of(check, &past, &quiet()).findings.len()
    }

    #[test]
    fn the_stuck_and_the_strange_are_found() {
        assert_eq!(findings(Answer::Granted, 2 * SECOND), 0);
        assert_eq!(findings(Answer::Granted, 6 * SECOND), 1);
        assert_eq!(findings(Answer::Missing, SECOND), 1);
        assert_eq!(findings(Answer::Refused(Refusal::Busy), SECOND), 0);
        assert_eq!(findings(Answer::Refused(Refusal::WrongKind), SECOND), 1);
        assert_eq!(findings(Answer::Refused(Refusal::Replaced), SECOND), 1);
        assert_eq!(findings(Answer::Refused(Refusal::Lost), SECOND), 1);
        assert_eq!(findings(Answer::Refused(Refusal::Other("?".to_owned())), SECOND), 1);
    }

    #[test]
    fn a_refusal_without_a_fault_is_counted() {
        let counted = |begin, end, stood: &[_]| {
            let why = "no answer of 127.0.0.1 within 500ms".to_owned();
            let answer = Answer::Refused(Refusal::Unavailable(0, why));
            let refused = Ask { answer, wait: SECOND, ..ask(0, begin, begin + end) };
            let past = Past { requests: vec![ask(0, 0, 0), refused], ..Past::default() };
            let windows = Windows::new(Sort::Standalone, &[], stood);
            verdict_of(check, &past, &windows).unexplained
        };
        let reason = "no answer of #.#.#.# within #ms".to_owned();
        assert_eq!(counted(STARTING, SECOND / 2, &[]), [(reason.clone(), 1)].into());
        let near = format!("near a stall of the machine: {reason}");
        let other_worker = [(1, (STARTING, STARTING + SECOND / 4))];
        assert_eq!(counted(STARTING, SECOND / 2, &other_worker), [(near, 1)].into());
        let starting = format!("as the servers start: {reason}");
        assert_eq!(counted(0, SECOND / 2, &[]), [(starting, 1)].into());
        assert!(counted(STARTING, SECOND, &[]).is_empty());
    }

    #[test]
    fn observations_of_a_worker_are_reported() {
        let past = Past { wrong: vec![(0, "panicked".to_owned())], ..Past::default() };
        assert_eq!(verdict_of(check, &past, &quiet()).findings.len(), 1);
    }
}
