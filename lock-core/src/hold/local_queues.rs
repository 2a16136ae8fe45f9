//! Writes down how many callers wait for a key in this process' queue. The store knows only the first
//! of them, or none if the holder is here too.
//!
//! The count is in the record of one owner that this process has at the key: a holder, or the waiter at
//! the store. Until a caller has waited for long nothing is counted. From then on a record whose count has
//! changed is sent again, at most once a second.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
    time::Duration,
};

use lock_store::{LockKey, OwnerId, runtime::Mutex};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::{Gate, renewal::Schedule};
use crate::report::WorkLog;

const PERIOD: Duration = Duration::from_secs(1);

/// The queues of this process in which a caller has waited for long.
#[derive(Debug)]
pub(crate) struct LocalQueues {
    gates: [Arc<Gate>; 2],
    schedule: Arc<Schedule>,
    work_log: Arc<WorkLog>,
    queues: Mutex<HashMap<LockKey, LocalQueue>>,
    begun: Notify,
}

#[derive(Debug, Default)]
struct LocalQueue {
    /// At least one, until it is removed.
    long_waits: usize,
    /// The owner whose record has the count.
    recorder: Option<OwnerId>,
    /// The count in it.
    count: usize,
}

impl LocalQueues {
    pub(super) fn new(
        gates: [Arc<Gate>; 2],
        schedule: Arc<Schedule>,
        work_log: Arc<WorkLog>,
    ) -> Self {
        Self { gates, schedule, work_log, queues: Mutex::default(), begun: Notify::new() }
    }

    /// A caller in the queue of `key` has waited for long.
    pub(super) fn begin_wait(&self, key: &LockKey) {
        self.queues.lock().entry(key.clone()).or_default().long_waits += 1;
        self.begun.notify_one();
    }

    /// It waits there no more.
    pub(super) fn end_wait(&self, key: &LockKey) {
        let recorder = {
            let mut queues = self.queues.lock();
            let Some(queue) = queues.get_mut(key) else { return };
            queue.long_waits -= 1;
            if queue.long_waits > 0 {
                return;
            }
            queues.remove(key).and_then(|queue| queue.recorder)
        };
        if let Some(recorder) = recorder {
            self.work_log.changed(&recorder);
        }
    }

    /// The count for the record of `owner`: zero unless it is the one that has it.
    pub(super) fn count(&self, key: &LockKey, owner: &OwnerId) -> usize {
        let queues = self.queues.lock();
        let queue = queues.get(key).filter(|queue| queue.recorder.as_ref() == Some(owner));
        queue.map_or(0, |queue| queue.count)
    }

    /// Counts, and has the records sent again whose counts have changed.
    fn update(&self) {
        let keys: Vec<_> = self.queues.lock().keys().cloned().collect();
        let mut unrecorded = HashSet::new();
        for key in keys {
            match self.recount(&key) {
                Some((recorder, _)) if !self.work_log.has(&recorder) => {
                    // It was released, or waits no more: another owner is to have the count.
                    unrecorded.insert(key);
                }
                Some((recorder, true)) => self.work_log.changed(&recorder),
                Some((_, false)) => {}
                None => _ = unrecorded.insert(key),
            }
        }
        if unrecorded.is_empty() {
            return;
        }
        for (key, owner) in self.work_log.owners_at(&unrecorded) {
            if unrecorded.remove(&key) {
                self.set_recorder(&key, &owner);
                self.work_log.changed(&owner);
            }
        }
        // A hold that was too young for a record.
        for lease in self.schedule.leases_at(&unrecorded) {
            if unrecorded.remove(&lease.key) {
                self.set_recorder(&lease.key, &lease.owner);
                lease.record_work();
            }
        }
    }

    /// The owner that has the count of a key, and whether the count has changed.
    fn recount(&self, key: &LockKey) -> Option<(OwnerId, bool)> {
        let count = self.gates.iter().map(|gate| gate.waiting_for(key)).sum();
        let mut queues = self.queues.lock();
        let queue = queues.get_mut(key)?;
        let changed = std::mem::replace(&mut queue.count, count) != count;
        Some((queue.recorder.clone()?, changed))
    }

    fn set_recorder(&self, key: &LockKey, owner: &OwnerId) {
        // The last waiter may have left meanwhile.
        if let Some(queue) = self.queues.lock().get_mut(key) {
            queue.recorder = Some(owner.clone());
        }
    }
}

/// Keeps the counts up to date: one task per client, idle while no caller waits for long.
pub(super) async fn work(queues: Arc<LocalQueues>, ended: CancellationToken) {
    let updates = async {
        loop {
            if queues.queues.lock().is_empty() {
                queues.begun.notified().await;
            }
            queues.update();
            tokio::time::sleep(PERIOD).await;
        }
    };
    ended.run_until_cancelled(updates).await;
}
