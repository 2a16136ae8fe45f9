//! Whether this process runs at all: a thread on each processor that does nothing but look at the
//! clock. What keeps one from that is the machine's doing, or a signal's, and nothing that a lock
//! could help.

use std::{sync::Weak, time::Duration};

use lock_tests::beat_on_each_processor;

use super::Worker;
use crate::{
    clock::{nanos, now},
    history::Record,
};

/// From here on it is written down.
const STOOD_STILL: Duration = Duration::from_millis(100);

/// Beats for as long as there is a worker.
pub(super) fn beat(worker: &Weak<Worker>) {
    let worker = Weak::clone(worker);
    beat_on_each_processor(move |_, since| {
        let Some(worker) = worker.upgrade() else { return false };
        if since > STOOD_STILL {
            let at = now();
            worker.write(&Record::Stood { from: at - nanos(since), at });
        }
        true
    });
}
