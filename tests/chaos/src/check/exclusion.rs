//! At every instant one writer, or readers and no writer, relies on a lock.

use std::collections::BTreeMap;

use super::{Finding, Hold, Past, Verdict, Windows};
use crate::keys::Access;

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
        of_one_key(holds, windows, verdict);
    }
}

/// Goes through the holds of a key in order of their beginning, with those at hand that last
/// longest so far: a hold that begins before they end overlaps.
fn of_one_key<'a>(holds: &[&'a Hold], windows: &Windows, verdict: &mut Verdict) {
    let (mut reader, mut writer): (Option<&'a Hold>, Option<&'a Hold>) = (None, None);
    for hold in holds {
        let others = match hold.access {
            Access::Write => [writer, reader],
            _ => [writer, None],
        };
        let other = others.into_iter().flatten().find(|other| hold.begin < other.last);
        if let Some(other) = other {
            judge(hold, other, windows, verdict);
        }
        let longest = if hold.access == Access::Write { &mut writer } else { &mut reader };
        if longest.is_none_or(|longest| hold.last > longest.last) {
            *longest = Some(hold);
        }
    }
}

fn judge(hold: &Hold, other: &Hold, windows: &Windows, verdict: &mut Verdict) {
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
    use super::super::testing::{hold, past, quiet, verdict_of};
    use super::*;

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
    fn where_data_were_lost_it_is_counted() {
        use crate::check::testing::lossy;
        let past = past(vec![hold(0, Access::Write, 0, 10), hold(1, Access::Write, 5, 15)]);
        let verdict = verdict_of(check, &past, &lossy(4, 6));
        assert_eq!((verdict.findings.len(), verdict.allowed), (0, 1));
    }
}
