//! Whether this process runs at all: a thread that does nothing but look at the clock. What keeps it
//! from that is the machine's doing, or a signal's, and nothing that a lock could help.

use std::{sync::Weak, thread, time::Duration};

use super::Worker;
use crate::{
    clock::{MS, Nanos, now},
    history::Record,
};

const BEAT: Duration = Duration::from_millis(5);
/// From here on it is written down.
const STOOD_STILL: Nanos = 100 * MS;

/// Beats for as long as there is a worker.
pub(super) fn beat(worker: Weak<Worker>) {
    thread::spawn(move || {
        let mut last = now();
        loop {
            thread::sleep(BEAT);
            let Some(worker) = worker.upgrade() else { return };
            let at = now();
            if at > last + STOOD_STILL {
                worker.write(&Record::Stood { from: last, at });
            }
            last = at;
        }
    });
}
