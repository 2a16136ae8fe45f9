//! What is made of the grants: arithmetic without a clock.

use std::fmt;

use lock_core::Kind;

use crate::{
    line::Scripts,
    worker::{Grant, Reported},
};

pub(crate) struct Figures {
    kind: Kind,
    grants_per_second: f64,
    /// Between a release and the next grant, while a patient task waited all the time.
    longest_idle_us: u64,
    overloaded: u64,
    unavailable: u64,
    gave_up: u64,
    scripts_per_acquisition: f64,
    script_us: f64,
    longest_line: u64,
    /// Grants to one that began to wait later than another one of its process that got the lock after
    /// it.
    out_of_order: usize,
    /// By how much the one that was overtaken had begun to wait earlier, at most.
    overtaken_us: u64,
}

impl Figures {
    pub(crate) const HEADER: &str = "kind | grants/s | longest idle, ms | overloaded | no answer | \
        gave up | scripts/acquisition | us/script | longest line | out of order | by, ms";

    pub(crate) fn of(
        kind: Kind,
        reported: &[Reported],
        seconds: u64,
        scripts: Scripts,
        longest_line: u64,
    ) -> Self {
        let mut grants: Vec<Grant> =
            reported.iter().flat_map(|reported| reported.grants.clone()).collect();
        grants.sort_by_key(|grant| grant.granted);
        let sum = |count: fn(&Reported) -> u64| reported.iter().map(count).sum::<u64>();
        let (overloaded, unavailable) =
            (sum(|reported| reported.overloaded), sum(|reported| reported.unavailable));
        let gave_up = sum(|reported| reported.gave_up);
        let overtakes: Vec<_> =
            reported.iter().map(|reported| overtakes(&reported.grants)).collect();
        let acquisitions = grants.len() as u64 + gave_up + unavailable;
        Self {
            kind,
            grants_per_second: grants.len() as f64 / seconds as f64,
            longest_idle_us: longest_idle(&grants, reported),
            overloaded,
            unavailable,
            gave_up,
            scripts_per_acquisition: scripts.calls as f64 / acquisitions.max(1) as f64,
            script_us: scripts.micros as f64 / scripts.calls.max(1) as f64,
            longest_line,
            out_of_order: overtakes.iter().map(|(count, _)| count).sum(),
            overtaken_us: overtakes.iter().map(|(_, longest)| *longest).max().unwrap_or(0),
        }
    }
}

/// `grants` are in order.
fn longest_idle(grants: &[Grant], reported: &[Reported]) -> u64 {
    // When the patient one began to wait that was granted the lock at this place or later, or never:
    // the earliest of them.
    let mut waits_since = reported.iter().flat_map(|reported| &reported.waits_still).min().copied();
    let mut longest = 0;
    for pair in grants.windows(2).rev() {
        let [one, next] = pair else { continue };
        if next.patient {
            waits_since = Some(waits_since.map_or(next.began, |since| since.min(next.began)));
        }
        if waits_since.is_some_and(|since| since < one.released) {
            longest = longest.max(next.granted.saturating_sub(one.released));
        }
    }
    longest
}

/// How many were granted although another one of the same process had begun to wait before, and was
/// granted it later; and the longest time between the beginnings of two such.
fn overtakes(grants: &[Grant]) -> (usize, u64) {
    let mut grants = grants.to_vec();
    grants.sort_by_key(|grant| grant.granted);
    let mut earliest = u64::MAX;
    let (mut overtakes, mut longest) = (0, 0);
    for grant in grants.iter().rev() {
        if grant.began > earliest {
            overtakes += 1;
            longest = longest.max(grant.began - earliest);
        }
        earliest = earliest.min(grant.began);
    }
    (overtakes, longest)
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} | {:.0} | {:.1} | {} | {} | {} | {:.1} | {:.0} | {} | {} | {:.1}",
            self.kind,
            self.grants_per_second,
            self.longest_idle_us as f64 / 1_000.0,
            self.overloaded,
            self.unavailable,
            self.gave_up,
            self.scripts_per_acquisition,
            self.script_us,
            self.longest_line,
            self.out_of_order,
            self.overtaken_us as f64 / 1_000.0
        )
    }
}
