//! Records the work of long holds and long waits in the store: see [`WorkInfo`].
//!
//! A hold is recorded when it is renewed for the first time. A wait is recorded when it has become
//! long, together with the holds of its scope. So nothing is sent for most locks. Records are sent
//! apart from the commands of locks: no lock waits for them or relies on them.

use std::{
    collections::{HashMap, HashSet, VecDeque},
    fmt,
    sync::{Arc, Weak},
    time::Duration,
};

use lock_store::{
    Holder, LockKey, LockStore, OwnerId, StoreError, WorkRecord,
    runtime::{Backoff, LeaseInstant, Mutex, lease_clock},
};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::hot_keys::HotKeys;
use crate::types::WorkInfo;

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

/// The records of this client that are sent, or are to be.
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
    source: WorkSource,
    /// The text that the store has, or may have.
    sent: Option<(String, LeaseInstant)>,
}

/// Describes the work of a hold or a wait, at the moment in which it is recorded.
pub(crate) trait Describe: fmt::Debug + Send + Sync {
    /// Returns `None` if it has ended.
    fn work(&self) -> Option<WorkInfo>;
}

/// The source of a record's text.
#[derive(Debug)]
pub(crate) enum WorkSource {
    Hold(Weak<dyn Describe>),
    Wait(Arc<dyn Describe>),
    /// The client as a whole: its hot keys.
    Client(Arc<HotKeys>),
    /// It is to be removed.
    Over,
}

/// Sends changed records: one task per client.
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
                tracing::debug!(%why, "cannot record the work under locks");
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

    pub(crate) fn put(&self, holder: Holder, source: WorkSource) {
        self.records.lock().put(holder, source);
        self.due.notify_one();
    }

    /// The record of a lease that has ended is to be removed.
    pub(crate) fn end(&self, owner: &OwnerId) {
        self.change(owner, |record| record.source = WorkSource::Over);
    }

    /// A wait has ended, so its record is to be removed: unless it was granted and is renewed by now, for
    /// then the record is the hold's.
    pub(crate) fn end_wait(&self, owner: &OwnerId) {
        self.change(owner, |record| {
            if matches!(record.source, WorkSource::Wait(_)) {
                record.source = WorkSource::Over;
            }
        });
    }

    /// The work under a lease may have changed.
    pub(crate) fn changed(&self, owner: &OwnerId) {
        self.change(owner, |_| {});
    }

    /// Whether an owner has a record.
    pub(crate) fn has(&self, owner: &OwnerId) -> bool {
        self.records.lock().all.get(owner).is_some_and(Record::is_live)
    }

    /// The owners that have a record at one of these keys.
    pub(crate) fn owners_at(&self, keys: &HashSet<LockKey>) -> Vec<(LockKey, OwnerId)> {
        let records = self.records.lock();
        let live = records.all.values().filter(|record| record.is_live());
        let at = live.map(|Record { holder, .. }| (holder.key.clone(), holder.owner.clone()));
        at.filter(|(key, _)| keys.contains(key)).collect()
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
    fn put(&mut self, holder: Holder, source: WorkSource) {
        self.changed.push_back(holder.owner.clone());
        let owner = holder.owner.clone();
        let sent = self.all.remove(&owner).and_then(|record| record.sent);
        self.all.insert(owner, Record { holder, source, sent });
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
        let text = record.source.text();
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

impl Record {
    /// Whether it is of a holder or a waiter, and is not to be removed.
    fn is_live(&self) -> bool {
        matches!(self.source, WorkSource::Hold(_) | WorkSource::Wait(_))
    }
}

impl WorkSource {
    /// `None`: it has ended.
    fn text(&self) -> Option<String> {
        match self {
            Self::Hold(hold) => Some(hold.upgrade()?.work()?.into_text()),
            Self::Wait(wait) => Some(wait.work()?.into_text()),
            Self::Client(hot_keys) => Some(hot_keys.text()),
            Self::Over => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lock_store::{ClientId, Kind, LockKey, Owners};

    #[test]
    fn what_has_not_changed_is_sent_again_before_the_store_forgets_it() {
        let (mut records, now) = (Records::default(), LeaseInstant::now());
        let owner = Owners::new(ClientId::random()).whole();
        let key = LockKey::try_from("k").expect("a key");
        let holder = Holder::new(Kind::Reentrant, key, owner.clone());
        records.put(holder, WorkSource::Client(Arc::default()));
        assert_eq!(records.take_due(now).len(), 1);
        records.changed.push_back(owner);
        assert_eq!(records.take_due(now).len(), 0, "the store has it");
        assert_eq!(records.take_due(now.after(REFRESH)).len(), 1);
        assert_eq!(records.take_due(now.after(REFRESH)).len(), 0);
    }
}
