//! What is to go wrong, and when: all of it follows from the seed.

mod deck;

use std::{fmt, time::Duration};

use fastrand::Rng;

use crate::deployment::Sort;
use deck::Deck;

/// The target of a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lane {
    /// The store's servers: one fault at a time.
    Servers,
    /// One worker with its links: one fault at a time.
    Worker(usize),
}

/// One fault of the schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Planned {
    /// From the beginning of the slice. Faults of a lane that heal slowly put the next ones off.
    pub(crate) at: Duration,
    pub(crate) lane: Lane,
    pub(crate) row: u8,
    /// Which of the row's ways it is.
    pub(crate) variant: u8,
    pub(crate) lasts: Duration,
    /// What else a row may need: which key, how many bytes.
    pub(crate) amount: u64,
}

impl fmt::Display for Planned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { at, lane, row, variant, lasts, amount } = self;
        write!(f, "{at:>9.3?} {lane:?} row {row}.{variant} for {lasts:.3?} ({amount})")
    }
}

/// The faults of one slice, in order of time: the first `length` of an endless list.
pub(crate) fn plan(
    seed: u64,
    slice: u64,
    sort: Sort,
    workers: usize,
    rows: &[u8],
    length: Duration,
) -> Vec<Planned> {
    let lanes = [Lane::Servers].into_iter().chain((0..workers).map(Lane::Worker));
    let mut plan = Vec::new();
    for (number, lane) in (0..).zip(lanes) {
        // A lane's faults do not depend on how many other lanes there are.
        let mut random = Rng::with_seed(mix(&[seed, slice, sort as u64, number]));
        plan.extend(Deck::of(lane, sort, rows).faults(&mut random, lane, length));
    }
    plan.sort_by_key(|planned| planned.at);
    plan
}

/// One number out of several that gives nothing of them away.
pub(crate) fn mix(numbers: &[u64]) -> u64 {
    // FNV-1a, whose result does not change with versions of a library.
    let bytes = numbers.iter().flat_map(|number| number.to_le_bytes());
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

/// By what one knows that two schedules are the same.
pub(crate) fn fingerprint(plan: &[Planned]) -> u64 {
    let text: String = plan.iter().map(ToString::to_string).collect();
    mix(&text.bytes().map(u64::from).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: Duration = Duration::from_secs(60);

    fn planned(seed: u64, length: Duration) -> Vec<Planned> {
        plan(seed, 0, Sort::Standalone, 4, &[], length)
    }

    #[test]
    fn the_seed_determines_all_and_time_only_cuts() {
        assert_eq!(planned(1, MINUTE), planned(1, MINUTE));
        assert_ne!(planned(1, MINUTE), planned(2, MINUTE));
        let longer = planned(1, 2 * MINUTE);
        assert!(planned(1, MINUTE).iter().all(|fault| longer.contains(fault)));
    }

    #[test]
    fn lanes_never_overlap_themselves() {
        let plan = planned(7, 10 * MINUTE);
        for lane in [Lane::Servers, Lane::Worker(0), Lane::Worker(3)] {
            let own: Vec<_> = plan.iter().filter(|fault| fault.lane == lane).collect();
            assert!(own.windows(2).all(|pair| pair[0].at + pair[0].lasts < pair[1].at));
        }
    }

    #[test]
    fn an_hour_has_every_row_that_is_injected() {
        let mut counts = [0; crate::rows::ROWS.len() + 1];
        for slice in 0..10 {
            for sort in Sort::ALL {
                for fault in plan(1, slice, sort, 4, &[], 2 * MINUTE) {
                    counts[usize::from(fault.row)] += 1;
                }
            }
        }
        for row in crate::rows::ROWS.iter().filter(|row| row.elsewhere.is_none()) {
            let count = counts[usize::from(row.number)];
            assert!(count >= 15, "row {}: {count}", row.number);
        }
    }
}
