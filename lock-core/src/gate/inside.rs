//! Who of this process is inside one key's gate, and who waits before it.

use std::{collections::VecDeque, sync::Weak};

use tokio::{sync::oneshot, time::Instant};

use super::{Access, MAX_IN_LINE, Turn};
use crate::hold::{HandoffKey, Lease};

/// There is one for each lock that is held, so what most have no use for has memory of its own.
#[derive(Debug, Default)]
pub(super) struct Inside {
    pub(super) readers: u32,
    /// How many stand in the store's own line.
    pub(super) lined_up: u32,
    /// How many of those inside the store has refused, and wait for it.
    pub(super) waiting_inside: u32,
    /// How many hold what others may hold beside them.
    staying: u32,
    /// How many of those inside have been released but not confirmed.
    leaving: u32,
    /// How many have begun to leave so far.
    left_so_far: u32,
    pub(super) writing: bool,
    /// Somebody contends for a semaphore.
    contending: bool,
    /// The store has refused it: it waits for a permit there.
    pub(super) refused: bool,
    crowd: Option<Box<Crowd>>,
    /// The lease of the reader inside that leads.
    pub(super) host: Weak<Lease>,
}

/// Those before a key's gate.
#[derive(Debug, Default)]
pub(super) struct Crowd {
    queue: VecDeque<Waiter>,
    watchers: Vec<Watcher>,
    /// Before this those in the queue let others try.
    pub(super) not_before: Option<Instant>,
}

/// To be told when everybody is gone who began to leave up to a number.
#[derive(Debug)]
struct Watcher {
    last: u32,
    still_here: u32,
    gone: oneshot::Sender<()>,
}

#[derive(Debug)]
pub(super) struct Waiter {
    pub(super) access: Access,
    /// The lease that it would take.
    pub(super) takes: Option<HandoffKey>,
    pub(super) admit: oneshot::Sender<Turn>,
}

impl Inside {
    pub(super) fn admits(&self, access: Access) -> bool {
        match access {
            Access::Read => !self.writing,
            Access::Write => !self.writing && self.readers == 0,
            Access::Turn => !self.contending,
            Access::Line => self.lined_up < MAX_IN_LINE,
            Access::Stay => true,
        }
    }

    pub(super) fn enter(&mut self, access: Access) {
        match access {
            Access::Read => self.readers += 1,
            Access::Write => self.writing = true,
            Access::Turn => self.contending = true,
            Access::Line => self.lined_up += 1,
            Access::Stay => self.staying += 1,
        }
    }

    pub(super) fn leave(&mut self, access: Access) {
        match access {
            Access::Read => self.readers -= 1,
            Access::Write => self.writing = false,
            Access::Turn => (self.contending, self.refused) = (false, false),
            Access::Line => self.lined_up -= 1,
            Access::Stay => self.staying -= 1,
        }
    }

    pub(super) fn crowd(&mut self) -> &mut Crowd {
        self.crowd.get_or_insert_default()
    }

    pub(super) fn queue(&self) -> impl ExactSizeIterator<Item = &Waiter> {
        self.crowd.as_deref().map(|crowd| crowd.queue.iter()).unwrap_or_default()
    }

    pub(super) fn queued(&self) -> usize {
        self.queue().len()
    }

    pub(super) fn send_away(&mut self) -> Option<VecDeque<Waiter>> {
        self.crowd.as_deref_mut().map(|crowd| std::mem::take(&mut crowd.queue))
    }

    pub(super) fn stand_in_queue(&mut self, waiter: Waiter) {
        self.crowd().queue.push_back(waiter);
    }

    /// The one that is next, if it is still there and `enters`.
    pub(super) fn next_in_queue(
        &mut self,
        enters: impl Fn(&Self, &Waiter) -> bool,
    ) -> Option<Waiter> {
        loop {
            let next = self.queue().next()?;
            let has_left = next.admit.is_closed();
            if !has_left && !enters(self, next) {
                return None;
            }
            let next = self.crowd.as_mut()?.queue.pop_front()?;
            if !has_left {
                return Some(next);
            }
        }
    }

