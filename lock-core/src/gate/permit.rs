//! Permits to contend for a key and to hold it, and places in the queue for one. Dropping either gives
//! it up.

use std::sync::Arc;

use lock_store::LockKey;
use tokio::{sync::oneshot, time::Instant};

use super::{Access, Admission, Gate, Tenant, waiter_limit::WaiterSlot};
use crate::types::Overloaded;

/// A place in a key's queue; dropping it gives it up.
#[derive(Debug)]
pub(crate) struct QueuePlace<T: Tenant> {
    pub(super) gate: Arc<Gate<T>>,
    pub(super) key: LockKey,
    pub(super) admitted: Option<oneshot::Receiver<Admission<T>>>,
    /// `None` for one that waits only for pending releases: it does not count as a waiter.
    pub(super) _one: Option<WaiterSlot>,
}

impl<T: Tenant> QueuePlace<T> {
    /// Waits for the admission. Cancel safe: the place stays. `None`: the gate was closed.
    pub(crate) async fn admitted(&mut self) -> Option<Admission<T>> {
        let mut turn = self.admitted.as_mut()?.await.ok()?;
        if let Admission::Contend(permit) = &mut turn {
            permit.queued = true;
        }
        self.admitted = None;
        Some(turn)
    }
}

impl<T: Tenant> Drop for QueuePlace<T> {
    fn drop(&mut self) {
        if let Some(admitted) = self.admitted.take() {
            // Closed before the queue is read: an admission that was sent at this moment is dropped
            // with the channel, and its permit admits the next waiter.
            drop(admitted);
            // The waiter behind may fit now.
            self.gate.change(&self.key, |_| {});
        }
    }
}

/// The right to contend for a key, and to hold it, on behalf of this process.
#[derive(Debug)]
pub(crate) struct Permit<T: Tenant> {
    pub(super) gate: Arc<Gate<T>>,
    pub(super) key: LockKey,
    pub(super) access: Access,
    /// Its number among the pending releases.
    pub(super) releasing: Option<u32>,
    /// Whether the command by which it leaves the store's queue is still to be sent.
    pub(super) unsent: bool,
    /// Whether it was queued.
    pub(crate) queued: bool,
    /// Set while it waits for the store.
    pub(super) waits: Option<WaiterSlot>,
}

impl<T: Tenant> Permit<T> {
    /// Marks that only the confirmation of its release is outstanding, or takes that back.
    pub(crate) fn set_releasing(&mut self, releasing: bool) {
        if self.releasing.is_some() == releasing {
            return;
        }
        if releasing {
            // The caller has given up. Its place in the store is still to be removed, but it must not
            // count as a waiter meanwhile: tasks that give up quickly would fill the limit with
            // places that no task waits for.
            self.wait_no_more();
        }
        self.leave_sent();
        let (number, unsent) = (&mut self.releasing, &mut self.unsent);
        let in_line = self.access == Access::StoreQueued;
        self.gate.change(&self.key, |state| match number.take() {
            Some(number) => state.finish_release(number),
            None => {
                *number = Some(state.start_release());
                *unsent = in_line;
                state.unsent += u32::from(in_line);
            }
        });
    }

    /// The command by which it leaves the store's queue is on its way, so new places may be taken.
    pub(crate) fn leave_sent(&mut self) {
        if std::mem::take(&mut self.unsent) {
            self.gate.change(&self.key, |state| state.unsent -= 1);
        }
    }

    /// Until when it defers to other processes; `None` if it was not queued.
    pub(crate) fn defer_until(&self) -> Option<Instant> {
        if self.queued { self.gate.defer_until(&self.key) } else { None }
    }

    /// The waiters behind this one do not contend in the store before `until`.
    pub(crate) fn defer_others(&self, until: Instant) {
        self.gate.change(&self.key, |state| {
            let defer_until = &mut state.wait_queue().defer_until;
            *defer_until = (*defer_until).max(Some(until));
        });
    }

    /// The store has refused this contender for a semaphore: until it is granted, no permit is free.
    pub(crate) fn refused(&mut self) {
        if self.access == Access::SingleContender {
            self.gate.change(&self.key, |state| state.refused = true);
        }
    }

    /// Counts it as a waiter at the store, which has refused it; fails if the limit is reached.
    pub(crate) fn wait(&mut self, most: Option<usize>) -> Result<(), Overloaded> {
        if self.waits.is_some() {
            return Ok(());
        }
        let overloaded = |waiters, in_all| Overloaded { key: self.key.clone(), waiters, in_all };
        let one =
            self.gate.waiters.join(self.queued).map_err(|waiters| overloaded(waiters, true))?;
        let most = most.unwrap_or(self.gate.most_waiting);
        let mut waiting = None;
        self.gate.change(&self.key, |state| {
            state.prune_cancelled(most);
            // The queue does not count against it: those waiters arrived later, and refusing this one
            // because of them would let a newcomer displace it.
            let waiting_at_store = state.waiting_at_store as usize;
            if waiting_at_store < most {
                state.waiting_at_store += 1;
            } else {
                waiting = Some(waiting_at_store);
            }
        });
        if let Some(waiting) = waiting {
            return Err(overloaded(waiting, false));
        }
        self.waits = Some(one);
        Ok(())
    }

    pub(crate) fn wait_no_more(&mut self) {
        if self.waits.take().is_some() {
            self.gate.change(&self.key, |state| state.waiting_at_store -= 1);
        }
    }

    /// Makes a reader the writer if it is the only reader here. Where readers of this process are not
    /// counted, the store decides.
    pub(crate) fn upgrade(&mut self) -> bool {
        if self.access != Access::Read {
            // Not counted as a reader, or a write already: the scope's own, or one whose release is not
            // confirmed yet.
            return true;
        }
        let mut alone = false;
        self.gate.change(&self.key, |state| {
            // Checked and changed under one lock: a reader that enters in between would read beside the
            // writer.
            alone = state.readers == 1;
            if alone {
                state.leave(Access::Read);
                state.enter(Access::Write);
            }
        });
        if alone {
            self.access = Access::Write;
        }
        alone
    }

    pub(crate) fn downgrade(&mut self) {
        if self.access == Access::Write {
            self.become_one_of(Access::Read);
        }
    }

    /// The lock is granted: where others may hold it too, the next waiter may contend.
    pub(crate) fn stay(&mut self) {
        if matches!(self.access, Access::SingleContender | Access::StoreQueued) {
            self.become_one_of(Access::Holding);
        }
    }

    /// Another lock is in the way of this contender for a semaphore: the next one may contend beside it.
    pub(crate) fn step_aside(&mut self) {
        if self.access == Access::SingleContender {
            self.become_one_of(Access::Holding);
        }
    }

    fn become_one_of(&mut self, access: Access) {
        let before = std::mem::replace(&mut self.access, access);
        self.gate.change(&self.key, |state| {
            state.leave(before);
            state.enter(access);
        });
    }
}

impl<T: Tenant> Drop for Permit<T> {
    fn drop(&mut self) {
        self.wait_no_more();
        self.leave_sent();
        let (access, releasing) = (self.access, self.releasing);
        self.gate.change(&self.key, |state| {
            state.leave(access);
            if let Some(number) = releasing {
                state.finish_release(number);
            }
        });
    }
}
