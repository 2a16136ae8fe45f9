//! Reads what the page shows.

use std::{
    cmp::Reverse,
    collections::HashMap,
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use lock_core::{HotKey, InspectError, Inspection, LockClient, LockKey, RecentEvents, WaiterInfo};
use serde::Serialize;
use thiserror::Error;
use tokio::{
    sync::{Mutex, Semaphore},
    time::Instant,
};

use super::{
    access::Access,
    answer::TOO_MANY,
    deadlock::{Circle, circles},
    plot::HoldSamples,
    query::Subject,
};

/// For how long what was read answers further requests for the same.
const SHARED_FOR: Duration = Duration::from_secs(1);
/// How often the store is read within that time, for different requests.
const MOST_READS: usize = 10;
/// How many pages may be renewed by events at once.
const MOST_STREAMS: usize = 32;
/// How many hot keys are shown.
const HOT_KEYS: usize = 10;
/// How many of the longest waits are shown.
const LONGEST_WAITS: usize = 10;

/// Reads from the store for the requests of this process, one after the other, so that many open pages
/// do not burden it more than one.
#[derive(Debug)]
pub(crate) struct Reader {
    pub(crate) client: LockClient,
    pub(crate) release_allowed: bool,
    pub(crate) access: Access,
    pub(crate) streams: Arc<Semaphore>,
    recent: Mutex<HashMap<Subject, (Instant, Seen)>>,
    holds: HoldSamples,
}

/// The result of a read, or the reason of its failure.
pub(crate) type Seen = Result<Arc<Page>, NotRead>;

/// Why nothing was read.
#[derive(Debug, Clone, Error)]
pub(crate) enum NotRead {
    #[error("{0}")]
    Store(Arc<InspectError>),
    #[error("{TOO_MANY}")]
    TooMany,
}

/// A page of the list, or one lock.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(crate) enum Page {
    List(ListPage),
    Lock(LockPage),
}

#[derive(Debug, Serialize)]
pub(crate) struct ListPage {
    pub(crate) prefix: String,
    /// Unix time, by this host's clock.
    pub(crate) read_at_ms: u64,
    /// Where the next page begins.
    pub(crate) next: Option<String>,
    /// Whether every part of the store that this page covers answered.
    pub(crate) complete: bool,
    pub(crate) release_allowed: bool,
    pub(crate) locks: Vec<Row>,
    /// The longest waits for the locks of this page.
    pub(crate) longest_waits: Vec<Wait>,
    /// The keys that acquisitions found taken most often, in this process and in those that hold
    /// these locks or wait for them.
    pub(crate) hot_keys: Vec<HotKey>,
    pub(crate) deadlocks: Vec<Circle>,
    pub(crate) process: ProcessStatus,
}

/// The answering process's own figures.
#[derive(Debug, Serialize)]
pub(crate) struct ProcessStatus {
    /// Acquisitions that wait for another one of this process.
    pub(crate) waiting: usize,
    /// Locks that are being acquired, held or released.
    pub(crate) holds: usize,
    pub(crate) breaker_open: bool,
    pub(crate) draining: bool,
    pub(crate) store: &'static str,
    pub(crate) round_trip_ms: Option<f64>,
    /// The most holds of each period of `events` in which a page was read.
    #[serde(skip)]
    pub(crate) holds_before: Vec<u32>,
    #[serde(flatten)]
    pub(crate) events: RecentEvents,
}

#[derive(Debug, Serialize)]
pub(crate) struct LockPage {
    pub(crate) read_at_ms: u64,
    pub(crate) release_allowed: bool,
    pub(crate) key: String,
    pub(crate) deadlocks: Vec<Circle>,
    #[serde(flatten)]
    pub(crate) lock: Inspection,
}

#[derive(Debug, Serialize)]
pub(crate) struct Row {
    pub(crate) key: LockKeyText,
    #[serde(flatten)]
    pub(crate) lock: Option<Inspection>,
    /// Why it could not be inspected.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<String>,
}

type LockKeyText = String;

#[derive(Debug, Serialize)]
pub(crate) struct Wait {
    pub(crate) key: LockKeyText,
    #[serde(flatten)]
    pub(crate) waiter: WaiterInfo,
}

impl Reader {
    pub(crate) fn new(client: LockClient, release_allowed: bool, access: Access) -> Self {
        let streams = Arc::new(Semaphore::new(MOST_STREAMS));
        Self {
            client,
            release_allowed,
            access,
            streams,
            recent: Mutex::default(),
            holds: HoldSamples::default(),
        }
    }

