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
    verdict.unexplained +=
        past.requests.iter().filter(|ask| is_unexplained(ask, windows)).count() as u64;
}

/// Refused as unavailable before its wait had ended, beside no fault that keeps it from the store: a
/// connection that ends is replaced, and what it carried is sent again. A machine that is too slow for the
/// command timeout refuses too, so this is a figure.
fn is_unexplained(ask: &Ask, windows: &Windows) -> bool {
    matches!(ask.answer, Answer::Refused(Refusal::Unavailable(_)))
        && (ask.wait == 0 || ask.end + MS < ask.at + ask.wait)
        && !touches((ask.at, ask.end), windows.troubles(ask.worker))
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
        // One of several may be lost while the others are waited for.
        Answer::Refused(Refusal::Lost) if ask.keys.len() == 1 => {
            Some(format!("worker {} lost what it had not been granted", ask.worker))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{ask, quiet, verdict_of};
    use super::*;

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
        assert_eq!(findings(Answer::Refused(Refusal::Other("?".to_owned())), SECOND), 1);
    }

    #[test]
    fn a_refusal_without_a_fault_is_counted() {
        let counted = |end| {
            let answer = Answer::Refused(Refusal::Unavailable(0));
            let ask = Ask { answer, wait: SECOND, ..ask(0, 0, end) };
            let past = Past { requests: vec![ask], ..Past::default() };
            verdict_of(check, &past, &quiet()).unexplained
        };
        assert_eq!((counted(SECOND / 2), counted(SECOND)), (1, 0));
    }

    #[test]
    fn observations_of_a_worker_are_reported() {
        let past = Past { wrong: vec![(0, "panicked".to_owned())], ..Past::default() };
        assert_eq!(verdict_of(check, &past, &quiet()).findings.len(), 1);
    }
}
