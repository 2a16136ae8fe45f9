//! Writes down in the store what long holds and long waits are for: see [`WorkInfo`].
//!
//! A hold is written down when it is renewed for the first time, a wait when it has become long, together
//! with the holds of its scope. So nothing is sent for most locks. What is sent is apart from the
//! commands of locks: no lock waits for it or relies on it.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Weak},
    time::{Duration, SystemTime},
};

use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::{
    ClientInner, Hold, Lease, LockRequest, ScopeHolds, Stage, WaitDeadline, hot_keys::HotKeys,
};
use crate::{
    runtime::{Backoff, LeaseInstant, Mutex, lease_clock},
    store::{Holder, LockStore, WorkRecord},
    types::{CallSite, Kind, LockKey, LockName, MOST_KEYS, OwnerId, StoreError, WorkInfo},
};

/// Records of about the same time are sent together.
const GATHER: Duration = Duration::from_millis(20);
/// How many are sent together.
const BATCH: usize = 128;
/// How long the store keeps a record, in case it is not removed, and when it is written anew.
const KEEP: Duration = Duration::from_secs(300);
const REFRESH: Duration = Duration::from_secs(120);
/// The first pause after the store has refused a record or did not answer, and the longest.
const RETRY: Duration = Duration::from_secs(1);
const LONGEST_RETRY: Duration = Duration::from_secs(60);

/// What of this client is written down, or is to be.
#[derive(Debug, Default)]
pub(crate) struct WorkLog {
    records: Mutex<Records>,
    due: Notify,
}

#[derive(Debug, Default)]
struct Records {
    all: HashMap<OwnerId, Record>,
    /// Those that may have to be sent.
    changed: VecDeque<OwnerId>,
    /// Those that the store has, in the order in which they were sent.
    sent: VecDeque<(LeaseInstant, OwnerId)>,
}

#[derive(Debug)]
struct Record {
    holder: Holder,
    subject: Subject,
    /// The text that the store has, or may have.
    sent: Option<(String, LeaseInstant)>,
}

#[derive(Debug)]
enum Subject {
    Hold(Weak<Lease>),
    Wait(Arc<Wait>),
    /// The client as a whole: its hot keys.
    Client(Arc<HotKeys>),
    /// It is to be removed.
    Over,
}

/// An acquisition that has waited for long.
#[derive(Debug)]
struct Wait {
    key: LockKey,
    name: Option<LockName>,
    site: CallSite,
    scope: Option<Arc<ScopeHolds>>,
    since: SystemTime,
}

/// A wait that is written down until this is dropped.
#[derive(Debug)]
pub(crate) struct WaitRecord {
    engine: Arc<ClientInner>,
    /// The owner that waits at the store; a waiter in this process' own queue has none yet.
    owner: Option<OwnerId>,
    wait: Arc<Wait>,
}

/// Sends what has changed: one task per client.
pub(crate) async fn work(log: Arc<WorkLog>, store: Arc<dyn LockStore>, ended: CancellationToken) {
    ended.run_until_cancelled(send_changes(&log, &*store)).await;
}

