//! Who of this process is inside one key's gate, and who waits before it.

use std::{
    collections::{BTreeSet, VecDeque},
    sync::Weak,
};

use tokio::{sync::oneshot, time::Instant};

use super::{Access, Turn};
use crate::{hand_over::Fit, hold::Hold};

#[derive(Debug, Default)]
pub(super) struct Inside {
    pub(super) readers: usize,
    pub(super) writing: bool,
    /// Somebody contends for a semaphore.
    contending: bool,
    /// The store has refused it: it waits for a permit there.
    pub(super) refused: bool,
    /// How many stand in the store's own line.
    pub(super) lined_up: usize,
    /// How many of those inside the store has refused, and wait for it.
    pub(super) waiting_inside: usize,
    /// How many hold what others may hold beside them.
    staying: usize,
    /// Those inside that have been released but not confirmed, by when they began to leave.
    leaving: BTreeSet<u64>,
    left_so_far: u64,
    /// To be told when everybody is gone who began to leave up to this number.
    watchers: Vec<(u64, oneshot::Sender<()>)>,
    pub(super) queue: VecDeque<Waiter>,
    /// Before this those in the queue let others try.
    pub(super) not_before: Option<Instant>,
    /// The reader inside whose hold others share.
    pub(super) host: Weak<Hold>,
    /// One that was left and is perhaps not on its way back yet.
    pub(super) on_offer: Weak<Hold>,
}

#[derive(Debug)]
pub(super) struct Waiter {
    pub(super) access: Access,
    /// The hold that it would take over.
    pub(super) takes: Option<Fit>,
    pub(super) admit: oneshot::Sender<Turn>,
}

impl Inside {
    pub(super) fn admits(&self, access: Access) -> bool {
        match access {
            Access::Read => !self.writing,
            Access::Write => !self.writing && self.readers == 0,
            Access::Turn => !self.contending,
            Access::Line | Access::Stay => true,
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

    /// Whoever gave up has left its place behind. A look at the whole queue is worth it only when
    /// it seems full.
    pub(super) fn forget_who_left(&mut self, most_waiting: usize) {
        while self.queue.front().is_some_and(|waiter| waiter.admit.is_closed()) {
            self.queue.pop_front();
        }
        if self.waiting() >= most_waiting {
            self.queue.retain(|waiter| !waiter.admit.is_closed());
        }
    }

    /// The one that is next, if it takes such a hold over. It waits no more.
    pub(super) fn next_to_take(&mut self, fit: Fit) -> Option<oneshot::Sender<Turn>> {
        while let Some(waiter) = self.queue.front() {
            if !waiter.admit.is_closed() && waiter.takes != Some(fit) {
                return None;
            }
            let waiter = self.queue.pop_front()?;
            if !waiter.admit.is_closed() {
                return Some(waiter.admit);
            }
        }
        None
    }

    /// Whether somebody who waits for nobody may wait all the same: for those who are only leaving.
    pub(super) fn hurries_in(&self, access: Access) -> bool {
        let alike = |waiter: &Waiter| {
            waiter.admit.is_closed() || access == Access::Read && waiter.access == Access::Read
        };
        self.leaving.len() == self.count() && self.queue.iter().all(alike)
    }

    /// How many wait: here and at the store.
    pub(super) fn waiting(&self) -> usize {
        self.queue.len() + self.waiting_inside
    }

    /// How many may wait, if so many should: behind those who are only leaving there is room for
    /// one in any case, for what they leave is as good as free.
    pub(super) fn most_waiting(&self, most: usize) -> usize {
        if self.leaving.len() == self.count() { most.max(1) } else { most }
    }

    pub(super) fn begin_to_leave(&mut self) -> u64 {
        self.left_so_far += 1;
        self.leaving.insert(self.left_so_far);
        self.left_so_far
    }

    /// It is gone, or stays after all.
    pub(super) fn leaves_no_more(&mut self, number: u64) {
        self.leaving.remove(&number);
        let first = self.leaving.first();
        self.watchers.retain(|(last, _)| first.is_some_and(|first| first <= last));
    }

    /// Resolves when those who are leaving now are gone; `None` when nobody is.
    pub(super) fn leavers(&mut self) -> Option<oneshot::Receiver<()>> {
        let last = *self.leaving.last()?;
        let (gone, leavers) = oneshot::channel();
        self.watchers.push((last, gone));
        Some(leavers)
    }

    pub(super) fn count(&self) -> usize {
        self.readers
            + usize::from(self.writing)
            + usize::from(self.contending)
            + self.lined_up
            + self.staying
    }
}
