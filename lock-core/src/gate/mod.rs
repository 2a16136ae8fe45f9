//! One contender per key and process: the others wait here in order of arrival, and cost the store
//! nothing. Of a fair kind up to [`MAX_IN_LINE`] acquisitions contend, each with a place in the
//! store's line, because the store decides their order.
//!
//! A key's gate is a fair read/write lock of this process. A lease keeps its permit from before its
//! first attempt until its release is confirmed. So the next local acquisition is always ordered
//! behind a release that is still in flight.

mod key_state;
mod permit;
#[cfg(test)]
mod tests;
mod waiter_limit;

use std::{
    collections::{HashMap, hash_map::Entry},
    convert::Infallible,
    fmt,
    sync::{
        Arc, MutexGuard, Weak,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use foldhash::fast::RandomState;
use lock_store::{Kind, LockKey, Mode, runtime::Mutex};
use tokio::{sync::oneshot, time::Instant};

use key_state::{KeyState, Waiter};
pub(crate) use permit::{Permit, QueuePlace};
use waiter_limit::WaiterLimit;

/// The most places of one process in the store's line of a key. Places of waiters that have given
/// up count until the store has confirmed their removal. Without a bound, waiters that give up
/// quickly could add places faster than the store removes them: the line would grow, and the lock
/// would stay free behind places whose waiters are gone.
pub(crate) const MAX_IN_LINE: u32 = 64;

/// The state behind a gate. The gate only knows that a waiter may be handed it.
pub(crate) trait Tenant: fmt::Debug + Send + Sync + 'static {
    /// The value that a waiter is handed instead of the right to contend.
    type Handoff: fmt::Debug + Send;
}

/// Nothing is handed to a waiter.
impl Tenant for () {
    type Handoff = Infallible;
}

/// The properties that must match for a hand-off: a write lease of exactly this kind and length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct HandoffKey {
    pub(crate) kind: Kind,
    pub(crate) length: Duration,
}

/// Hashed quickly, with a seed of this process: keys come from requests.
type Keys<T> = HashMap<LockKey, KeyState<T>, RandomState>;

#[derive(Debug)]
pub(crate) struct Gate<T: Tenant> {
    keys: Mutex<Keys<T>>,
    /// No more acquisitions enter.
    closed: AtomicBool,
    most_waiting: usize,
    /// For all keys in total.
    waiters: Arc<WaiterLimit>,
}

/// How long an acquisition waits.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wait {
    pub(crate) until: Instant,
    /// The shortest hold lately of callers like this one. `None`: it is not known.
    pub(crate) shortest_hold: Option<Duration>,
}

/// How an acquisition may pass the gate.
#[derive(Debug)]
pub(crate) enum EnterResult<T: Tenant> {
    Admitted(Permit<T>),
    Queued(QueuePlace<T>),
    /// Another acquisition of this process is in the way, and the caller does not wait.
    Busy,
    /// The callers ahead are almost sure to have the lock until the caller's wait is over.
    InVain,
    /// The key's queue is full.
    Full(usize),
    /// The queues of all keys are full in total.
    FullInAll(usize),
    Closed,
}

/// The admission of a waiter in the queue.
#[derive(Debug)]
pub(crate) enum Admission<T: Tenant> {
    /// The right to contend in the store.
    Contend(Permit<T>),
    /// The lease that another holder of this process has left.
    Handoff(T::Handoff),
}

impl Admission<()> {
    pub(crate) fn permit(self) -> Permit<()> {
        match self {
            Self::Contend(permit) => permit,
            Self::Handoff(never) => match never {},
        }
    }
}

/// In which way an acquisition uses the gate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    /// Together with other readers.
    Read,
    /// Alone.
    Write,
    /// One contender at a time, until it stays.
    SingleContender,
    /// A place in the store's own line until the lock is granted: at most [`MAX_IN_LINE`] of a
    /// process at a time. The others wait at the gate in order of arrival.
    StoreQueued,
    /// Holds, beside others.
    Holding,
    /// Waits until no caller is inside alone, and keeps none out then.
    Follower,
}

impl Access {
    /// How an acquisition of this kind and mode uses the gate.
    pub(crate) fn of(kind: Kind, mode: Mode) -> Self {
        match (kind, mode) {
            (Kind::Fair | Kind::FairReadWrite, _) => Self::StoreQueued,
            (Kind::Semaphore, _) => Self::SingleContender,
            (_, Mode::Read) => Self::Read,
            (_, Mode::Write) => Self::Write,
        }
    }
}