async fn send_changes(log: &WorkLog, store: &dyn LockStore) {
    let mut pauses = Backoff::new(RETRY);
    loop {
        let refresh = log.records.lock().sent.front().map(|(sent, _)| sent.after(REFRESH));
        let refresh_due = async {
            match refresh {
                Some(moment) => lease_clock::sleep_until(moment).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = log.due.notified() => tokio::time::sleep(GATHER).await,
            () = refresh_due => {}
        }
        match log.send(store).await {
            Ok(()) => pauses = Backoff::new(RETRY),
            Err(why) => {
                tracing::debug!(%why, "cannot write down what locks are for");
                tokio::time::sleep(pauses.next(LONGEST_RETRY)).await;
            }
        }
    }
}

impl WorkLog {
    /// Sends everything that is due.
    pub(crate) async fn send(&self, store: &dyn LockStore) -> Result<(), StoreError> {
        loop {
            let batch = self.records.lock().take_due(LeaseInstant::now());
            if batch.is_empty() {
                return Ok(());
            }
            let owners: Vec<_> = batch.iter().map(|record| record.holder.owner.clone()).collect();
            if let Err(why) = store.record_work(batch).await {
                self.records.lock().not_sent(owners);
                self.due.notify_one();
                return Err(why);
            }
        }
    }

    fn put(&self, holder: Holder, subject: Subject) {
        self.records.lock().put(holder, subject);
        self.due.notify_one();
    }

    /// The record of a lease that has ended is to be removed.
    pub(crate) fn end(&self, owner: &OwnerId) {
        self.change(owner, |record| record.subject = Subject::Over);
    }

    /// What a lease is for may have changed.
    fn changed(&self, owner: &OwnerId) {
        self.change(owner, |_| {});
    }

    fn change(&self, owner: &OwnerId, change: impl FnOnce(&mut Record)) {
        let mut records = self.records.lock();
        let Some(record) = records.all.get_mut(owner) else { return };
        change(record);
        records.changed.push_back(owner.clone());
        drop(records);
        self.due.notify_one();
    }
}

impl Records {
    fn put(&mut self, holder: Holder, subject: Subject) {
        self.changed.push_back(holder.owner.clone());
        let owner = holder.owner.clone();
        let sent = self.all.remove(&owner).and_then(|record| record.sent);
        self.all.insert(owner, Record { holder, subject, sent });
    }

    /// The next batch; empty if nothing is due.
    fn take_due(&mut self, now: LeaseInstant) -> Vec<WorkRecord> {
        let mut batch = Vec::new();
        while batch.len() < BATCH
            && let Some(owner) = self.changed.pop_front()
        {
            batch.extend(self.take(&owner, now, false));
        }
        while batch.len() < BATCH
            && self.sent.front().is_some_and(|(sent, _)| now >= sent.after(REFRESH))
            && let Some((_, owner)) = self.sent.pop_front()
        {
            batch.extend(self.take(&owner, now, true));
        }
        batch
    }

    fn take(&mut self, owner: &OwnerId, now: LeaseInstant, anew: bool) -> Option<WorkRecord> {
        let record = self.all.get_mut(owner)?;
        let text = record.subject.text();
        let Some(text) = text else {
            let record = self.all.remove(owner)?;
            // Nothing is removed that was never sent.
            record.sent?;
            return Some(WorkRecord::new(record.holder, None, KEEP));
        };
        let anew = anew && record.sent.as_ref().is_some_and(|(_, at)| now >= at.after(REFRESH));
        if !anew && record.sent.as_ref().is_some_and(|(sent, _)| *sent == text) {
            return None;
        }
        record.sent = Some((text.clone(), now));
        self.sent.push_back((now, owner.clone()));
        Some(WorkRecord::new(record.holder.clone(), Some(text), KEEP))
    }

    /// The store may have some of them, or none. Those to be removed expire there.
    fn not_sent(&mut self, owners: Vec<OwnerId>) {
        for owner in owners {
            if let Some(record) = self.all.get_mut(&owner) {
                if let Some((text, _)) = &mut record.sent {
                    text.clear();
                }
                self.changed.push_back(owner);
            }
        }
    }
}

impl Subject {
    /// `None`: it has ended.
    fn text(&self) -> Option<String> {
        match self {
            Self::Hold(lease) => {
                let lease = lease.upgrade()?;
                let first = {
                    let state = lease.state();
                    if state.stage != Stage::Held {
                        return None;
                    }
                    state.holds.iter().next()
                };
                first.map(|hold| hold.work().into_text())
            }
            Self::Wait(wait) => Some(wait.work().into_text()),
            Self::Client(hot_keys) => Some(hot_keys.text()),
            Self::Over => None,
        }
    }
}

impl Hold {
    fn work(&self) -> WorkInfo {
        let held = LeaseInstant::now().since(self.granted_at);
        let since = SystemTime::now().checked_sub(held);
        let scope = self.scope.as_ref().and_then(Weak::upgrade);
        let own = Some(&self.lease.owner);
        describe(self.name.as_ref(), &self.site, scope.as_deref(), since, own)
    }
}

impl Wait {
    fn work(&self) -> WorkInfo {
        let (scope, since) = (self.scope.as_deref(), Some(self.since));
        let work = describe(self.name.as_ref(), &self.site, scope, since, None);
        WorkInfo { waits_for: Some(self.key.to_string()), waits_since: since, ..work }
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
    /// Writes down which keys are hot here, so that a page of any process can add them up. Nothing is
    /// written for a client whose acquisitions never wait.
    pub(super) fn record_hot_keys(&self, kind: Kind, key: &LockKey) {
        if self.settings.record_work && self.statistics.hot_keys.record_is_due() {
            let subject = Subject::Client(Arc::clone(&self.statistics.hot_keys));
            self.work_log.put(Holder::new(kind, key.clone(), self.owners.whole()), subject);
        }
    }
}

impl Lease {
    /// Has it written down what this lease is for, from now on until it ends.
    pub(crate) fn record_work(self: &Arc<Self>) {
        if !self.engine.settings.record_work {
            return;
        }
        let is_first = !std::mem::replace(&mut self.state().recorded, true);
        if is_first {
            self.engine.work_log.put(self.holder(), Subject::Hold(Arc::downgrade(self)));
        } else {
            self.engine.work_log.changed(&self.owner);
        }
    }
}

impl Hold {
    /// Writes down what it is for, and anew what is held beside it.
    pub(crate) fn record_work(&self) {
        self.lease.record_work();
        let Some(scope) = self.scope.as_ref().and_then(Weak::upgrade) else { return };
        for other in scope.live(|_| true) {
            other.lease.engine.work_log.changed(&other.lease.owner);
        }
    }
}

impl WaitRecord {
    /// Writes down that this request has waited for long, at the store with `lease` or in this process'
    /// own queue. `None` if there is nothing to write down.
    pub(crate) fn begin(
        engine: &Arc<ClientInner>,
        request: &LockRequest,
        wait_deadline: &WaitDeadline,
        lease: Option<&Lease>,
    ) -> Option<Self> {
        if !engine.settings.record_work {
            return None;
        }
        let wait = Arc::new(Wait {
            key: request.key.clone(),
            name: request.options.name.clone(),
            site: request.options.site.clone(),
            scope: request.scope.clone(),
            since: wait_deadline.started_at_wall_clock(),
        });
        if let Some(scope) = &wait.scope {
            scope.begin_wait(&wait.key, wait.since);
            for hold in scope.live(|_| true) {
                hold.lease.record_work();
            }
        }
        if let Some(lease) = lease {
            engine.work_log.put(lease.holder(), Subject::Wait(Arc::clone(&wait)));
        }
        let owner = lease.map(|lease| lease.owner.clone());
        Some(Self { engine: Arc::clone(engine), owner, wait })
    }

    pub(crate) fn since(&self) -> SystemTime {
        self.wait.since
    }
}

impl Drop for WaitRecord {
    fn drop(&mut self) {
        let Wait { key, scope, .. } = &*self.wait;
        if let Some(scope) = scope {
            scope.end_wait(key);
            for hold in scope.live(|_| true) {
                hold.lease.engine.work_log.changed(&hold.lease.owner);
            }
        }
        if let Some(owner) = &self.owner {
            // It may have been granted and renewed by now: then the record is the hold's.
            self.engine.work_log.change(owner, |record| {
                if matches!(record.subject, Subject::Wait(_)) {
                    record.subject = Subject::Over;
                }
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::{ClientId, Owners};

    #[test]
    fn what_has_not_changed_is_sent_again_before_the_store_forgets_it() {
        let (mut records, now) = (Records::default(), LeaseInstant::now());
        let owner = Owners::new(ClientId::random()).whole();
        let key = LockKey::try_from("k").expect("a key");
        let holder = Holder::new(Kind::Reentrant, key, owner.clone());
        records.put(holder, Subject::Client(Arc::default()));
        assert_eq!(records.take_due(now).len(), 1);
        records.changed.push_back(owner);
        assert_eq!(records.take_due(now).len(), 0, "the store has it");
        assert_eq!(records.take_due(now.after(REFRESH)).len(), 1);
        assert_eq!(records.take_due(now.after(REFRESH)).len(), 0);
    }
}
