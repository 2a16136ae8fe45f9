//! The queue of leases that are to be reconciled, and the place of each in it.

use std::{
    collections::VecDeque,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use lock_store::{
    Unavailable,
    runtime::{Backoff, LeaseInstant, Mutex},
};
use tokio::sync::Notify;

use super::lease::Lease;

const MAX_BACKOFF: Duration = Duration::from_millis(250);

pub(super) const FIRST_RETRY: Duration = Duration::from_millis(10);

/// The most releases that have failed and are retried: with more, the client acquires nothing. Each keeps about a kilobyte
/// for a lease and [`RELEASE_GRACE`]: without a bound, callers that try all the time would fill the memory
/// while the store does not answer.
const MOST_FAILED: usize = 10_000;

/// Leases of which the store may have more than their holds want. None is ever dropped. Their
/// number is bounded because the client acquires nothing while too many cannot be released.
#[derive(Debug, Default)]
pub(crate) struct ReconcileQueue {
    leases: Mutex<VecDeque<Arc<Lease>>>,
    pub(super) pushed: Notify,
    /// How many releases have failed and are retried.
    pub(super) failed: AtomicUsize,
    closed: AtomicBool,
    hurry: AtomicBool,
}

impl ReconcileQueue {
    pub(crate) fn push(&self, lease: Arc<Lease>) {
        self.leases.lock().push_back(lease);
        // After the push, and kept as a permit if the task is not waiting: a lease that arrives between
        // the task's last read of the queue and its wait would otherwise stay until the next push.
        self.pushed.notify_one();
    }

    /// Fails while too many releases have failed.
    pub(crate) fn check_failed(&self) -> Result<(), Unavailable> {
        if self.failed.load(Ordering::Relaxed) < MOST_FAILED {
            return Ok(());
        }
        let why =
            format!("{MOST_FAILED} releases got no reply and are being retried: nothing was sent");
        Err(Unavailable::unsent(why).silence())
    }

    /// Lets the task end when it has nothing left to do.
    pub(crate) fn close(&self) {
        self.closed.store(true, Ordering::Release);
        self.pushed.notify_one();
    }

    /// The client is shut down: nothing is tried for longer than its lease.
    pub(crate) fn hurry(&self) {
        self.hurry.store(true, Ordering::Release);
    }

    pub(super) fn in_a_hurry(&self) -> bool {
        self.hurry.load(Ordering::Acquire)
    }

    pub(super) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    pub(super) fn pop(&self) -> Option<Arc<Lease>> {
        self.leases.lock().pop_front()
    }
}

/// A release in flight. If the task panics or is dropped, the lease returns to the queue: otherwise
/// it would stay in the store until it expires.
pub(super) struct PendingRelease {
    queue: Arc<ReconcileQueue>,
    pub(super) lease: Option<Arc<Lease>>,
    retry: Backoff,
}

impl PendingRelease {
    pub(super) fn new(queue: &Arc<ReconcileQueue>, lease: Arc<Lease>) -> Self {
        Self { queue: Arc::clone(queue), lease: Some(lease), retry: Backoff::new(FIRST_RETRY) }
    }

    pub(super) fn lease(&self) -> Option<&Arc<Lease>> {
        self.lease.as_ref()
    }

    /// The store did not answer the command that was sent at `sent`. Returns whether nothing of the
    /// lease can be left in the store by now.
    pub(super) fn failed(&self, lease: &Lease, why: Unavailable, sent: LeaseInstant) -> bool {
        if why.is_silent() {
            lease.client.open_breaker(&lease.key, sent);
        }
        let is_over = {
            let mut state = lease.state();
            state.last_failure = Some(Box::new(why));
            state.write_off(LeaseInstant::now(), self.queue.in_a_hurry())
        };
        lease.announce();
        is_over
    }

    pub(super) async fn rest(mut self) -> Self {
        tokio::time::sleep(self.retry.next(MAX_BACKOFF)).await;
        self
    }
}

impl Drop for PendingRelease {
    fn drop(&mut self) {
        if let Some(lease) = self.lease.take() {
            self.queue.push(lease);
        }
    }
}