    /// Reads `subject`, or returns what another request read within the last second.
    pub(crate) async fn read(&self, subject: &Subject) -> Seen {
        // Held while the store is read: the next request waits, and finds what this one has read.
        let mut recent = self.recent.lock().await;
        recent.retain(|_, (read_at, _)| read_at.elapsed() < SHARED_FOR);
        if let Some((_, seen)) = recent.get(subject) {
            return seen.clone();
        }
        // The page that an operator opens first is not kept away by searches.
        if recent.len() >= MOST_READS && !subject.is_whole_list() {
            return Err(NotRead::TooMany);
        }
        let seen = match subject {
            Subject::List { prefix, after, limit } => {
                self.list(prefix, after.as_deref(), *limit).await.map(Page::List)
            }
            Subject::Lock { key } => self.lock(key).await.map(Page::Lock),
        };
        let seen = seen.map(Arc::new).map_err(|why| NotRead::Store(Arc::new(why)));
        recent.insert(subject.clone(), (Instant::now(), seen.clone()));
        seen
    }

    /// Forgets what was read: a lock was released.
    pub(crate) async fn forget(&self) {
        self.recent.lock().await.clear();
    }

    async fn list(
        &self,
        prefix: &str,
        after: Option<&str>,
        limit: usize,
    ) -> Result<ListPage, InspectError> {
        let page = self.client.list_page(prefix, after, limit).await?;
        let seen = self.client.inspect_all(page.keys.iter().cloned()).await;
        let locks: Vec<_> = page.keys.iter().zip(seen).filter_map(Row::of).collect();
        let owners: Vec<_> = locks.iter().flat_map(Row::owners).cloned().collect();
        // Without an answer to this, those of this process are known.
        let hot_keys = self.client.hot_keys_of(&owners, HOT_KEYS).await;
        let hot_keys = hot_keys.unwrap_or_else(|_| self.client.hot_keys(HOT_KEYS));
        Ok(ListPage {
            prefix: prefix.to_owned(),
            read_at_ms: now(),
            next: page.next,
            complete: page.complete,
            release_allowed: self.release_allowed,
            longest_waits: longest_waits(&locks),
            hot_keys,
            deadlocks: circles(
                locks.iter().filter_map(|row| Some((row.key.as_str(), row.lock.as_ref()?))),
            ),
            locks,
            process: self.process().await,
        })
    }

    async fn lock(&self, key: &str) -> Result<LockPage, InspectError> {
        let lock = self.client.inspect(key).await?;
        Ok(LockPage {
            read_at_ms: now(),
            release_allowed: self.release_allowed,
            key: key.to_owned(),
            deadlocks: circles([(key, &lock)]),
            lock,
        })
    }

    async fn process(&self) -> ProcessStatus {
        let health = self.client.health().await;
        let events = self.client.recent_events();
        let holds_before = self.holds.add(health.holds, events.period, events.refused.len()).await;
        ProcessStatus {
            waiting: health.waiting,
            holds: health.holds,
            breaker_open: health.breaker_open,
            draining: health.draining,
            store: health.store,
            round_trip_ms: health.round_trip.ok().map(|time| time.as_secs_f64() * 1_000.0),
            holds_before,
            events,
        }
    }
}

impl Row {
    /// `None` if it is not a lock, or not one any more.
    fn of((key, seen): (&LockKey, Result<Inspection, InspectError>)) -> Option<Self> {
        let key = key.to_string();
        match seen {
            Ok(lock) if lock.kind.is_none() => None,
            Ok(lock) => Some(Self { key, lock: Some(lock), error: None }),
            Err(InspectError::WrongKind(_)) => None,
            Err(why) => Some(Self { key, lock: None, error: Some(why.to_string()) }),
        }
    }

    fn owners(&self) -> impl Iterator<Item = &String> {
        self.lock.iter().flat_map(|lock| {
            let holders = lock.holders.iter().map(|holder| &holder.owner);
            holders.chain(lock.waiters.iter().map(|waiter| &waiter.owner))
        })
    }

    pub(crate) fn waiters(&self) -> &[WaiterInfo] {
        self.lock.as_ref().map_or(&[], |lock| &lock.waiters)
    }
}

/// Only recorded waits have an age.
fn longest_waits(locks: &[Row]) -> Vec<Wait> {
    let waits = locks.iter().flat_map(|row| {
        let waiters = row.waiters().iter().filter(|waiter| waiter.age.is_some());
        waiters.map(|waiter| Wait { key: row.key.clone(), waiter: waiter.clone() })
    });
    let mut waits: Vec<_> = waits.collect();
    waits.sort_by_key(|wait| Reverse(wait.waiter.age));
    waits.truncate(LONGEST_WAITS);
    waits
}

fn now() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(now.as_millis()).unwrap_or(u64::MAX)
}
