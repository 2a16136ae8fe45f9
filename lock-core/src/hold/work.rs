//! Describes the work of holds and waits for operators: see [`WorkInfo`].

use std::{
    sync::{Arc, Weak, atomic::Ordering::Relaxed},
    time::SystemTime,
};

use lock_store::{Holder, Kind, LockKey, OwnerId, runtime::LeaseInstant};
use tokio::time::Instant;

use super::{
    ClientInner, Hold, Lease, LockRequest, ScopeHolds, Stage, WaitDeadline,
    local_queues::LocalQueues,
};
use crate::{
    report::{Describe, WorkSource},
    types::{CallSite, LockName, MOST_KEYS, WorkInfo},
};

/// An acquisition that has waited for long.
#[derive(Debug)]
struct Wait {
    key: LockKey,
    name: Option<LockName>,
    site: CallSite,
    scope: Option<Arc<ScopeHolds>>,
    since: SystemTime,
    /// The owner that waits at the store; a waiter in this process' own queue has none yet.
    owner: Option<OwnerId>,
    queues: Arc<LocalQueues>,
}

/// A wait that is written down until this is dropped.
#[derive(Debug)]
pub(crate) struct WaitRecord {
    client: Arc<ClientInner>,
    wait: Arc<Wait>,
}

impl Hold {
    fn work(&self) -> WorkInfo {
        let held = LeaseInstant::now().since(self.granted_at);
        let since = SystemTime::now().checked_sub(held);
        let scope = self.scope.as_ref().and_then(Weak::upgrade);
        let own = Some(&self.lease.owner);
        let work = describe(self.name.as_ref(), &self.site, scope.as_deref(), since, own);
        WorkInfo { listens: Some(self.listeners.load(Relaxed) > 0), ..work }
    }
}

impl Describe for Wait {
    fn work(&self) -> Option<WorkInfo> {
        let (scope, since) = (self.scope.as_deref(), Some(self.since));
        let work = describe(self.name.as_ref(), &self.site, scope, since, None);
        let local_waiters = self.owner.as_ref().map(|owner| self.queues.count(&self.key, owner));
        Some(WorkInfo {
            waits_for: Some(self.key.to_string()),
            waits_since: since,
            local_waiters: local_waiters.unwrap_or_default(),
            ..work
        })
    }
}

impl Describe for Lease {
    /// That of its first hold.
    fn work(&self) -> Option<WorkInfo> {
        let first = {
            let state = self.state();
            if state.stage != Stage::Held {
                return None;
            }
            state.holds.iter().next()
        };
        let local_waiters = self.client.local_queues.count(&self.key, &self.owner);
        first.map(|hold| WorkInfo { local_waiters, ..hold.work() })
    }
}

fn describe(
    name: Option<&LockName>,
    site: &CallSite,
    scope: Option<&ScopeHolds>,
    since: Option<SystemTime>,
    own: Option<&OwnerId>,
) -> WorkInfo {
    let name = name.map(ToString::to_string);
    let site = cfg!(debug_assertions).then(|| site.to_string());
    let mut work = WorkInfo {
        // The place of a layer or an attribute is its name.
        site: site.filter(|site| Some(site) != name.as_ref()),
        name,
        since,
        ..WorkInfo::default()
    };
    if let Some(scope) = scope {
        if let Some(origin) = scope.origin() {
            origin.describe(&mut work);
        }
        let others = scope.live(|_| true).into_iter().map(|hold| Arc::clone(&hold.lease));
        let others = others.filter(|lease| own.is_none_or(|own| lease.owner != *own));
        work.also_holds = others.map(|lease| lease.key.to_string()).take(MOST_KEYS).collect();
        if let Some((key, since)) = scope.waits_for() {
            (work.waits_for, work.waits_since) = (Some(key.to_string()), Some(since));
        }
    }
    work
}

impl ClientInner {
    /// Counts an acquisition that found the lock taken, whether it was granted in the end or not.
    pub(super) fn count_contended(&self, request: &LockRequest, since: Instant) {
        let now = Instant::now();
        self.statistics.hot_keys.count(&request.key, now.saturating_duration_since(since));
        self.record_hot_keys(request.kind, &request.key, now);
    }

    /// Writes down which keys are hot here, so that a page of any process can add them up. Nothing is
    /// written for a client whose acquisitions never wait.
    fn record_hot_keys(&self, kind: Kind, key: &LockKey, now: Instant) {
        if self.settings.record_work && self.statistics.hot_keys.record_is_due(now) {
            let source = WorkSource::Client(Arc::clone(&self.statistics.hot_keys));
            self.work_log.put(Holder::new(kind, key.clone(), self.owners.whole()), source);
        }
    }
}

impl Lease {
    /// Records the work under this lease, from now on until it ends.
    pub(crate) fn record_work(self: &Arc<Self>) {
        if !self.client.settings.record_work {
            return;
        }
        self.state().recorded = true;
        // Also if it was recorded before: on its way to the next holder it had no work, and its record may
        // have been removed.
        let this: Weak<Self> = Arc::downgrade(self);
        self.client.work_log.put(self.holder(), WorkSource::Hold(this));
    }
}

impl Hold {
    /// Records its work, and renews the records of the scope's other holds.
    pub(crate) fn record_work(&self) {
        self.lease.record_work();
        let Some(scope) = self.scope.as_ref().and_then(Weak::upgrade) else { return };
        for other in scope.live(|_| true) {
            other.lease.client.work_log.changed(&other.lease.owner);
        }
    }
}

impl WaitRecord {
    /// Writes down that this request has waited for long, at the store with `lease` or in this process'
    /// own queue. `None` if there is nothing to write down.
    pub(crate) fn begin(
        client: &Arc<ClientInner>,
        request: &LockRequest,
        wait_deadline: &WaitDeadline,
        lease: Option<&Lease>,
    ) -> Option<Self> {
        if !client.settings.record_work {
            return None;
        }
        let wait = Arc::new(Wait {
            key: request.key.clone(),
            name: request.options.name.clone(),
            site: request.options.site.clone(),
            scope: request.scope.clone(),
            since: wait_deadline.started_at_wall_clock(),
            owner: lease.map(|lease| lease.owner.clone()),
            queues: Arc::clone(&client.local_queues),
        });
        if let Some(scope) = &wait.scope {
            scope.begin_wait(&wait.key, wait.since);
            for hold in scope.live(|_| true) {
                // The holds of a scope that waits are recorded even if they are young: without them
                // an operator, or the search for deadlocks, would not see which locks the waiter
                // keeps from others.
                hold.lease.record_work();
            }
        }
        match lease {
            Some(lease) => {
                let wait: Arc<Wait> = Arc::clone(&wait);
                client.work_log.put(lease.holder(), WorkSource::Wait(wait));
            }
            None => client.local_queues.begin_wait(&wait.key),
        }
        Some(Self { client: Arc::clone(client), wait })
    }

    pub(crate) fn since(&self) -> SystemTime {
        self.wait.since
    }
}

impl Drop for WaitRecord {
    fn drop(&mut self) {
        let Wait { key, scope, owner, queues, .. } = &*self.wait;
        if let Some(scope) = scope {
            scope.end_wait(key);
            for hold in scope.live(|_| true) {
                hold.lease.client.work_log.changed(&hold.lease.owner);
            }
        }
        match owner {
            Some(owner) => self.client.work_log.end_wait(owner),
            None => queues.end_wait(key),
        }
    }
}
