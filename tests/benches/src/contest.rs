//! What is seen in the turns that several had at one key.

use lock_tests::figures::{jain, percentile};

use crate::{clock::Nanos, turns::Turn};

/// All turns at one key, of all contenders.
#[derive(Debug)]
pub(crate) struct Contest {
    pub(crate) turns: usize,
    /// From the end of a turn to the next one: the median.
    pub(crate) handed_on: Nanos,
    /// The same, where the next turn is that of another process; none where one had all turns.
    pub(crate) handed_over: Option<Nanos>,
    pub(crate) longest_wait: Nanos,
    /// How evenly tasks had turns, and processes.
    pub(crate) fair_to_tasks: f64,
    pub(crate) fair_to_processes: f64,
    /// The share of turns that went to the task that had the one before.
    pub(crate) kept: f64,
    /// Pairs of turns that overlap.
    pub(crate) overlaps: usize,
}

impl Contest {
    /// `tasks`: in each process.
    pub(crate) fn of(processes: &[Vec<Turn>], tasks: usize) -> Self {
        let turns = processes.iter().enumerate();
        let mut turns: Vec<(usize, Turn)> = turns
            .flat_map(|(process, turns)| turns.iter().map(move |turn| (process, *turn)))
            .collect();
        turns.sort_by_key(|(_, turn)| turn.taken);
        let (mut on, mut over, mut kept, mut overlaps) = (Vec::new(), Vec::new(), 0, 0);
        for pair in turns.windows(2) {
            let [(before, earlier), (after, later)] = pair else { continue };
            overlaps += usize::from(later.taken < earlier.ended);
            let gap = later.taken.saturating_sub(earlier.ended);
            on.push(gap);
            if before != after {
                over.push(gap);
            }
            kept += usize::from((before, earlier.task) == (after, later.task));
        }
        let mut of_task = vec![0; tasks * processes.len()];
        for (process, turn) in &turns {
            of_task[process * tasks + turn.task] += 1;
        }
        let of_process: Vec<u64> = processes.iter().map(|turns| turns.len() as u64).collect();
        let waits = turns.iter().map(|(_, turn)| turn.taken - turn.requested);
        Self {
            turns: turns.len(),
            longest_wait: waits.max().unwrap_or(0),
            handed_on: percentile(&on, 50),
            handed_over: (!over.is_empty()).then(|| percentile(&over, 50)),
            fair_to_tasks: jain(&of_task),
            fair_to_processes: jain(&of_process),
            kept: kept as f64 / on.len().max(1) as f64,
            overlaps,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turn(task: usize, requested: Nanos, taken: Nanos, ended: Nanos) -> Turn {
        Turn { task, requested, taken, ended }
    }

    #[test]
    fn turns_are_looked_at_in_their_order_over_all_processes() {
        let first = vec![turn(0, 0, 10, 20), turn(0, 21, 25, 30), turn(1, 0, 100, 110)];
        let second = vec![turn(1, 5, 37, 50)];
        let contest = Contest::of(&[first, second], 2);
        assert_eq!((contest.turns, contest.overlaps, contest.longest_wait), (4, 0, 100));
        // 20 to 25, 30 to 37, 50 to 100.
        assert_eq!((contest.handed_on, contest.handed_over), (7, Some(7)));
        assert!((contest.kept - 1.0 / 3.0).abs() < 1e-12);
        assert!((contest.fair_to_processes - 0.8).abs() < 1e-12);
        assert!((contest.fair_to_tasks - 16.0 / 24.0).abs() < 1e-12);
    }

    #[test]
    fn two_at_once_are_seen() {
        let contest = Contest::of(&[vec![turn(0, 0, 10, 20)], vec![turn(0, 0, 15, 30)]], 1);
        assert_eq!((contest.overlaps, contest.handed_on), (1, 0));
    }

    #[test]
    fn a_process_that_keeps_it_hands_nothing_over() {
        let contest = Contest::of(&[vec![turn(0, 0, 10, 20), turn(0, 21, 25, 30)], vec![]], 1);
        assert_eq!((contest.handed_on, contest.handed_over), (5, None));
        assert_eq!((contest.kept, contest.fair_to_processes), (1.0, 0.5));
    }
}
