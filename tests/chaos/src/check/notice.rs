//! A holder is notified in time that its lock is lost, on its own clock and without any network.

use super::{Finding, Hold, Past, Verdict, Windows};
use crate::clock::{MS, Nanos};

/// Between the end of belief and the moment at which a task on a busy machine runs.
const SLACK: Nanos = 500 * MS;
/// Between the beginning of a fault's window and the moment from which it holds.
const INJECTED: Nanos = 50 * MS;

pub(super) fn check(past: &Past, windows: &Windows, verdict: &mut Verdict) {
    // No process relies on one that is parked.
    for hold in past.holds.iter().filter(|hold| hold.parked.is_none()) {
        told_in_time(hold, windows, verdict);
        believed_too_long(hold, windows, verdict);
    }
}

fn told_in_time(hold: &Hold, windows: &Windows, verdict: &mut Verdict) {
    let Some((reported, deadline)) = hold.reported else { return };
    verdict.notices += 1;
    let stops = windows.stops(hold.worker).iter();
    let stopped: Nanos =
        stops.filter(|it| it.0 <= reported && deadline <= it.1).map(|it| it.1 - it.0).sum();
    if reported > deadline + SLACK + stopped {
        let late = (reported - deadline) as f64 / 1e6;
        let what = format!("worker {} was reported {late:.0} ms after its deadline", hold.worker);
        found(hold, reported, what, verdict);
    }
}

/// Without answers from the store, the hold ends by the lease that was confirmed before.
fn believed_too_long(hold: &Hold, windows: &Windows, verdict: &mut Verdict) {
    let margin = (hold.lease / 20).max(10 * MS).min(hold.lease / 4);
    let silences = windows.silences(hold.worker).iter().map(|it| (it, hold.lease - margin));
    // A worker that stood still for a whole lease finds its lock gone from the store.
    let stops = windows.signalled(hold.worker).iter().map(|it| (it, hold.lease));
    for ((begin, end), belief) in silences.chain(stops) {
        let (begin, end) = (*begin, *end);
        let bound = begin + INJECTED + belief;
        if hold.begin < begin && bound < end && begin < hold.last {
            verdict.notices += 1;
            if hold.last > bound {
                let late = (hold.last - bound) as f64 / 1e6;
                let what = format!(
                    "worker {} believed {late:.0} ms longer than silence allows",
                    hold.worker
                );
                found(hold, hold.last, what, verdict);
            }
        }
    }
}

fn found(hold: &Hold, at: Nanos, what: String, verdict: &mut Verdict) {
    let key = Some(hold.key.clone());
    verdict.findings.push(Finding { check: "notice", at, key, what });
}

#[cfg(test)]
mod tests {
    use super::super::testing::{hold, past, quiet, silent, verdict_of};
    use super::*;
    use crate::{clock::SECOND, keys::Access};

    #[test]
    fn a_late_notice_is_found() {
        let mut reported = hold(0, Access::Write, 0, SECOND);
        reported.reported = Some((SECOND + SLACK, SECOND));
        assert!(verdict_of(check, &past(vec![reported.clone()]), &quiet()).findings.is_empty());
        reported.reported = Some((SECOND + SLACK + 1, SECOND));
        assert_eq!(verdict_of(check, &past(vec![reported]), &quiet()).findings.len(), 1);
    }

    #[test]
    fn belief_without_news_ends_with_the_lease() {
        let silence = silent(SECOND, 10 * SECOND);
        let lasting = |last| past(vec![Hold { lease: SECOND, ..hold(0, Access::Write, 0, last) }]);
        let in_time = verdict_of(check, &lasting(2 * SECOND - 5 * MS), &silence);
        assert_eq!((in_time.findings.len(), in_time.notices), (0, 1));
        assert_eq!(verdict_of(check, &lasting(2 * SECOND + 5 * MS), &silence).findings.len(), 1);
    }
}
