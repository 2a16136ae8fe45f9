//! The right to be inside, and a place in the queue for it. Dropping either is leaving.

use std::sync::Arc;

use tokio::{sync::oneshot, time::Instant};

use super::{Access, Gate, Turn, waiters::OneWaiter};
use crate::types::{LockKey, Overloaded};

/// A place in a key's queue; dropping it is leaving.
#[derive(Debug)]
pub(crate) struct QueuePlace {
    pub(super) gate: Arc<Gate>,
    pub(super) key: LockKey,
    pub(super) admitted: Option<oneshot::Receiver<Turn>>,
    /// Who waits for nobody but those who are leaving does not count.
    pub(super) _one: Option<OneWaiter>,
}

impl QueuePlace {
    /// Cancel safe: the place stays. `None`: the gate was closed.
    pub(crate) async fn admitted(&mut self) -> Option<Turn> {
        let mut turn = self.admitted.as_mut()?.await.ok()?;
        if let Turn::Ask(permit) = &mut turn {
            permit.queued = true;
        }
        self.admitted = None;
        Some(turn)
    }
}

impl Drop for QueuePlace {
    fn drop(&mut self) {
        if let Some(admitted) = self.admitted.take() {
            drop(admitted);
            // Whoever stood behind may enter now.
            self.gate.change(&self.key, |_| {});
        }
    }
}

/// The right to contend for a key, and to hold it, on behalf of this process.
#[derive(Debug)]
pub(crate) struct Permit {
    pub(super) gate: Arc<Gate>,
    pub(super) key: LockKey,
    pub(super) access: Access,
    /// Its number among those who leave.
    pub(super) leaving: Option<u32>,
    /// Whether it had to queue for it.
    pub(crate) queued: bool,
    /// Whether it waits for the store.
    pub(super) waits: Option<OneWaiter>,
}

impl Permit {
    /// Whether only the confirmation of a release is outstanding.
    pub(crate) fn set_leaving(&mut self, leaving: bool) {
        if self.leaving.is_some() == leaving {
            return;
        }
        if leaving {
            // The caller has given up: it takes up no waiter's room while the store is told.
            self.wait_no_more();
        }
        let number = &mut self.leaving;
        self.gate.change(&self.key, |inside| match number.take() {
            Some(number) => inside.leaves_no_more(number),
            None => *number = Some(inside.begin_to_leave()),
        });
    }

    /// Before this it lets others try, where it has time to.
    pub(crate) fn not_before(&self) -> Option<Instant> {
        if self.queued { self.gate.not_before(&self.key) } else { None }
    }

    /// Those behind this one do not ask the store until then.
    pub(crate) fn stand_back(&self, until: Instant) {
        self.gate.change(&self.key, |inside| inside.crowd().not_before = Some(until));
    }

    /// The store has refused who contends for a semaphore: until it is granted no permit is free.
    pub(crate) fn refused(&mut self) {
        if self.access == Access::Turn {
            self.gate.change(&self.key, |inside| inside.refused = true);
        }
    }

    /// The store has refused, and it is to be waited for there: unless more than so many wait
    /// already.
    pub(crate) fn wait(&mut self, most: Option<usize>) -> Result<(), Overloaded> {
        if self.waits.is_some() {
            return Ok(());
        }
        let overloaded = |waiters, in_all| Overloaded { key: self.key.clone(), waiters, in_all };
        let one =
            self.gate.waiters.join(self.queued).map_err(|waiters| overloaded(waiters, true))?;
        let most = most.unwrap_or(self.gate.most_waiting);
        let mut waiting = None;
        self.gate.change(&self.key, |inside| {
            inside.forget_who_left(most);
            // Those in the queue stand behind this one.
            let waiting_inside = inside.waiting_inside as usize;
            if waiting_inside < most {
                inside.waiting_inside += 1;
            } else {
                waiting = Some(waiting_inside);
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
            self.gate.change(&self.key, |inside| inside.waiting_inside -= 1);
        }
    }

    /// Makes a reader the writer, if it is alone inside; where the store alone knows who else
    /// holds, it is for the store to say.
    pub(crate) fn upgrade(&mut self) -> bool {
        if self.access != Access::Read {
            // Or a write: the scope's own, or one whose release is not confirmed yet.
            return true;
        }
        let mut alone = false;
        self.gate.change(&self.key, |inside| {
            alone = inside.readers == 1;
            if alone {
                inside.leave(Access::Read);
                inside.enter(Access::Write);
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

    /// The lock is granted: where others may hold it too, the next may contend.
    pub(crate) fn stay(&mut self) {
        if matches!(self.access, Access::Turn | Access::Line) {
            self.become_one_of(Access::Stay);
        }
    }

    fn become_one_of(&mut self, access: Access) {
        let before = std::mem::replace(&mut self.access, access);
        self.gate.change(&self.key, |inside| {
            inside.leave(before);
            inside.enter(access);
        });
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.wait_no_more();
        let (access, leaving) = (self.access, self.leaving);
        self.gate.change(&self.key, |inside| {
            inside.leave(access);
            if let Some(number) = leaving {
                inside.leaves_no_more(number);
            }
        });
    }
}
