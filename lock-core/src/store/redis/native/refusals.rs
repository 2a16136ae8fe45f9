//! Which keys were not free a moment ago.

use std::{
    hash::BuildHasher,
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use foldhash::fast::RandomState;
use tokio::time::Instant;

use crate::types::LockKey;

/// For how long a plain try at a key that was not free is skipped: most such locks are contended, and
/// the script that follows a refusal does all that the try would.
const REMEMBERED: Duration = Duration::from_secs(1);
/// Keys that share a place only cost each other a script.
const PLACES: usize = 1_024;

#[derive(Debug)]
pub(crate) struct Refusals {
    started: Instant,
    hasher: RandomState,
    /// Microseconds since the start of the last refusal of a key in this place, and one; 0: none.
    last: Box<[AtomicU64]>,
}

impl Refusals {
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
        let last = self.last(key).load(Ordering::Relaxed);
        last > 0 && Duration::from_micros(self.now().saturating_sub(last)) < REMEMBERED
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_refusal_is_forgotten_after_a_moment() {
        let refusals = Refusals::new();
        let key = LockKey::try_from("k").expect("a key");
        assert!(!refusals.is_recent(&key));
        refusals.add(&key);
        assert!(refusals.is_recent(&key));
        tokio::time::advance(REMEMBERED).await;
        assert!(!refusals.is_recent(&key));
    }
}
