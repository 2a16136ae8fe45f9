//! Who of this process is inside one key's gate, and who waits before it.

use std::collections::VecDeque;

use tokio::sync::oneshot;

use super::Permit;
use crate::Mode;

#[derive(Debug, Default)]
pub(super) struct Inside {
    pub(super) readers: usize,
    pub(super) writing: bool,
    /// How many of those inside have been released but not confirmed.
    pub(super) leaving: usize,
    pub(super) queue: VecDeque<Waiter>,
}

#[derive(Debug)]
pub(super) struct Waiter {
    pub(super) mode: Mode,
    pub(super) admit: oneshot::Sender<Permit>,
}

impl Inside {
    pub(super) fn admits(&self, mode: Mode) -> bool {
        match mode {
            Mode::Read => !self.writing,
            Mode::Write => !self.writing && self.readers == 0,
        }
    }

    pub(super) fn enter(&mut self, mode: Mode) {
        match mode {
            Mode::Read => self.readers += 1,
            Mode::Write => self.writing = true,
        }
    }

    pub(super) fn leave(&mut self, mode: Mode) {
        match mode {
            Mode::Read => self.readers -= 1,
            Mode::Write => self.writing = false,
        }
    }

    /// Whoever gave up has left its place behind. A look at the whole queue is worth it only when
    /// it seems full.
    pub(super) fn forget_who_left(&mut self, most_waiting: usize) {
        while self.queue.front().is_some_and(|waiter| waiter.admit.is_closed()) {
            self.queue.pop_front();
        }
        if self.queue.len() >= most_waiting {
            self.queue.retain(|waiter| !waiter.admit.is_closed());
        }
    }

    /// Whether somebody who waits for nobody may wait all the same: for those who are only leaving.
    pub(super) fn hurries_in(&self, mode: Mode) -> bool {
        let alike = |waiter: &Waiter| {
            waiter.admit.is_closed() || mode == Mode::Read && waiter.mode == Mode::Read
        };
        self.leaving == self.count() && self.queue.iter().all(alike)
    }

    pub(super) fn count(&self) -> usize {
        self.readers + usize::from(self.writing)
    }
}
