//! Remembers keys for a moment: those that were not free, or those for which clients of another
//! library wait.

use std::{
    hash::BuildHasher,
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use foldhash::fast::RandomState;
use lock_store::LockKey;
use tokio::time::Instant;

/// For how long it is remembered.
const REMEMBERED: Duration = Duration::from_secs(1);
/// Keys that share a place are taken for each other, so an entry is only a hint.
const PLACES: usize = 1_024;

#[derive(Debug)]
pub(crate) struct RecentKeys {
    started: Instant,
    hasher: RandomState,
    /// Microseconds from the start to the last sight of a key in this place, and one; 0: none.
    last: Box<[AtomicU64]>,
}

impl RecentKeys {
    pub(crate) fn new() -> Self {
        let last = std::iter::repeat_with(AtomicU64::default).take(PLACES).collect();
        Self { started: Instant::now(), hasher: RandomState::default(), last }
    }

    fn now(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_micros()).unwrap_or(u64::MAX).saturating_add(1)
    }

    fn last(&self, key: &LockKey) -> &AtomicU64 {
        let hash = usize::try_from(self.hasher.hash_one(key) % PLACES as u64).unwrap_or(0);
        &self.last[hash]
    }

    pub(crate) fn add(&self, key: &LockKey) {
        self.last(key).store(self.now(), Ordering::Relaxed);
    }

    pub(crate) fn is_recent(&self, key: &LockKey) -> bool {
        self.age(key).is_some()
    }

    /// How long ago the key was added, if that is remembered.
    pub(crate) fn age(&self, key: &LockKey) -> Option<Duration> {
        let last = Some(self.last(key).load(Ordering::Relaxed)).filter(|last| *last > 0)?;
        let age = Duration::from_micros(self.now().saturating_sub(last));
        (age < REMEMBERED).then_some(age)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_key_is_forgotten_after_a_moment() {
        let keys = RecentKeys::new();
        let key = LockKey::try_from("k").expect("a key");
        assert!(!keys.is_recent(&key));
        keys.add(&key);
        assert!(keys.is_recent(&key));
        tokio::time::advance(REMEMBERED).await;
        assert!(!keys.is_recent(&key));
    }
}
