//! One contender per key and process: the others wait here, first come first served, and cost the
//! store nothing.
//!
//! A key's gate is a fair read/write lock of this process. A hold keeps its permit from before its
//! first try until its release is confirmed, so the next local acquisition is always ordered
//! behind a release that is still on its way.

mod inside;
mod permit;
#[cfg(test)]
mod tests;
mod waiters;

use std::{
    collections::HashMap,
    sync::{
        Arc, MutexGuard, Weak,
        atomic::{AtomicBool, Ordering},
    },
};

use tokio::{sync::oneshot, time::Instant};

use crate::{
    hold::{Handoff, HandoffKey, Lease},
    runtime::sync::Mutex,
    types::{Kind, LockKey, Mode},
};
use inside::{Inside, Waiter};
pub(crate) use permit::{Permit, QueuePlace};
use waiters::Waiters;

/// How many acquisitions of one process stand in the store's line of a key, those included whose
/// waiters have given up and that the store has not confirmed as gone. Without a bound, waiters that
/// give up quickly could add places faster than the store removes them: each removal costs the store
/// more the longer the line is, so the line would grow, and the lock stand free behind places whose
/// waiters are gone.
pub(crate) const MAX_IN_LINE: u32 = 64;

#[derive(Debug)]
pub(crate) struct Gate {
    keys: Mutex<HashMap<LockKey, Inside>>,
    /// Nobody enters any more.
    closed: AtomicBool,
    most_waiting: usize,
    /// Before all keys.
    waiters: Arc<Waiters>,
}

/// How an acquisition may pass the gate.
#[derive(Debug)]
pub(crate) enum Entry {
    Admitted(Permit),
    Queued(QueuePlace),
    /// Somebody of this process is in the way, and the caller does not wait.
    Busy,
    /// The queue is full.
    Full(usize),
    /// The queues are, all together.
    FullInAll(usize),
    Closed,
}

/// What somebody in the queue waits for.
#[derive(Debug)]
pub(crate) enum Turn {
    /// To ask the store.
    Ask(Permit),
    /// A lease that another hold of this process has left.
    Take(Handoff),
}

impl Turn {
    /// For those who take nothing over.
    pub(crate) fn permit(self) -> Permit {
        match self {
            Self::Ask(permit) => permit,
            Self::Take(_) => unreachable!("BUG: a hold for somebody who takes none over"),
        }
    }
}

/// What an acquisition wants of the gate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    /// Together with other readers.
    Read,
    /// Alone.
    Write,
    /// One contender at a time, until it stays.
    Turn,
    /// To stand in the store's own line until it stays: at most [`MAX_IN_LINE`] of a process at a
    /// time, the others wait before the gate in order of arrival.
    Line,
    /// Holds, beside others.
    Stay,
}

impl Kind {
    pub(crate) fn access(self, mode: Mode) -> Access {
        match (self, mode) {
            (Kind::Fair | Kind::FairReadWrite, _) => Access::Line,
            (Kind::Semaphore, _) => Access::Turn,
            (_, Mode::Read) => Access::Read,
            (_, Mode::Write) => Access::Write,
        }
    }
}

impl Gate {
    pub(crate) fn new(most_waiting: usize, most_in_all: usize) -> Arc<Self> {
        let waiters = Waiters::new(most_in_all);
        let closed = AtomicBool::new(false);
        Arc::new(Self { keys: Mutex::default(), closed, most_waiting, waiters })
    }

    /// Who does not wait stands in the queue only behind those who are leaving. `most_waiting` of
    /// this one, if it has one of its own, says how many may wait before it; and it may take over a
    /// hold that fits.
    pub(crate) fn enter(
        self: &Arc<Self>,
        key: &LockKey,
        access: Access,
        waits: bool,
        most_waiting: Option<usize>,
        takes: Option<HandoffKey>,
    ) -> Entry {
        let most_waiting = most_waiting.unwrap_or(self.most_waiting);
        let mut keys = self.lock();
        if self.is_closed() {
            return Entry::Closed;
        }
        let inside = keys.entry(key.clone()).or_default();
        inside.forget_who_left(most_waiting);
        // Whether a permit is free the store can say, while who asks for one has no answer yet.
        let asks_only = access == Access::Turn && !waits && !inside.refused;
        let access = if asks_only { Access::Line } else { access };
        // Where the line is in the store, an acquisition that may not wait tries there first; but
        // not when others wait already, nor in a crowd.
        let (refused, in_line) = (inside.waiting_inside as usize, inside.in_line());
        let crowd = refused >= most_waiting.max(1) || in_line > most_waiting;
        if access == Access::Line && waits && crowd {
            return Entry::Full(in_line);
        }
        if inside.queued() == 0 && inside.admits(access) {
            inside.enter(access);
            return Entry::Admitted(self.permit(key, access));
        }
        if !waits && !inside.hurries_in(access) {
            return Entry::Busy;
        }
        if inside.waiting() >= inside.most_waiting(most_waiting) {
            return Entry::Full(inside.waiting());
        }
        let one = match waits.then(|| self.waiters.join(false)).transpose() {
            Ok(one) => one,
            Err(waiters) => return Entry::FullInAll(waiters),
        };
        let (admit, admitted) = oneshot::channel();
        inside.stand_in_queue(Waiter { access, takes, admit });
        Entry::Queued(QueuePlace {
            gate: Arc::clone(self),
            key: key.clone(),
            admitted: Some(admitted),
            _one: one,
        })
    }

