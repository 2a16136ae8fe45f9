//! The limit on acquisitions of this process that wait, for all keys in total.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

#[derive(Debug)]
pub(super) struct WaiterLimit {
    now: AtomicUsize,
    most: usize,
}

/// One waiter, until this is dropped.
#[derive(Debug)]
pub(super) struct WaiterSlot(Arc<WaiterLimit>);

impl WaiterLimit {
    pub(super) fn new(most: usize) -> Arc<Self> {
        Arc::new(Self { now: AtomicUsize::new(0), most })
    }

    /// Adds a waiter, or returns how many there are if it would be too many. A caller that has
    /// waited already counts too, and is not refused.
    pub(super) fn join(self: &Arc<Self>, has_waited: bool) -> Result<WaiterSlot, usize> {
        let most = if has_waited { usize::MAX } else { self.most };
        let join = |now: usize| (now < most).then_some(now.saturating_add(1));
        let joined = self.now.fetch_update(Ordering::AcqRel, Ordering::Acquire, join);
        joined.map(|_| WaiterSlot(Arc::clone(self)))
    }
}

impl Drop for WaiterSlot {
    fn drop(&mut self) {
        self.0.now.fetch_sub(1, Ordering::AcqRel);
    }
}
