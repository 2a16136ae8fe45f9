//! The state that the holds, waiters and tasks of one client share.

use std::{
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use lock_store::{Holds, LockStore, Owners, StoreAdmin, StoreError, Unsupported, runtime::Tasks};
use tokio::sync::{Notify, watch};
use tokio_util::sync::CancellationToken;

use super::{
    Gate, Permit, lease::Lease, local_queues::LocalQueues, newest::NewestCallers,
    reconcile_queue::ReconcileQueue, renewal::Schedule, silent_shards::Breaker,
};
use crate::{
    report::{EventLog, LockOrder, Statistics, WorkLog},
    types::{AcquireError, ClientConfig},
};

#[derive(Debug)]
pub(crate) struct ClientInner {
    pub(crate) owners: Owners,
    pub(crate) store: Arc<dyn LockStore>,
    pub(crate) settings: ClientConfig,
    pub(crate) gate: Arc<Gate>,
    /// Of the callers that want one result under a key, one contends for its lock: the others wait here.
    pub(crate) flights: Arc<Gate>,
    pub(crate) breaker: Breaker,
    pub(crate) lock_order: LockOrder,
    pub(crate) events: EventLog,
    pub(crate) statistics: Statistics,
    pub(crate) tasks: Arc<Tasks>,
    pub(crate) schedule: Arc<Schedule>,
    pub(crate) queue: Arc<ReconcileQueue>,
    pub(crate) work_log: Arc<WorkLog>,
    pub(crate) newest_callers: Arc<NewestCallers>,
    pub(super) local_queues: Arc<LocalQueues>,
    /// Places at the gate: locks that are acquired, held or not yet released.
    pub(crate) holds: AtomicUsize,
    pub(crate) hold_ended: Notify,
    /// True once nothing more is granted.
    pub(crate) draining: watch::Sender<bool>,
    /// Locks of this process alone, for services that continue without the store.
    pub(crate) local: OnceLock<Arc<ClientInner>>,
    /// It learns at once of locks that are taken away.
    pub(super) watches_for_taken: AtomicBool,
    /// Cancelled when the client is dropped.
    pub(super) ended: CancellationToken,
}

impl ClientInner {
    /// Without the tasks that work for it: see [`start`](super::start).
    pub(super) fn new(
        owners: Owners,
        store: Arc<dyn LockStore>,
        settings: ClientConfig,
        tasks: Arc<Tasks>,
    ) -> Self {
        let gate = || Gate::new(settings.max_waiters, settings.max_waiters_total);
        let (gate, flights) = (gate(), gate());
        let (schedule, work_log) =
            (Arc::new(Schedule::new(store.session_lease().is_some())), Arc::<WorkLog>::default());
        let gates = [Arc::clone(&gate), Arc::clone(&flights)];
        let local_queues = LocalQueues::new(gates, Arc::clone(&schedule), Arc::clone(&work_log));
        Self {
            owners,
            store,
            gate,
            flights,
            breaker: Breaker::default(),
            lock_order: LockOrder::default(),
            events: EventLog::default(),
            statistics: Statistics::default(),
            settings,
            tasks,
            schedule,
            queue: Arc::default(),
            work_log,
            newest_callers: Arc::default(),
            local_queues: Arc::new(local_queues),
            holds: AtomicUsize::new(0),
            hold_ended: Notify::new(),
            draining: watch::Sender::new(false),
            local: OnceLock::new(),
            watches_for_taken: AtomicBool::new(false),
            ended: CancellationToken::new(),
        }
    }

    /// The operator's side of the store.
    pub(crate) fn admin(&self) -> Result<&dyn StoreAdmin, StoreError> {
        self.tasks.attach_runtime()?;
        let unsupported = || Unsupported::new("inspecting locks or taking them away");
        Ok(self.store.admin().ok_or_else(unsupported)?)
    }

    /// Refuses an upgrade or downgrade before anything is changed for it.
    pub(crate) fn check_mode_changes(&self) -> Result<(), StoreError> {
        self.tasks.attach_runtime()?;
        let supported = self.store.supports_mode_changes();
        if supported { Ok(()) } else { Err(Unsupported::new("upgrades and downgrades").into()) }
    }

    /// Fails once the client is shut down.
    pub(crate) fn check_draining(&self) -> Result<(), AcquireError> {
        if *self.draining.borrow() { Err(AcquireError::Draining) } else { Ok(()) }
    }

    /// Returns the outcome of an acquisition, unless the client is shut down first.
    pub(crate) async fn unless_draining<T>(
        &self,
        acquired: impl Future<Output = Result<T, AcquireError>>,
    ) -> Result<T, AcquireError> {
        let mut draining = self.draining.subscribe();
        tokio::select! {
            // The shutdown is checked first: a grant that arrives with it is dropped, and its
            // attempt releases it. Returned to the caller, it would be a hold that the shutdown
            // does not wait for.
            biased;
            _ = draining.wait_for(|draining| *draining) => Err(AcquireError::Draining),
            acquired = acquired => acquired,
        }
    }

    /// Queues this lease so that the store is brought down to the counts that its holds want.
    pub(crate) fn reconcile(&self, lease: Arc<Lease>) {
        self.queue.push(lease);
    }

    /// Gives up a place at the gate; a lock ends with it.
    pub(crate) fn give_back(&self, permit: Option<Permit>) {
        if permit.is_some() {
            // Dropped before the count falls: a shutdown that sees zero finds no permit left.
            drop(permit);
            self.holds.fetch_sub(1, Ordering::AcqRel);
            self.hold_ended.notify_waiters();
        }
    }

    /// Beside Redisson, a reader's watchdog shortens the shared lock to its own timeout: a read can
    /// be relied upon for no longer than that.
    pub(crate) fn effective_lease(&self, lease: Duration, remote: Holds) -> Duration {
        match self.settings.redisson_watchdog {
            Some(watchdog) if remote.write == 0 => lease.min(watchdog),
            _ => lease,
        }
    }
}

impl Drop for ClientInner {
    fn drop(&mut self) {
        self.queue.close();
        self.schedule.close();
        self.ended.cancel();
    }
}
