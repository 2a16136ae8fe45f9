//! A write's token exceeds every earlier token of its key, a read's every earlier write's.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BinaryHeap},
};

use super::{Finding, Hold, Past, Verdict, Windows, exclusion::may_be_taken};
use crate::{clock::Nanos, keys::Access};

pub(super) fn check(past: &Past, windows: &Windows, verdict: &mut Verdict) {
    let mut by_key: BTreeMap<&str, Vec<&Hold>> = BTreeMap::new();
    for hold in past.holds.iter().filter(|hold| hold.token.is_some()) {
        by_key.entry(&hold.key).or_default().push(hold);
    }
    for holds in by_key.values_mut() {
        holds.sort_unstable_by_key(|hold| hold.begin);
        of_one_key(holds, past, windows, verdict);
    }
}

/// The greatest token so far of those whose time is over, when it was granted, and its worker.
type Greatest = Option<(u64, Nanos, usize)>;

/// The end of the hold, its token, the time of the grant, its worker, and whether it wrote.
type Live = Reverse<(Nanos, u64, Nanos, usize, bool)>;

fn of_one_key(holds: &[&Hold], past: &Past, windows: &Windows, verdict: &mut Verdict) {
    let mut live: BinaryHeap<Live> = BinaryHeap::new();
    let (mut any, mut written): (Greatest, Greatest) = (None, None);
    for hold in holds {
        while let Some(Reverse((_, token, begin, ask, write))) =
            live.peek().copied().filter(|Reverse((last, ..))| *last < hold.begin)
        {
            live.pop();
            any = any.max(Some((token, begin, ask)));
            written = written.max(write.then_some((token, begin, ask)));
        }
        let token = hold.token.unwrap_or_default();
        let write = hold.access == Access::Write;
        let earlier = if write { any } else { written };
        if let Some((greatest, begin, ask)) = earlier
            && ask != hold.ask
        {
            verdict.tokens += 1;
            // Tokens are Redis' memory and Redis' clock: both may have gone.
            if token <= greatest && windows.tokens_lost_between(begin, hold.begin) {
                (any, written) = (None, None);
            } else if token <= greatest && may_be_taken(hold, begin, past, windows) {
                // A newer caller has taken it before its process, which was stopped, knew of the grant.
                verdict.taken += 1;
            } else if token <= greatest {
                let what = format!("token {token} of worker {} after {greatest}", hold.worker);
                let key = Some(hold.key.clone());
                verdict.findings.push(Finding { check: "tokens", at: hold.begin, key, what });
            }
        }
        live.push(Reverse((hold.last, token, hold.begin, hold.ask, write)));
    }
}

#[cfg(test)]
mod tests {
    use super::super::{
        Ask,
        testing::{ask, hold, past, quiet, verdict_of},
    };
    use super::*;
    use crate::{
        clock::nanos,
        keys::{Family, REPLACED_AFTER},
    };

    fn findings(holds: &[(Access, Nanos, Nanos, u64)]) -> usize {
        let held = |(access, begin, last, token): &(Access, Nanos, Nanos, u64)| Hold {
            token: Some(*token),
            ..hold(0, *access, *begin, *last)
        };
        verdict_of(check, &past(holds.iter().map(held).collect()), &quiet()).findings.len()
    }

    #[test]
    fn tokens_grow_but_among_readers() {
        use Access::{Read, Write};
        assert_eq!(findings(&[(Write, 0, 1, 5), (Write, 2, 3, 6)]), 0);
        assert_eq!(findings(&[(Write, 0, 1, 5), (Write, 2, 3, 5)]), 1);
        assert_eq!(findings(&[(Write, 0, 1, 5), (Read, 2, 3, 4)]), 1);
        assert_eq!(findings(&[(Read, 0, 1, 5), (Write, 2, 3, 4)]), 1);
        assert_eq!(findings(&[(Read, 0, 1, 5), (Read, 2, 3, 5)]), 0);
    }

    #[test]
    fn a_reader_after_its_own_write_keeps_its_token() {
        let write = Hold { token: Some(5), ..hold(0, Access::Write, 0, 1) };
        let read = Hold { token: Some(5), ask: write.ask, ..hold(0, Access::Read, 2, 3) };
        assert!(verdict_of(check, &past(vec![write, read]), &quiet()).findings.is_empty());
    }

    #[test]
    fn a_grant_that_its_process_hears_of_when_it_was_replaced_has_an_older_token() {
        let after = nanos(REPLACED_AFTER);
        let request = |worker| Ask { family: Family::Replaced, ..ask(worker, 0, 0) };
        let findings = |begin, is_freed| {
            let newer = Hold { token: Some(6), ..hold(1, Access::Write, begin, begin + 1) };
            let late = hold(0, Access::Write, begin + 2, begin + 3);
            let late = Hold { token: Some(5), ask: 0, is_freed, ..late };
            let holds = vec![Hold { ask: 1, ..newer }, late];
            let past = Past { requests: vec![request(0), request(1)], holds, ..Past::default() };
            verdict_of(check, &past, &quiet()).findings.len()
        };
        assert_eq!(findings(after, false), 0);
        assert_eq!(findings(after - 1, false), 1, "before its time");
        assert_eq!(findings(after, true), 1, "it was still in the store");
    }
}
