//! Counts the releases of locks whose next waiter was killed, stopped or cut off, and measures how long
//! such a lock stayed free. Whether that was too long is for the stalls.

use super::{Past, Verdict, Windows};
use crate::keys::Family;

pub(super) fn count(past: &Past, windows: &Windows, verdict: &mut Verdict) {
    for (worker, span) in windows.gone_from_the_front() {
        let key = Family::left_to(worker);
        let waits = past.requests.iter().any(|ask| {
            ask.worker == worker && ask.keys.contains(&key) && ask.at < span.1 && span.0 < ask.end
        });
        let mut holds: Vec<_> = past.holds.iter().filter(|hold| hold.key == key).collect();
        holds.sort_unstable_by_key(|hold| hold.begin);
        for pair in holds.windows(2) {
            if waits && span.0 <= pair[0].last && pair[0].last <= span.1 && pair[1].worker != worker
            {
                verdict.left_to_the_gone += 1;
                let free = pair[1].begin.saturating_sub(pair[0].last);
                verdict.longest_left = verdict.longest_left.max(free);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{ask, hold, verdict_of};
    use super::*;
    use crate::{clock::MS, deployment::Sort, keys::Access, nemesis::Window, schedule::Lane};

    #[test]
    fn a_release_in_front_of_a_waiter_that_is_gone_is_counted() {
        let counted = |waits_until| {
            let gone = Window {
                row: 51,
                variant: 0,
                lane: Lane::Worker(1),
                begin: 100 * MS,
                end: 900 * MS,
                injected: true,
            };
            let key = Family::left_to(1);
            let mut waiter = ask(1, 0, waits_until);
            waiter.keys = vec![key.clone()];
            let held = |worker, begin, end| {
                let mut hold = hold(worker, Access::Write, begin, end);
                hold.key.clone_from(&key);
                hold
            };
            let holds = vec![held(0, 0, 200 * MS), held(2, 300 * MS, 950 * MS)];
            let past = Past { requests: vec![waiter], holds, ..Past::default() };
            let windows = Windows::new(Sort::Standalone, &[gone], &[]);
            let verdict = verdict_of(count, &past, &windows);
            (verdict.left_to_the_gone, verdict.longest_left)
        };
        assert_eq!(counted(950 * MS), (1, 100 * MS));
        assert_eq!(counted(50 * MS), (0, 0), "it did not wait any more");
    }
}
