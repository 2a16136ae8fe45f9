//! The right to be inside, and a place in the queue for it. Dropping either is leaving.

use std::sync::Arc;

use tokio::sync::oneshot;

use super::Gate;
use crate::{LockKey, Mode};

/// A place in a key's queue; dropping it is leaving.
#[derive(Debug)]
pub(crate) struct QueuePlace {
    pub(super) gate: Arc<Gate>,
    pub(super) key: LockKey,
    pub(super) admitted: Option<oneshot::Receiver<Permit>>,
}

impl QueuePlace {
    /// Cancel safe: the place stays.
    pub(crate) async fn admitted(&mut self) -> Permit {
        let Some(admitted) = &mut self.admitted else {
            return std::future::pending().await;
        };
        let permit = admitted.await.expect("BUG: a waiter was dropped from the queue");
        self.admitted = None;
        permit
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
    pub(super) mode: Mode,
    pub(super) leaving: bool,
}

impl Permit {
    /// Whether only the confirmation of a release is outstanding.
    pub(crate) fn set_leaving(&mut self, leaving: bool) {
        if self.leaving != leaving {
            self.leaving = leaving;
            self.gate.change(&self.key, |inside| {
                if leaving { inside.leaving += 1 } else { inside.leaving -= 1 }
            });
        }
    }

    /// Makes a reader the writer, if it is alone inside.
    pub(crate) fn upgrade(&mut self) -> bool {
        if self.mode == Mode::Write {
            // A write whose release is not confirmed yet.
            return true;
        }
        let mut alone = false;
        self.gate.change(&self.key, |inside| {
            alone = inside.readers == 1;
            if alone {
                inside.leave(Mode::Read);
                inside.enter(Mode::Write);
            }
        });
        if alone {
            self.mode = Mode::Write;
        }
        alone
    }

    pub(crate) fn downgrade(&mut self) {
        if self.mode == Mode::Write {
            self.mode = Mode::Read;
            self.gate.change(&self.key, |inside| {
                inside.leave(Mode::Write);
                inside.enter(Mode::Read);
            });
        }
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let (mode, leaving) = (self.mode, self.leaving);
        self.gate.change(&self.key, |inside| {
            inside.leave(mode);
            inside.leaving -= usize::from(leaving);
        });
    }
}
