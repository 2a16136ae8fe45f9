//! The shards of the store that are known not to answer.

use std::{collections::HashMap, sync::MutexGuard};

use lock_store::runtime::{LeaseInstant, Mutex};

#[derive(Debug, Default)]
pub(crate) struct Breaker(Mutex<Shards>);

#[derive(Debug, Default)]
pub(super) struct Shards {
    /// Since when each of them has not answered.
    pub(super) open: HashMap<u16, LeaseInstant>,
    /// When a probe of each of them was last answered. Anything sent to it before that shows nothing about its
    /// present state.
    pub(super) last_closed: HashMap<u16, LeaseInstant>,
}

impl Breaker {
    /// Whether any shard is known not to answer.
    pub(crate) fn is_open(&self) -> bool {
        !self.lock().open.is_empty()
    }

    pub(super) fn close(&self, shard: u16) {
        let mut shards = self.lock();
        shards.open.remove(&shard);
        shards.last_closed.insert(shard, LeaseInstant::now());
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Shards> {
        self.0.lock()
    }
}
