//! The keys that acquisitions wait for most often.
//!
//! The Space-Saving algorithm (Metwally, Agrawal, El Abbadi: Efficient Computation of Frequent and Top-k
//! Elements in Data Streams, 2005) in a bounded number of entries. A key that was counted more often than
//! the total divided by the number of entries has an entry for certain.

use std::{collections::HashMap, time::Duration};

use lock_store::{LockKey, runtime::Mutex};
use tokio::time::Instant;

use crate::types::HotKey;

const CAPACITY: usize = 64;
/// How many keys are written down for other processes, and how often at most.
const RECORDED: usize = 16;
const RECORD_EVERY: Duration = Duration::from_secs(10);

#[derive(Debug, Default)]
pub(crate) struct HotKeys {
    entries: Mutex<Vec<Entry>>,
    /// When they are to be written down again.
    due: Mutex<Option<Instant>>,
}

#[derive(Debug)]
struct Entry {
    key: LockKey,
    count: u64,
    /// The count of the key that had this entry before: part of `count`.
    overcount: u64,
    waited: Duration,
}

impl HotKeys {
    /// Counts an acquisition that found the lock taken. Others cost nothing.
    pub(crate) fn count(&self, key: &LockKey, waited: Duration) {
        let mut entries = self.entries.lock();
        if let Some(entry) = entries.iter_mut().find(|entry| entry.key == *key) {
            entry.count += 1;
            entry.waited = entry.waited.saturating_add(waited);
            return;
        }
        let mut entry = Entry { key: key.clone(), count: 1, overcount: 0, waited };
        if entries.len() < CAPACITY {
            entries.push(entry);
            return;
        }
        let least = entries.iter_mut().min_by_key(|entry| entry.count);
        let least = least.expect("BUG: there are entries");
        // The new key may have been counted that often while it had no entry.
        (entry.count, entry.overcount) = (least.count + 1, least.count);
        *least = entry;
    }

    /// Whether they are to be written down now: at most every ten seconds.
    pub(crate) fn record_is_due(&self, now: Instant) -> bool {
        let mut due = self.due.lock();
        let is_due = due.is_none_or(|due| now >= due);
        if is_due {
            *due = Some(now + RECORD_EVERY);
        }
        is_due
    }

    /// For other processes: [`HotKey::parse_all`] reads it.
    pub(crate) fn text(&self) -> String {
        serde_json::to_string(&self.top(RECORDED)).expect("BUG: texts and numbers are JSON")
    }

    /// The most contended keys first.
    pub(crate) fn top(&self, limit: usize) -> Vec<HotKey> {
        let entries = self.entries.lock();
        let keys = entries.iter().map(|entry| HotKey {
            key: entry.key.to_string(),
            contended: entry.count,
            overcount: entry.overcount,
            waited: entry.waited,
        });
        let keys = keys.collect();
        drop(entries);
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
        // Both had entries from the beginning, and were never the least.
        assert_eq!((top[0].contended, top[0].overcount), (1_000, 0));
        assert_eq!((top[0].waited, top[1].contended), (second * 1_000, 500));
        assert_eq!(keys.top(1_000).len(), CAPACITY);
    }

    #[test]
    fn a_late_key_is_counted_with_its_error() {
        let keys = HotKeys::default();
        for number in 0..CAPACITY * 3 {
            keys.count(&key(&format!("before:{number}")), Duration::ZERO);
        }
        for _ in 0..100 {
            keys.count(&key("late"), Duration::ZERO);
        }
        let top = keys.top(1);
        assert_eq!((top[0].key.as_str(), top[0].contended - top[0].overcount), ("late", 100));
    }

    #[test]
    fn several_clients_add_up() {
        let hot = |key: &str, count| HotKey {
            key: key.to_owned(),
            contended: 10 * count,
            overcount: count,
            waited: Duration::from_secs(count),
        };
        let all = sum(vec![hot("a", 1), hot("b", 2), hot("a", 4)], 10);
        assert_eq!(all, [hot("a", 5), hot("b", 2)]);
    }
}
