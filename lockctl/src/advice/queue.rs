//! The lock on one key, as a replay needs it: what is taken, and the waiters in order of arrival.
//!
//! Within a client a lease goes further than the order of arrival: readers join those of their client
//! that hold the lock, and a writer passes it on to the next one of its client, both until the lease
//! is to be renewed for the first time.

use std::collections::{BTreeSet, HashMap};

/// As lock-core has it: so many readers share a lease at most.
const MAX_SHARED_READERS: u32 = 64;

/// Requests are known by their numbers, which grow with their arrival.
#[derive(Debug, Default)]
pub(crate) struct KeyQueue {
    taken: u64,
    waiting: BTreeSet<u32>,
    waiting_of: HashMap<u32, BTreeSet<u32>>,
    readers: HashMap<u32, Readers>,
    /// The lease of the writer that was granted last.
    lease: Option<Lease>,
    /// The client that was granted the lock last.
    last: Option<u32>,
}

/// The readers of one client.
#[derive(Debug, Default)]
struct Readers {
    holding: u32,
    joined: u32,
    until: u64,
}

/// How often a writer's client may pass its lease on, and until when.
#[derive(Debug, Clone, Copy)]
struct Lease {
    client: u32,
    left: u32,
    until: u64,
}

/// A request at one key.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Visit {
    pub(crate) client: u32,
    pub(crate) is_read: bool,
    pub(crate) cost: u64,
    pub(crate) capacity: u64,
    /// How often and how long one lease goes on within its client.
    pub(crate) max_handoffs: u32,
    pub(crate) handoff_time: u64,
}

impl KeyQueue {
    /// Whether the lock is free for this request: nothing that excludes it is held, and no request
    /// that arrived earlier waits.
    pub(crate) fn admits(&self, number: u32, visit: &Visit, now: u64) -> bool {
        let is_next = self.waiting.first().is_none_or(|first| *first >= number);
        let joins = || self.first_of(visit.client).is_none() && self.is_shared(visit, now);
        self.taken + visit.cost <= visit.capacity && (is_next || joins())
    }

    /// Whether readers of the same client hold the lock, and this one can join them.
    pub(crate) fn is_shared(&self, visit: &Visit, now: u64) -> bool {
        let joinable = |readers: &Readers| {
            readers.holding > 0 && readers.joined < MAX_SHARED_READERS && now < readers.until
        };
        visit.is_read && self.readers.get(&visit.client).is_some_and(joinable)
    }

    /// Returns the waiter to which a writer of this client may pass the lock on.
    pub(crate) fn successor(&self, client: u32, now: u64) -> Option<u32> {
        let lease = self.lease.filter(|lease| lease.client == client)?;
        (lease.left > 0 && now < lease.until).then(|| self.first_of(client))?
    }

    /// Returns the first waiter.
    pub(crate) fn first(&self) -> Option<u32> {
        self.waiting.first().copied()
    }

    /// Returns the first waiter of this client.
    pub(crate) fn first_of(&self, client: u32) -> Option<u32> {
        self.waiting_of.get(&client)?.first().copied()
    }

    pub(crate) fn wait(&mut self, number: u32, client: u32) {
        self.waiting.insert(number);
        self.waiting_of.entry(client).or_default().insert(number);
    }

    pub(crate) fn leave(&mut self, number: u32, client: u32) {
        self.waiting.remove(&number);
        if let Some(own) = self.waiting_of.get_mut(&client) {
            own.remove(&number);
        }
    }

    /// Whether a waiter of this client contends in the store: another one was granted the lock.
    /// Otherwise it waits in its process.
    pub(crate) fn contends(&self, client: u32) -> bool {
        self.last.is_some_and(|last| last != client)
    }

    /// Grants the lock. Returns whether that takes commands to the store.
    pub(crate) fn grant(&mut self, number: u32, visit: &Visit, now: u64, passed_on: bool) -> bool {
        self.leave(number, visit.client);
        self.taken += visit.cost;
        self.last = Some(visit.client);
        let until = now.saturating_add(visit.handoff_time);
        if visit.is_read {
            self.lease = None;
            let joins = self.is_shared(visit, now);
            let readers = self.readers.entry(visit.client).or_default();
            readers.holding += 1;
            if joins {
                readers.joined += 1;
            } else {
                (readers.joined, readers.until) = (1, until);
            }
            return !joins;
        }
        if let Some(lease) = self.lease.as_mut().filter(|_| passed_on) {
            lease.left -= 1;
            return false;
        }
        let behind = self.waiting_of.get(&visit.client).map_or(0, BTreeSet::len);
        // Twice as many as wait behind it, so that other clients wait no more than twice as long.
        let left = u32::try_from(behind * 2)
            .map_or(visit.max_handoffs, |twice| twice.min(visit.max_handoffs));
        let is_whole = visit.cost == visit.capacity;
        self.lease = is_whole.then_some(Lease { client: visit.client, left, until });
        true
    }

    pub(crate) fn release(&mut self, visit: &Visit) {
        self.taken -= visit.cost;
        if visit.is_read
            && let Some(readers) = self.readers.get_mut(&visit.client)
        {
            readers.holding -= 1;
        }
    }
}