    /// Whoever gave up has left its place behind. A look at the whole queue is worth it only when
    /// it seems full.
    pub(super) fn forget_who_left(&mut self, most_waiting: usize) {
        let waiting = self.waiting();
        let Some(Crowd { queue, .. }) = self.crowd.as_deref_mut() else { return };
        while queue.front().is_some_and(|waiter| waiter.admit.is_closed()) {
            queue.pop_front();
        }
        if waiting >= most_waiting {
            queue.retain(|waiter| !waiter.admit.is_closed());
        }
    }

    /// Whether somebody who waits for nobody may wait all the same: for those who are only leaving.
    pub(super) fn hurries_in(&self, access: Access) -> bool {
        let alike = |waiter: &Waiter| {
            waiter.admit.is_closed() || access == Access::Read && waiter.access == Access::Read
        };
        self.all_leave() && self.queue().all(alike)
    }

    /// How many stand in the store's line whose waiters have not given up.
    pub(super) fn in_line(&self) -> usize {
        self.lined_up.saturating_sub(self.leaving) as usize
    }

    /// How many wait: here and at the store.
    pub(super) fn waiting(&self) -> usize {
        self.queued() + self.waiting_inside as usize
    }

    /// How many may wait, if so many should: behind those who are only leaving there is room for
    /// one in any case, for what they leave is as good as free.
    pub(super) fn most_waiting(&self, most: usize) -> usize {
        if self.all_leave() { most.max(1) } else { most }
    }

    fn all_leave(&self) -> bool {
        self.leaving == self.count()
    }

    /// Its number among those who leave.
    pub(super) fn begin_to_leave(&mut self) -> u32 {
        self.leaving += 1;
        self.left_so_far = self.left_so_far.wrapping_add(1);
        self.left_so_far
    }

    /// It is gone, or stays after all.
    pub(super) fn leaves_no_more(&mut self, number: u32) {
        self.leaving -= 1;
        let Some(Crowd { watchers, .. }) = self.crowd.as_deref_mut() else { return };
        watchers.retain_mut(|watcher| {
            // Numbers start anew after the greatest one.
            if watcher.last.wrapping_sub(number) < u32::MAX / 2 {
                watcher.still_here -= 1;
            }
            watcher.still_here > 0
        });
    }

    /// Resolves when those who are leaving now are gone; `None` when nobody is.
    pub(super) fn leavers(&mut self) -> Option<oneshot::Receiver<()>> {
        let (last, still_here) = (self.left_so_far, self.leaving);
        if still_here == 0 {
            return None;
        }
        let (gone, leavers) = oneshot::channel();
        let watchers = &mut self.crowd().watchers;
        if watchers.len() == watchers.capacity() {
            // Before it grows: where the store is gone nobody leaves for long, and nobody waits for it.
            watchers.retain(|watcher| !watcher.gone.is_closed());
        }
        watchers.push(Watcher { last, still_here, gone });
        Some(leavers)
    }

    pub(super) fn count(&self) -> u32 {
        self.readers
            + u32::from(self.writing)
            + u32::from(self.contending)
            + self.lined_up
            + self.staying
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::oneshot::error::TryRecvError;

    use super::*;

    #[test]
    fn nothing_is_kept_for_those_who_wait_for_leavers_no_more() {
        let mut inside = Inside::default();
        inside.enter(Access::Line);
        let number = inside.begin_to_leave();
        let mut waits = inside.leavers().expect("one is leaving");
        for _ in 0..1_000 {
            drop(inside.leavers());
        }
        assert!(inside.crowd().watchers.len() < 100);
        assert_eq!(waits.try_recv(), Err(TryRecvError::Empty));
        inside.leaves_no_more(number);
        assert_eq!(waits.try_recv(), Err(TryRecvError::Closed));
    }
}