    /// Sends everybody away who waits, and whoever comes.
    pub(crate) fn close(&self) {
        let sent_away: Vec<_> = {
            let mut keys = self.lock();
            self.closed.store(true, Ordering::Release);
            keys.values_mut().filter_map(Inside::send_away).collect()
        };
        drop(sent_away);
    }

    fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    /// Hands a lease off to the waiter that is next; gives it back where none takes it.
    pub(crate) fn pass_on(
        &self,
        key: &LockKey,
        fits: HandoffKey,
        mut handoff: Handoff,
    ) -> Option<Handoff> {
        loop {
            let takes = |_: &Inside, next: &Waiter| next.takes == Some(fits);
            let next = self.lock().get_mut(key).and_then(|inside| inside.next_in_queue(takes));
            let Some(next) = next else { return Some(handoff) };
            match next.admit.send(Turn::Take(handoff)) {
                Err(Turn::Take(back)) => handoff = back,
                Ok(()) | Err(Turn::Ask(_)) => return None,
            }
        }
    }

    fn not_before(&self, key: &LockKey) -> Option<Instant> {
        self.lock().get_mut(key)?.crowd().not_before
    }

    /// How many stand in a key's queue.
    pub(crate) fn queued(&self, key: &LockKey) -> usize {
        self.lock().get(key).map_or(0, Inside::queued)
    }

    /// The lease of the reader inside that leads, or did.
    pub(crate) fn host(&self, key: &LockKey) -> Weak<Lease> {
        self.lock().get(key).map_or_else(Weak::new, |inside| Weak::clone(&inside.host))
    }

    /// Makes a reader inside the one that leads, unless another than `before` has become it.
    pub(crate) fn set_host(&self, key: &LockKey, before: &Weak<Lease>, host: &Arc<Lease>) -> bool {
        let mut keys = self.lock();
        let inside = keys.get_mut(key).filter(|inside| inside.host.ptr_eq(before));
        inside.map(|inside| inside.host = Arc::downgrade(host)).is_some()
    }

    /// Resolves when those inside that are leaving now are gone; `None` when none is.
    pub(crate) fn leavers(&self, key: &LockKey) -> Option<oneshot::Receiver<()>> {
        let mut keys = self.lock();
        keys.get_mut(key)?.leavers()
    }

    /// How many acquisitions of this process wait in all.
    pub(crate) fn waiting(&self) -> usize {
        let keys = self.lock();
        let waiters = keys.values().flat_map(Inside::queue);
        waiters.filter(|waiter| !waiter.admit.is_closed()).count()
    }

    fn permit(self: &Arc<Self>, key: &LockKey, access: Access) -> Permit {
        Permit {
            gate: Arc::clone(self),
            key: key.clone(),
            access,
            leaving: None,
            queued: false,
            waits: None,
        }
    }

    /// Changes who is inside and lets in whom that makes room for.
    fn change(self: &Arc<Self>, key: &LockKey, change: impl FnOnce(&mut Inside)) {
        let mut admitted = Vec::new();
        {
            let mut keys = self.lock();
            // Nobody is inside and nobody waits: there is nothing to change.
            let Some(inside) = keys.get_mut(key) else {
                return;
            };
            change(inside);
            let enters = |inside: &Inside, next: &Waiter| inside.admits(next.access);
            while let Some(Waiter { access, admit, .. }) = inside.next_in_queue(enters) {
                inside.enter(access);
                admitted.push((admit, self.permit(key, access)));
            }
            if inside.count() == 0 && inside.queued() == 0 {
                keys.remove(key);
            }
        }
        for (admit, permit) in admitted {
            // A waiter that has just left drops its permit here, which admits the next one.
            let _ = admit.send(Turn::Ask(permit));
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<LockKey, Inside>> {
        self.keys.lock()
    }
}
