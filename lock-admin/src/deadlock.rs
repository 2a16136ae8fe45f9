//! Deadlocks between the holders and waiters that a page shows.
//!
//! The page reads nothing more for them: a circle that leads through locks that it does not show may
//! be missing. The records of waits may be outdated, so a circle that is gone with the next reading
//! was none. A permit belongs to no scope, so a semaphore is in no circle.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use lock_core::Inspection;

/// How many circles are shown.
const MOST_CIRCLES: usize = 10;

/// Keys of which each is held by a caller that waits for the next, and the last by one that waits for
/// the first. The first is the least of them.
pub(crate) type Circle = Vec<String>;

/// Finds the circles between these locks. Each holder and each wait is followed once.
pub(crate) fn circles<'i>(
    locks: impl IntoIterator<Item = (&'i str, &'i Inspection)>,
) -> Vec<Circle> {
    let mut next = BTreeMap::<_, BTreeSet<_>>::new();
    for (key, lock) in locks {
        let holders = lock.holders.iter().map(|holder| (&holder.work, Some(key)));
        let waiters = lock.waiters.iter().map(|waiter| (&waiter.work, None));
        for (work, held) in holders.chain(waiters) {
            let Some(work) = work else { continue };
            let Some(waits_for) = &work.waits_for else { continue };
            for held in work.also_holds.iter().map(String::as_str).chain(held) {
                next.entry(held).or_default().insert(waits_for.as_str());
            }
        }
    }
    search(&next)
}

/// Searches in depth, without recursion: a path may be as long as the page has locks.
fn search(next: &BTreeMap<&str, BTreeSet<&str>>) -> Vec<Circle> {
    let after = |key| next.get(key).into_iter().flatten().copied();
    let (mut seen, mut circles) = (HashSet::new(), Vec::new());
    for first in next.keys().copied() {
        if !seen.insert(first) {
            continue;
        }
        let mut path = vec![(first, after(first))];
        let mut on_path = BTreeMap::from([(first, 0)]);
        while let Some((key, left)) = path.last_mut() {
            let Some(waited) = left.next() else {
                on_path.remove(*key);
                path.pop();
                continue;
            };
            if let Some(from) = on_path.get(waited) {
                circles.push(circle(path[*from..].iter().map(|(key, _)| *key)));
                if circles.len() == MOST_CIRCLES {
                    return circles;
                }
            } else if seen.insert(waited) {
                on_path.insert(waited, path.len());
                path.push((waited, after(waited)));
            }
        }
    }
    circles
}

fn circle<'k>(keys: impl Iterator<Item = &'k str>) -> Circle {
    let mut keys: Vec<_> = keys.map(str::to_owned).collect();
    let least = keys.iter().enumerate().min_by_key(|(_, key)| *key).map_or(0, |(at, _)| at);
    keys.rotate_left(least);
    keys
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(waits: &[(&'static str, &'static str)]) -> Vec<Circle> {
        let mut next = BTreeMap::<_, BTreeSet<_>>::new();
        for (held, waited) in waits {
            next.entry(*held).or_default().insert(*waited);
        }
        search(&next)
    }

    #[test]
    fn a_circle_is_found_once_from_its_least_key_on() {
        let waits = [("c", "a"), ("a", "b"), ("b", "c"), ("d", "a"), ("b", "e"), ("x", "x")];
        assert_eq!(found(&waits), [vec!["a", "b", "c"], vec!["x"]]);
    }

    #[test]
    fn waits_that_end_are_no_circle() {
        assert_eq!(found(&[("a", "b"), ("b", "c"), ("a", "c"), ("d", "b")]), [[""; 0]; 0]);
    }

    #[test]
    fn there_is_a_bound() {
        let keys: Vec<_> = (0..100).map(|number| number.to_string()).collect();
        let next = keys.iter().map(|key| (key.as_str(), BTreeSet::from([key.as_str()]))).collect();
        assert_eq!(search(&next).len(), MOST_CIRCLES);
    }
}
