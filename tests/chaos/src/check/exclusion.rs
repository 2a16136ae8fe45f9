//! At every instant one writer, or readers and no writer, relies on a lock.

use std::collections::BTreeMap;

use super::{Finding, Hold, Past, Verdict, Windows};
use crate::{
    clock::{Nanos, nanos},
    keys::{Access, Family, REPLACED_AFTER},
};

pub(super) fn check(past: &Past, windows: &Windows, verdict: &mut Verdict) {
    let mut by_key: BTreeMap<&str, Vec<&Hold>> = BTreeMap::new();
    for hold in &past.holds {
        // A permit excludes no other; a hold that was never checked as held was never relied on.
        if hold.access != Access::Permit && hold.last > hold.begin {
            by_key.entry(&hold.key).or_default().push(hold);
        }
    }
    for holds in by_key.values_mut() {
        holds.sort_unstable_by_key(|hold| hold.begin);
        of_one_key(holds, past, windows, verdict);
    }
}

/// Goes through the holds of a key in order of their beginning, with those at hand that last
/// longest so far: a hold that begins before they end overlaps.
fn of_one_key<'a>(holds: &[&'a Hold], past: &Past, windows: &Windows, verdict: &mut Verdict) {
    let (mut reader, mut writer): (Option<&'a Hold>, Option<&'a Hold>) = (None, None);
    for hold in holds {
        let others = match hold.access {
            Access::Write => [writer, reader],
            _ => [writer, None],
        };
        let other = others.into_iter().flatten().find(|other| hold.begin < other.last);
        if let Some(other) = other {
            judge(hold, other, past, windows, verdict);
        }
        let longest = if hold.access == Access::Write { &mut writer } else { &mut reader };
        if longest.is_none_or(|longest| hold.last > longest.last) {
            *longest = Some(hold);
        }
    }
}

/// Whether a newer caller may have taken the lock from this holder by then: it had had the time for its own
/// release, and the store has not confirmed one. A holder that ignores the request learns of it afterwards.
/// A release that is sent again, because its connection has ended, cannot find out: the first command may
/// have released the lock.
pub(super) fn may_be_taken(holder: &Hold, by: Nanos, past: &Past, windows: &Windows) -> bool {
    let request = past.requests.get(holder.ask).filter(|ask| ask.family == Family::Replaced);
    let was_its_own =
        holder.is_freed && !windows.connections_may_end(holder.worker, (holder.begin, holder.over));
    !was_its_own && request.is_some_and(|ask| ask.at + nanos(REPLACED_AFTER) <= by)
}

fn judge(hold: &Hold, other: &Hold, past: &Past, windows: &Windows, verdict: &mut Verdict) {
    // By the older token it was granted first, and heard of that last.
    let heard_late = hold.token < other.token;
    if may_be_taken(other, hold.begin, past, windows)
        || heard_late && may_be_taken(hold, other.begin, past, windows)
    {
        verdict.taken += 1;
        return;
    }
    if windows.may_overlap(hold.begin) {
        verdict.allowed += 1;
        return;
    }
    let time = hold.last.min(other.last) - hold.begin;
    let what = format!(
        "{:?} by worker {} began {:.3} ms before worker {} stopped believing in its {:?}",
        hold.access,
        hold.worker,
        time as f64 / 1e6,
        other.worker,
        other.access
    );
    let key = Some(hold.key.clone());
    verdict.findings.push(Finding { check: "exclusion", at: hold.begin, key, what });
}

#[cfg(test)]
mod tests {
    use super::{
        super::{
            Ask,
            testing::{ask, hold, past, quiet, verdict_of},
        },
        *,
    };
    use crate::schedule::Lane;

    fn findings(holds: Vec<Hold>) -> usize {
        verdict_of(check, &past(holds), &quiet()).findings.len()
    }

    #[test]
    fn readers_share_and_writers_do_not() {
        use Access::{Read, Write};
        assert_eq!(findings(vec![hold(0, Read, 0, 10), hold(1, Read, 5, 15)]), 0);
        assert_eq!(findings(vec![hold(0, Write, 0, 10), hold(1, Write, 10, 15)]), 0);
        assert_eq!(findings(vec![hold(0, Write, 0, 10), hold(1, Write, 9, 15)]), 1);
        assert_eq!(findings(vec![hold(0, Read, 0, 10), hold(1, Write, 9, 15)]), 1);
        assert_eq!(findings(vec![hold(0, Write, 0, 10), hold(1, Read, 9, 15)]), 1);
    }

    #[test]
    fn a_long_hold_is_remembered_behind_short_ones() {
        use Access::{Read, Write};
        let holds = vec![
            hold(0, Read, 0, 100),
            hold(1, Read, 1, 2),
            hold(2, Read, 3, 4),
            hold(3, Write, 50, 60),
        ];
        assert_eq!(findings(holds), 1);
    }

    #[test]
    fn a_holder_that_is_replaced_keeps_its_lock_for_a_while_and_until_it_releases() {
        use crate::check::testing::window;
        let after = nanos(REPLACED_AFTER);
        let findings = |begin, is_freed, windows: &Windows| {
            let request = Ask { family: Family::Replaced, ..ask(0, 0, 0) };
            let ignores = Hold { is_freed, ..hold(0, Access::Write, 0, 10 * after) };
            let newer = Hold { ask: 1, ..hold(1, Access::Write, begin, 11 * after) };
            let holds = vec![ignores, newer];
            let past = Past { requests: vec![request], holds, ..Past::default() };
            let verdict = verdict_of(check, &past, windows);
            (verdict.findings.len(), verdict.taken)
        };
        assert_eq!(findings(after, false, &quiet()), (0, 1));
        assert_eq!(findings(after - 1, false, &quiet()), (1, 0), "before its time");
        assert_eq!(findings(after, true, &quiet()), (1, 0), "it was still in the store");
        let of = |row, lane, begin| window(row, lane, begin, begin + 1);
        for ended in [of(47, Lane::Servers, after), of(1, Lane::Worker(0), after)] {
            assert_eq!(findings(after, true, &ended), (0, 1), "it may have been sent again");
        }
        for elsewhere in [of(47, Lane::Servers, 20 * after), of(7, Lane::Worker(1), after)] {
            assert_eq!(findings(after, true, &elsewhere), (1, 0), "over its own connection");
        }
    }

    #[test]
    fn where_data_were_lost_it_is_counted() {
        use crate::check::testing::lossy;
        let past = past(vec![hold(0, Access::Write, 0, 10), hold(1, Access::Write, 5, 15)]);
        let verdict = verdict_of(check, &past, &lossy(4, 6));
        assert_eq!((verdict.findings.len(), verdict.allowed), (0, 1));
    }
}
