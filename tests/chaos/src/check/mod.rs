//! Whether what happened was promised: each checker reads the same evidence and looks for one thing.

mod exclusion;
mod leftovers;
mod notice;
mod order;
mod outcomes;
mod parked;
mod past;
mod permits;
mod reservations;
mod stalls;
#[cfg(test)]
mod testing;
mod tickets;
mod tokens;
mod windows;

use std::collections::BTreeMap;

use crate::{
    clock::Nanos,
    deployment::Sort,
    nemesis::{Life, Window},
    resource::Tally,
};

pub(crate) use leftovers::Leftover;
pub(crate) use parked::Resumption;
pub(crate) use past::{Answer, Ask, Hold, Past};
pub(crate) use windows::Windows;

/// The records of a slice.
pub(crate) struct Evidence {
    pub(crate) sort: Sort,
    pub(crate) lives: Vec<Life>,
    pub(crate) windows: Vec<Window>,
    /// Faults that could not be injected.
    pub(crate) trouble: Vec<String>,
    /// What the campaign's own clients saw that must not be.
    pub(crate) wrong: Vec<(Nanos, String)>,
    /// The fault that could not be healed: later records do not count.
    pub(crate) broken: Option<String>,
    pub(crate) tally: Tally,
    pub(crate) leftovers: Vec<Leftover>,
}

/// Something that must not be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Finding {
    pub(crate) check: &'static str,
    pub(crate) at: Nanos,
    pub(crate) key: Option<String>,
    pub(crate) what: String,
}

/// What the checkers found, and how much they saw.
#[derive(Debug, Default)]
pub(crate) struct Verdict {
    pub(crate) findings: Vec<Finding>,
    /// Overlaps where data were lost by nature.
    pub(crate) allowed: u64,
    /// Locks that were taken from a holder before it knew.
    pub(crate) taken: u64,
    /// Tickets that were resumed.
    pub(crate) resumed: u64,
    /// Keys of killed holders that a clock which jumped back keeps for an hour.
    pub(crate) kept_by_the_clock: u64,
    pub(crate) pairs_in_order: u64,
    pub(crate) tokens: u64,
    pub(crate) notices: u64,
    pub(crate) longest_stall: Nanos,
    pub(crate) stalls_looked_at: u64,
    /// Waiters that stood before a lock whose holder was killed.
    pub(crate) heirs: u64,
    /// Releases while the waiter in front was gone, and the longest until the lock was granted.
    pub(crate) left_to_the_gone: u64,
    pub(crate) longest_left: Nanos,
    /// Acquisitions that were refused as unavailable beside no fault that explains it.
    pub(crate) unexplained: BTreeMap<String, u64>,
    /// The longest that one of them waited after the lease of the dead.
    pub(crate) longest_inheritance: Nanos,
}

/// Runs all checks.
pub(crate) fn check(evidence: &Evidence, past: &Past) -> Verdict {
    let windows = Windows::new(evidence.sort, &evidence.windows, &past.stood);
    let mut verdict = Verdict::default();
    exclusion::check(past, &windows, &mut verdict);
    permits::check(past, &windows, &mut verdict);
    tokens::check(past, &windows, &mut verdict);
    tickets::check(past, &windows, &mut verdict);
    stalls::check(past, &windows, &mut verdict);
    order::check(past, &windows, &mut verdict);
    notice::check(past, &windows, &mut verdict);
    outcomes::check(past, &windows, &mut verdict);
    outcomes::report(&evidence.wrong, "servers", &mut verdict);
    reservations::count(past, &windows, &mut verdict);
    leftovers::check(&evidence.leftovers, &windows, &mut verdict);
    fenced(evidence.tally, &mut verdict);
    verdict
}

/// A resource that is fenced by the claiming rule loses nothing, whatever happened.
fn fenced(tally: Tally, verdict: &mut Verdict) {
    if tally.fenced_lost > 0 {
        let what = format!("{} fenced writes were lost", tally.fenced_lost);
        verdict.findings.push(Finding { check: "fencing", at: 0, key: None, what });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lost_write_is_found() {
        let mut verdict = Verdict::default();
        fenced(Tally { fenced_lost: 1, ..Tally::default() }, &mut verdict);
        assert_eq!(verdict.findings.len(), 1);
    }
}