impl<T: Tenant> Gate<T> {
    pub(crate) fn new(most_waiting: usize, most_in_all: usize) -> Arc<Self> {
        let waiters = WaiterLimit::new(most_in_all);
        let closed = AtomicBool::new(false);
        Arc::new(Self { keys: Mutex::default(), closed, most_waiting, waiters })
    }

    /// Admits an acquisition, queues it, or refuses it. One that does not wait is queued only
    /// behind permits that are being released. `most_waiting` overrides the limit on waiters;
    /// `accepts` says which lease it may be handed instead of a permit.
    pub(crate) fn enter(
        self: &Arc<Self>,
        key: &LockKey,
        access: Access,
        wait: Option<Wait>,
        most_waiting: Option<usize>,
        accepts: Option<HandoffKey>,
    ) -> EnterResult<T> {
        let waits = wait.is_some();
        let most_waiting = most_waiting.unwrap_or(self.most_waiting);
        let mut keys = self.lock();
        if self.is_closed() {
            return EnterResult::Closed;
        }
        let state = keys.entry(key.clone()).or_default();
        state.prune_cancelled(most_waiting);
        // A contender for a semaphore may still be granted a permit, and then more may be free: only
        // the store knows. An attempt that does not wait, or may not, must not be refused because of a
        // contender whose answer is in flight, nor of the waiters behind that, so it contends beside it.
        // Once the store has refused that contender, no permit is free, and the attempt is refused here.
        let tries = !waits || most_waiting == 0;
        let beside = access == Access::SingleContender && tries && !state.refused;
        // If the queue is in the store, an attempt that does not wait is sent to the store first:
        // places there may belong to waiters that have given up. Any number of both may be in flight.
        let beside_all = beside || access == Access::StoreQueued && !waits;
        let access = if beside_all { Access::Holding } else { access };
        // Waiters are refused here once as many of this process wait at the store as may.
        let (refused, in_line) = (state.waiting_at_store as usize, state.in_line());
        let full = refused >= most_waiting.max(1) || !tries && in_line > most_waiting;
        if access == Access::StoreQueued && waits && full {
            return EnterResult::Full(in_line);
        }
        // A newcomer never passes a waiter, not even a reader another reader: a stream of readers
        // would keep a waiting writer out forever. An attempt that does not wait takes no place in the
        // store's queue, so it need not come after those that leave it.
        let behind_leavers = waits && state.is_behind_leavers(access);
        if (beside || state.queued() == 0) && state.admits(access) && !behind_leavers {
            state.enter(access);
            return EnterResult::Admitted(self.permit(key, access));
        }
        if !waits && !state.may_queue_without_wait(access) {
            return EnterResult::Busy;
        }
        if state.waiting() >= state.most_waiting(most_waiting) {
            return EnterResult::Full(state.waiting());
        }
        if access == Access::Write && wait.is_some_and(|wait| state.is_in_vain(&wait)) {
            return EnterResult::InVain;
        }
        let one = match waits.then(|| self.waiters.join(false)).transpose() {
            Ok(one) => one,
            Err(waiters) => return EnterResult::FullInAll(waiters),
        };
        let (admit, admitted) = oneshot::channel();
        state.push(Waiter { access, accepts, wait, admit });
        EnterResult::Queued(QueuePlace {
            gate: Arc::clone(self),
            key: key.clone(),
            admitted: Some(admitted),
            _one: one,
        })
    }

    /// Admits a hold that the store has already, beside whatever contends for the key; `None` once the
    /// gate is closed.
    pub(crate) fn enter_holding(self: &Arc<Self>, key: &LockKey) -> Option<Permit<T>> {
        let mut keys = self.lock();
        if self.is_closed() {
            return None;
        }
        keys.entry(key.clone()).or_default().enter(Access::Holding);
        Some(self.permit(key, Access::Holding))
    }

    /// Refuses all waiters, and all acquisitions from now on.
    pub(crate) fn close(&self) {
        let sent_away: Vec<_> = {
            let mut keys = self.lock();
            // Under the lock of the keys: an acquisition that has seen the gate open has queued by
            // now, and is refused with the others.
            self.closed.store(true, Ordering::Release);
            keys.values_mut().filter_map(KeyState::close).collect()
        };
        // Outside the lock: the waiters' drop handlers lock the keys again.
        drop(sent_away);
    }

    fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    /// Hands `handoff` to the next waiter if that accepts it; otherwise returns it.
    pub(crate) fn hand_off(
        &self,
        key: &LockKey,
        fits: HandoffKey,
        mut handoff: T::Handoff,
    ) -> Option<T::Handoff> {
        loop {
            let accepts = |_: &KeyState<T>, next: &Waiter<T>| next.accepts == Some(fits);
            let next = self.lock().get_mut(key).and_then(|state| state.next_in_queue(accepts));
            let Some(next) = next else { return Some(handoff) };
            match next.admit.send(Admission::Handoff(handoff)) {
                // The waiter was cancelled between the check and the send: without a second check
                // the lease would be released although another waiter could have had it.
                Err(Admission::Handoff(back)) => handoff = back,
                Ok(()) | Err(Admission::Contend(_)) => return None,
            }
        }
    }

    fn defer_until(&self, key: &LockKey) -> Option<Instant> {
        self.lock().get_mut(key)?.wait_queue().defer_until
    }

    /// The number of waiters in a key's queue.
    pub(crate) fn queued(&self, key: &LockKey) -> usize {
        self.lock().get(key).map_or(0, KeyState::queued)
    }

    /// The lease of the reader that leads, or led.
    pub(crate) fn leader(&self, key: &LockKey) -> Weak<T> {
        self.lock().get(key).map_or_else(Weak::new, |state| Weak::clone(&state.leader))
    }

    /// Makes `leader` the reader that others join, unless another than `before` has become it: two
    /// readers that found no leader at the same moment must not both lead.
    pub(crate) fn set_leader(&self, key: &LockKey, before: &Weak<T>, leader: &Arc<T>) -> bool {
        let mut keys = self.lock();
        let state = keys.get_mut(key).filter(|state| state.leader.ptr_eq(before));
        state.map(|state| state.leader = Arc::downgrade(leader)).is_some()
    }

    /// Resolves when the releases that are pending now are confirmed; `None` if there are none.
    pub(crate) fn pending_releases(&self, key: &LockKey) -> Option<oneshot::Receiver<()>> {
        let mut keys = self.lock();
        keys.get_mut(key)?.pending_releases()
    }

    /// The number of acquisitions of this process that wait, for all keys.
    pub(crate) fn waiting(&self) -> usize {
        self.lock().values().map(KeyState::live_waiters).sum()
    }

    /// How many of them wait for `key`.
    pub(crate) fn waiting_for(&self, key: &LockKey) -> usize {
        self.lock().get(key).map_or(0, KeyState::live_waiters)
    }

    /// How many wait for the key for which most do.
    pub(crate) fn longest_queue(&self) -> usize {
        self.lock().values().map(KeyState::live_waiters).max().unwrap_or_default()
    }

    fn permit(self: &Arc<Self>, key: &LockKey, access: Access) -> Permit<T> {
        Permit {
            gate: Arc::clone(self),
            key: key.clone(),
            access,
            releasing: None,
            unsent: false,
            queued: false,
            waits: None,
        }
    }

    /// Changes a key's state and admits the waiters that fit then.
    fn change(self: &Arc<Self>, key: &LockKey, change: impl FnOnce(&mut KeyState<T>)) {
        let mut admitted = Vec::new();
        {
            let mut keys = self.lock();
            // No permit and no waiter: there is nothing to change.
            let Entry::Occupied(mut entry) = keys.entry(key.clone()) else {
                return;
            };
            let state = entry.get_mut();
            change(state);
            let enters = |state: &KeyState<T>, next: &Waiter<T>| {
                state.admits(next.access) && !state.is_behind_leavers(next.access)
            };
            while let Some(Waiter { access, admit, .. }) = state.next_in_queue(enters) {
                // Entered under the same lock as the change: no newcomer can take the room that the
                // waiter was promised, though the waiter runs later.
                state.enter(access);
                admitted.push((admit, self.permit(key, access)));
            }
            if state.count() == 0 && state.queued() == 0 {
                entry.remove();
            }
        }
        for (admit, permit) in admitted {
            // Outside the lock: if the waiter was cancelled meanwhile, its permit is dropped here, which
            // locks the keys again and admits the next waiter.
            let _ = admit.send(Admission::Contend(permit));
        }
    }

    fn lock(&self) -> MutexGuard<'_, Keys<T>> {
        self.keys.lock()
    }
}
