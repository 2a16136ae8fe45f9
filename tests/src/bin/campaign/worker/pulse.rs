//! Whether this process runs at all: a thread on each processor that does nothing but look at the
//! clock. What keeps one from that is the machine's doing, or a signal's, and nothing that a lock
//! could help. One processor can stand still alone, with the threads that wait for it.

use std::{sync::Weak, thread, time::Duration};

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use super::Worker;
use crate::{
    clock::{MS, Nanos, now},
    history::Record,
};

const BEAT: Duration = Duration::from_millis(5);
/// From here on it is written down.
const STOOD_STILL: Nanos = 100 * MS;

/// Beats for as long as there is a worker.
pub(super) fn beat(worker: &Weak<Worker>) {
    let processors = sched_getaffinity(None).expect("the processors of this process");
    for at in (0..CpuSet::MAX_CPU).filter(|at| processors.is_set(*at)) {
        let worker = Weak::clone(worker);
        thread::spawn(move || {
            let mut one = CpuSet::new();
            one.set(at);
            sched_setaffinity(None, &one).expect("a processor of this process");
            beat_here(&worker);
        });
    }
}

fn beat_here(worker: &Weak<Worker>) {
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
}
