//! The faults and their targets, how they are dealt, and how long each lasts.

use std::{collections::VecDeque, time::Duration};

use fastrand::Rng;

use super::{Lane, Planned};
use crate::deployment::Sort;

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
    (50, 0),
    (51, 0),
    (52, 0),
    (56, 0),
    (56, 1),
    (56, 2),
    (57, 0),
    (57, 1),
    (58, 0),
    (58, 1),
    (60, 0),
];
/// Those of them that need Redis.
const FOR_WORKERS_ON_REDIS: &[(u8, u8)] = &[(54, 0), (55, 0), (59, 0), (59, 1)];

/// Those that every deployment's Redis servers can suffer.
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
    (47, 0),
    (48, 0),
    (49, 0),
    (53, 0),
];

const FOR_STANDALONE: &[(u8, u8)] = &[(10, 0), (11, 0), (16, 0), (24, 0), (25, 0)];
/// 12.0: cut off and killed; 12.1: stopped until it is replaced; 16: the Sentinels are reported to.
const FOR_SENTINEL: &[(u8, u8)] = &[(12, 0), (12, 1), (16, 0)];
const FOR_CLUSTER: &[(u8, u8)] = &[(12, 0), (16, 0), (20, 0), (20, 1)];
/// 39 to 41: to the leader and to a follower; 42.0: a follower cut off from clients; 42.1: all members.
const FOR_ZOOKEEPER: &[(u8, u8)] = &[
    (39, 0),
    (39, 1),
    (40, 0),
    (40, 1),
    (41, 0),
    (41, 1),
    (42, 0),
    (42, 1),
    (43, 0),
    (44, 0),
    (45, 0),
    (46, 0),
];

/// Rows are dealt like cards, so that each comes up as often as any other.
pub(super) struct Deck {
    cards: Vec<(u8, u8)>,
    left: VecDeque<(u8, u8)>,
}

impl Deck {
    /// All that a lane of such a deployment can suffer, or what of it was chosen.
    pub(super) fn of(lane: Lane, sort: Sort, chosen: &[u8]) -> Self {
        let of_sort = match sort {
            Sort::Standalone => FOR_STANDALONE,
            Sort::Sentinel => FOR_SENTINEL,
            Sort::Cluster => FOR_CLUSTER,
            Sort::ZooKeeper => FOR_ZOOKEEPER,
        };
        let rows = match lane {
            Lane::Servers if sort == Sort::ZooKeeper => of_sort.to_vec(),
            Lane::Servers => [FOR_ALL_SERVERS, of_sort].concat(),
            Lane::Worker(_) if sort == Sort::ZooKeeper => FOR_WORKERS.to_vec(),
            Lane::Worker(_) => [FOR_WORKERS, FOR_WORKERS_ON_REDIS].concat(),
        };
        let is_chosen = |(row, _): &(u8, u8)| chosen.is_empty() || chosen.contains(row);
        let cards = rows.into_iter().filter(is_chosen).collect();
        Self { cards, left: VecDeque::new() }
    }

    fn deal(&mut self, random: &mut Rng) -> Option<(u8, u8)> {
        if self.left.is_empty() {
            self.left.extend(&self.cards);
            random.shuffle(self.left.make_contiguous());
        }
        self.left.pop_front()
    }

    pub(super) fn faults(mut self, random: &mut Rng, lane: Lane, length: Duration) -> Vec<Planned> {
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
    !matches!(row, 3 | 4 | 28..=36 | 50 | 54 | 55 | 57..=60)
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
        16 | 24 | 25 | 45 => 3,
        39..=41 => 2,
        _ => 0,
    })
}

/// For how many milliseconds a fault lasts before it is healed.
fn lasts(row: u8, variant: u8, random: &mut Rng) -> u64 {
    match (row, variant) {
        (1 | 51, _) | (56, 1) => random.u64(100..3_200),
        (5 | 52, _) | (56, 2) => random.u64(100..2_800),
        (3 | 4 | 7 | 26 | 29 | 30 | 32 | 33 | 34, _) | (6, 1 | 2) => random.u64(50..200),
        (6, _) => random.u64(300..1_000),
        (8, _) => random.u64(300..1_500),
        // Shorter than what Sentinels and nodes take for a death.
        (9 | 18 | 19, _) => random.u64(50..700),
        (12, _) => random.u64(100..600),
        (24 | 25, _) => random.u64(200..1_200),
        (20, _) => random.u64(5..200),
        (13 | 28 | 36 | 43 | 44, _) => 50,
        // Followers and leaders give each other up after three seconds; sessions end after two.
        (40 | 41, _) => random.u64(200..4_500),
        (42, _) => random.u64(200..3_000),
        (39 | 45, _) => random.u64(50..1_500),
        (46, _) => random.u64(500..2_000),
        // Until it is next.
        (50 | 56 | 58..=60, _) => random.u64(20..300),
        // Until the next result is wanted, and is made.
        (57, 0) => random.u64(450..800),
        (47, _) => random.u64(1_000..4_000),
        _ => random.u64(100..800),
    }
}
