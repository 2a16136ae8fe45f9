//! What is to go wrong, and when: all of it follows from the seed.

use std::{collections::VecDeque, fmt, time::Duration};

use fastrand::Rng;

use crate::deployment::Sort;

/// Who a fault is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lane {
    /// Redis and its servers: one fault at a time.
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

/// In every period the end is calm: nothing but deaths of workers and what they do themselves. Only
/// then can be seen how long waiters wait, and in which order they are served.
const PERIOD: Duration = Duration::from_secs(24);
const CALM: Duration = Duration::from_secs(8);

/// Rows with their variants that happen to workers.
const FOR_WORKERS: &[(u8, u8)] = &[
    (1, 0),
    (3, 0),
    (4, 0),
    (5, 0),
    (5, 1),
    (5, 2),
    (6, 0),
    (6, 1),
    (6, 2),
    (7, 0),
    (7, 1),
    (8, 0),
    (8, 1),
    (28, 0),
    (29, 0),
    (30, 0),
    (31, 0),
    (32, 0),
    (33, 0),
    (34, 0),
    (36, 0),
];

/// Those that every deployment's servers can suffer.
const FOR_ALL_SERVERS: &[(u8, u8)] = &[
    (9, 0),
    (13, 0),
    (14, 0),
    (15, 0),
    (17, 0),
    (18, 0),
    (19, 0),
    (21, 0),
    (22, 0),
    (23, 0),
    (26, 0),
    (27, 0),
    (37, 0),
    (38, 0),
];

const FOR_STANDALONE: &[(u8, u8)] = &[(10, 0), (11, 0), (16, 0), (24, 0), (25, 0)];
/// 12.0: cut off and killed; 12.1: stopped until it is replaced; 16: the Sentinels are told to.
const FOR_SENTINEL: &[(u8, u8)] = &[(12, 0), (12, 1), (16, 0)];
const FOR_CLUSTER: &[(u8, u8)] = &[(12, 0), (16, 0), (20, 0), (20, 1)];

/// The faults of one slice, in order of time: the first `length` of an endless list.
pub(crate) fn plan(
    seed: u64,
    slice: u64,
    sort: Sort,
    workers: usize,
    rows: &[u8],
    length: Duration,
) -> Vec<Planned> {
    let of_sort = match sort {
        Sort::Standalone => FOR_STANDALONE,
        Sort::Sentinel => FOR_SENTINEL,
        Sort::Cluster => FOR_CLUSTER,
    };
    let chosen = |list: &[&[(u8, u8)]]| -> Vec<(u8, u8)> {
        let all = list.iter().flat_map(|rows| rows.iter().copied());
        all.filter(|(row, _)| rows.is_empty() || rows.contains(row)).collect()
    };
    let mut lanes = vec![(Lane::Servers, chosen(&[FOR_ALL_SERVERS, of_sort]))];
    lanes.extend((0..workers).map(|at| (Lane::Worker(at), chosen(&[FOR_WORKERS]))));
    let mut plan = Vec::new();
    for (number, (lane, deck)) in (0..).zip(lanes) {
        // A lane's faults do not depend on how many other lanes there are.
        let mut random = Rng::with_seed(mix(&[seed, slice, sort as u64, number]));
        plan.extend(Deck::new(deck).faults(&mut random, lane, length));
    }
    plan.sort_by_key(|planned| planned.at);
    plan
}

/// Rows are dealt like cards, so that each comes up as often as any other.
struct Deck {
    cards: Vec<(u8, u8)>,
    left: VecDeque<(u8, u8)>,
}

impl Deck {
    fn new(cards: Vec<(u8, u8)>) -> Self {
        Self { cards, left: VecDeque::new() }
    }

    fn deal(&mut self, random: &mut Rng) -> Option<(u8, u8)> {
        if self.left.is_empty() {
            self.left.extend(&self.cards);
            random.shuffle(self.left.make_contiguous());
        }
        self.left.pop_front()
    }

    fn faults(mut self, random: &mut Rng, lane: Lane, length: Duration) -> Vec<Planned> {
        let mut faults = Vec::new();
        // Workers have something to do before the first fault.
        let mut at = Duration::from_millis(random.u64(500..1_500));
        while let Some((row, variant)) = self.deal(random) {
            let lasts = Duration::from_millis(lasts(row, variant, random));
            let amount = random.u64(..);
            let takes = lasts + heals(row);
            if is_disturbing(row) {
                at = past_calm(at, takes);
            }
            if at + lasts > length {
                break;
            }
            faults.push(Planned { at, lane, row, variant, lasts, amount });
            let gap = if lane == Lane::Servers { 200..1_500 } else { 500..4_000 };
            at += takes + Duration::from_millis(random.u64(gap));
        }
        faults
    }
}

/// Whether a fault of a lane is kept out of calm times.
fn is_disturbing(row: u8) -> bool {
    !matches!(row, 3 | 4 | 28..=36)
}

/// The first moment from `at` on at which something that takes so long is over before it is calm.
fn past_calm(at: Duration, takes: Duration) -> Duration {
    let periods = u32::try_from(at.as_nanos() / PERIOD.as_nanos()).unwrap_or(u32::MAX);
    let begin = PERIOD * periods;
    if at + takes.min(Duration::from_secs(4)) > begin + PERIOD - CALM { begin + PERIOD } else { at }
}

/// How long healing usually takes.
fn heals(row: u8) -> Duration {
    Duration::from_secs(match row {
        12 => 6,
        16 | 24 | 25 => 3,
        _ => 0,
    })
}

/// For how many milliseconds a fault lasts before it is healed.
fn lasts(row: u8, variant: u8, random: &mut Rng) -> u64 {
    match (row, variant) {
        (1, _) => random.u64(100..3_200),
        (5, _) => random.u64(100..2_800),
        (3 | 4 | 7 | 26 | 29 | 30 | 32 | 33 | 34, _) | (6, 1 | 2) => random.u64(50..200),
        (6, _) => random.u64(300..1_000),
        (8, _) => random.u64(300..1_500),
        // Shorter than what Sentinels and nodes take for a death.
        (9 | 18 | 19, _) => random.u64(50..700),
        (12, _) => random.u64(100..600),
        (24 | 25, _) => random.u64(200..1_200),
        (20, _) => random.u64(5..200),
        (13 | 28 | 36, _) => 50,
        _ => random.u64(100..800),
    }
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
    fn the_seed_says_all_and_time_only_cuts() {
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
        let mut counts = [0; 39];
        for slice in 0..10 {
            for sort in Sort::ALL {
                for fault in plan(1, slice, sort, 4, &[], 2 * MINUTE) {
                    counts[usize::from(fault.row)] += 1;
                }
            }
        }
        for row in crate::rows::ROWS.iter().filter(|row| row.elsewhere.is_none()) {
            let count = counts[usize::from(row.number)];
            assert!(count >= 20, "row {}: {count}", row.number);
        }
    }
}
