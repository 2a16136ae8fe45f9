//! At every instant no more permits of a semaphore are believed in than there are.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BinaryHeap},
};

use super::{Finding, Hold, Past, Verdict, Windows};
use crate::keys::{Access, PERMITS};

pub(super) fn check(past: &Past, windows: &Windows, verdict: &mut Verdict) {
    let mut by_key: BTreeMap<&str, Vec<&Hold>> = BTreeMap::new();
    for hold in &past.holds {
        if hold.access == Access::Permit && hold.last > hold.begin {
            by_key.entry(&hold.key).or_default().push(hold);
        }
    }
    for (key, holds) in &mut by_key {
        holds.sort_unstable_by_key(|hold| hold.begin);
        let mut held = BinaryHeap::new();
        for hold in holds.iter() {
            while held.peek().is_some_and(|Reverse(last)| *last <= hold.begin) {
                held.pop();
            }
            held.push(Reverse(hold.last));
            if held.len() <= PERMITS as usize {
                continue;
            }
            // The count itself may be lost, and is not set again then.
            if windows.may_overlap(hold.begin) || windows.unplanned_before(hold.begin) {
                verdict.allowed += 1;
                continue;
            }
            let what = format!("{} permits of {PERMITS} at once", held.len());
            let key = Some((*key).to_owned());
            verdict.findings.push(Finding { check: "permits", at: hold.begin, key, what });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{hold, past, quiet, verdict_of};
    use super::*;

    #[test]
    fn one_permit_too_many_is_found() {
        let permit = |begin, last| hold(0, Access::Permit, begin, last);
        let three = vec![permit(0, 10), permit(1, 5), permit(2, 10), permit(5, 9)];
        assert!(verdict_of(check, &past(three.clone()), &quiet()).findings.is_empty());
        let four = [three, vec![permit(6, 7)]].concat();
        assert_eq!(verdict_of(check, &past(four), &quiet()).findings.len(), 1);
    }
}
