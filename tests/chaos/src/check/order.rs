//! Fair locks are granted in order of arrival.
//!
//! A waiter has arrived for certain when it has waited for [`ARRIVED`] without any disturbance. From
//! then on no later request for the same lock may be granted before it, as long as neither Redis nor
//! the waiter's links and process are disturbed. Readers that follow each other share, in any order.

use std::collections::BTreeMap;

use super::{Answer, Ask, Finding, Past, Verdict, Windows, windows::touches};
use crate::{
    clock::{MS, Nanos},
    keys::Access,
};

/// Between the request and its place in line, on a busy machine.
const ARRIVED: Nanos = 400 * MS;
/// Between a grant and its being known, likewise.
const KNOWN: Nanos = 400 * MS;

pub(super) fn check(past: &Past, windows: &Windows, verdict: &mut Verdict) {
    let mut by_key: BTreeMap<&str, Vec<&Ask>> = BTreeMap::new();
    // A single try does not queue.
    for ask in past.requests.iter().filter(|ask| ask.family.is_fair() && ask.wait > 0) {
        by_key.entry(&ask.keys[0]).or_default().push(ask);
    }
    for (key, requests) in &mut by_key {
        requests.sort_unstable_by_key(|ask| ask.at);
        for (position, granted) in requests.iter().enumerate() {
            if granted.answer != Answer::Granted {
                continue;
            }
            for earlier in requests[..position].iter().rev() {
                // None that came before these can still be waiting.
                if earlier.at + 30_000 * MS < granted.at {
                    break;
                }
                judge(key, earlier, granted, windows, verdict);
            }
        }
    }
}

fn judge(key: &str, earlier: &Ask, granted: &Ask, windows: &Windows, verdict: &mut Verdict) {
    let both_read = earlier.access == Access::Read && granted.access == Access::Read;
    let before = earlier.at + ARRIVED < granted.at && granted.end + KNOWN < earlier.end;
    if both_read || !clear(earlier, granted) {
        return;
    }
    let span = (earlier.at, granted.end);
    let disturbed = [earlier.worker, granted.worker]
        .into_iter()
        .any(|worker| touches(span, windows.troubles(worker)));
    if disturbed {
        return;
    }
    verdict.pairs_in_order += 1;
    if before {
        let what = format!(
            "worker {} was granted what worker {} had requested {:.3} s before it, and still waited for",
            granted.worker,
            earlier.worker,
            (granted.at - earlier.at) as f64 / 1e9
        );
        let key = Some(key.to_owned());
        verdict.findings.push(Finding { check: "order", at: granted.end, key, what });
    }
}

/// Whether both waited at the same time, and one came clearly before the other.
fn clear(earlier: &Ask, granted: &Ask) -> bool {
    earlier.at + ARRIVED < granted.at && granted.at < earlier.end
}

#[cfg(test)]
mod tests {
    use super::super::testing::{ask, quiet, verdict_of};
    use super::*;
    use crate::{clock::SECOND, keys::Family};

    fn verdict(access: Access, first_granted: Nanos, second_granted: Nanos) -> Verdict {
        let fair =
            |worker, at, end| Ask { family: Family::FairReadWrite, access, ..ask(worker, at, end) };
        let requests = vec![fair(0, 0, first_granted), fair(1, SECOND, second_granted)];
        verdict_of(check, &Past { requests, ..Past::default() }, &quiet())
    }

    #[test]
    fn a_skipped_waiter_is_found() {
        let ordered = verdict(Access::Write, 2 * SECOND, 3 * SECOND);
        assert_eq!((ordered.findings.len(), ordered.pairs_in_order), (0, 1));
        assert_eq!(verdict(Access::Write, 3 * SECOND, 2 * SECOND).findings.len(), 1);
        assert_eq!(verdict(Access::Read, 3 * SECOND, 2 * SECOND).findings.len(), 0);
    }
}
