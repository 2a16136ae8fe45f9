//! The keys that acquisitions wait for most often.
//!
//! The Space-Saving algorithm (Metwally, Agrawal, El Abbadi: Efficient Computation of Frequent and Top-k
//! Elements in Data Streams, 2005) in a bounded number of places. A key that was counted more often than
//! the total divided by the number of places has a place for certain.

use std::{collections::HashMap, time::Duration};

use tokio::time::Instant;

use crate::{
    runtime::Mutex,
    types::{HotKey, LockKey},
};

const PLACES: usize = 64;
/// How many keys are written down for other processes, and how often at most.
const RECORDED: usize = 16;
const RECORD_EVERY: Duration = Duration::from_secs(10);

#[derive(Debug, Default)]
pub(super) struct HotKeys {
    places: Mutex<Vec<Place>>,
    /// When they are to be written down again.
    due: Mutex<Option<Instant>>,
}

#[derive(Debug)]
struct Place {
    key: LockKey,
    count: u64,
    /// What the key that had this place before was counted: part of `count`.
    overcount: u64,
    waited: Duration,
}

impl HotKeys {
    /// Counts an acquisition that found the lock taken. Others cost nothing.
    pub(super) fn count(&self, key: &LockKey, waited: Duration) {
        let mut places = self.places.lock();
        if let Some(place) = places.iter_mut().find(|place| place.key == *key) {
            place.count += 1;
            place.waited = place.waited.saturating_add(waited);
            return;
        }
        let mut place = Place { key: key.clone(), count: 1, overcount: 0, waited };
        if places.len() < PLACES {
            places.push(place);
            return;
        }
        let least = places.iter_mut().min_by_key(|place| place.count);
        let least = least.expect("BUG: there are places");
        // The new key may have been counted that often while it had no place.
        (place.count, place.overcount) = (least.count + 1, least.count);
        *least = place;
    }

    /// Whether they are to be written down now: at most every ten seconds.
    pub(super) fn record_is_due(&self) -> bool {
        let (mut due, now) = (self.due.lock(), Instant::now());
        let is_due = due.is_none_or(|due| now >= due);
        if is_due {
            *due = Some(now + RECORD_EVERY);
        }
        is_due
    }

    /// For other processes: [`HotKey::parse_all`] reads it.
    pub(super) fn text(&self) -> String {
        serde_json::to_string(&self.top(RECORDED)).expect("BUG: texts and numbers are JSON")
    }

    /// The most contended keys first.
    pub(super) fn top(&self, limit: usize) -> Vec<HotKey> {
        let places = self.places.lock();
        let keys = places.iter().map(|place| HotKey {
            key: place.key.to_string(),
            contended: place.count,
            overcount: place.overcount,
            waited: place.waited,
        });
        let keys = keys.collect();
        drop(places);
        sorted(keys, limit)
    }
}

/// Adds the hot keys of several clients up, the most contended first.
pub(crate) fn sum(all: Vec<HotKey>, limit: usize) -> Vec<HotKey> {
    let mut by_key: HashMap<String, HotKey> = HashMap::new();
    for hot in all {
        let sum = by_key.entry(hot.key.clone()).or_insert_with(|| HotKey {
            contended: 0,
            overcount: 0,
            waited: Duration::ZERO,
            ..hot.clone()
        });
        sum.contended = sum.contended.saturating_add(hot.contended);
        sum.overcount = sum.overcount.saturating_add(hot.overcount);
        sum.waited = sum.waited.saturating_add(hot.waited);
    }
    sorted(by_key.into_values().collect(), limit)
}

fn sorted(mut keys: Vec<HotKey>, limit: usize) -> Vec<HotKey> {
    keys.sort_by(|one, other| {
        other.contended.cmp(&one.contended).then_with(|| one.key.cmp(&other.key))
    });
    keys.truncate(limit);
    keys
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(name: &str) -> LockKey {
        LockKey::try_from(name).expect("a key")
    }

    #[test]
    fn a_key_that_is_counted_often_is_found_among_many() {
        let (keys, second) = (HotKeys::default(), Duration::from_secs(1));
        for number in 0..10_000 {
            if number % 10 == 0 {
                keys.count(&key("hot"), second);
            }
            if number % 20 == 0 {
                keys.count(&key("warm"), Duration::ZERO);
            }
            keys.count(&key(&format!("once:{number}")), Duration::ZERO);
        }
        let top = keys.top(2);
        assert_eq!((top[0].key.as_str(), top[1].key.as_str()), ("hot", "warm"));
        // Both had places from the beginning, and were never the least.
        assert_eq!((top[0].contended, top[0].overcount), (1_000, 0));
        assert_eq!((top[0].waited, top[1].contended), (second * 1_000, 500));
        assert_eq!(keys.top(1_000).len(), PLACES);
    }

    #[test]
    fn a_late_key_is_counted_with_its_error() {
        let keys = HotKeys::default();
        for number in 0..PLACES * 3 {
            keys.count(&key(&format!("before:{number}")), Duration::ZERO);
        }
        for _ in 0..100 {
            keys.count(&key("late"), Duration::ZERO);
        }
        let top = keys.top(1);
        assert_eq!((top[0].key.as_str(), top[0].contended - top[0].overcount), ("late", 100));
    }
}
