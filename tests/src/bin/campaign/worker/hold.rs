//! The critical section: looks at its guard again and again, as careful work does.

use std::{future::Future, pin::pin, time::Duration};

use lock_core::Lost;
use tokio::time::sleep;

use super::{Worker, held::Held};
use crate::{
    clock::{MS, Nanos, nanos, now},
    history::{Ending, Record},
};

/// From one look to the next.
const LOOK: Duration = Duration::from_millis(1);
/// A long hold is written down so often, in case its process is killed.
const WRITE: Nanos = 20 * MS;

/// How a hold stands after some work.
#[derive(Debug)]
pub(super) struct Looked {
    /// The last look that found it held.
    pub(super) last: Nanos,
    /// Until when belief would last as it was told then.
    pub(super) deadline: Nanos,
    /// When the loss was noticed, and what was told.
    pub(super) lost: Option<(Nanos, String)>,
}

impl Looked {
    pub(super) fn begin() -> Self {
        Self { last: now(), deadline: now(), lost: None }
    }

    /// Does something else than looking, and stops when the loss is told.
    pub(super) async fn unless_lost(
        &mut self,
        lost: impl Future<Output = Lost>,
        work: impl Future<Output = ()>,
    ) {
        tokio::select! {
            biased;
            lost = lost => self.lost = Some((now(), format!("{:?}", lost.cause()))),
            () = work => {}
        }
    }

    /// The record that ends the hold.
    pub(super) fn end(&self, n: u64, otherwise: Ending) -> Record {
        let (at, how) = match &self.lost {
            Some((at, cause)) => (*at, Ending::Lost(cause.clone())),
            None => (now(), otherwise),
        };
        Record::End { n, last: self.last, at, deadline: self.deadline, how }
    }
}

impl Worker {
    /// Works for as long as the guard says that it is held.
    pub(super) async fn protect(
        &self,
        n: u64,
        held: &Held,
        looked: &mut Looked,
        work: impl Future<Output = ()>,
    ) {
        let mut work = pin!(work);
        let mut lost = held.lost();
        let mut written = now();
        loop {
            // Before the look: what it says was true at this moment at the earliest.
            let at = now();
            if !held.is_held() {
                looked.lost = Some((now(), "a look".to_owned()));
                return;
            }
            looked.last = at;
            let left = nanos(held.remaining());
            looked.deadline = now() + left;
            if at > written + WRITE {
                written = at;
                self.write(&Record::Look { n, at, left });
            }
            tokio::select! {
                biased;
                lost = &mut lost => {
                    looked.lost = Some((now(), format!("{:?}", lost.cause())));
                    return;
                }
                () = &mut work => break,
                () = sleep(LOOK) => {}
            }
        }
        let at = now();
        if held.is_held() {
            looked.last = at;
        }
    }
}
