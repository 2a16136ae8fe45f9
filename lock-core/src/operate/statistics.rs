//! What a client has done since it was built.

use std::sync::atomic::Ordering::Relaxed;

use crate::{hold::ClientInner, types::ClientStatistics};

pub(crate) fn statistics(engine: &ClientInner) -> ClientStatistics {
    let counts = &engine.statistics;
    ClientStatistics {
        acquire: counts.acquire.get(),
        release: counts.release.get(),
        renew: counts.renew.get(),
        renewed: counts.renewed.get(),
        shared_reads: counts.shared_reads.get(),
        local_handoffs: counts.local_handoffs.get(),
        deadlocks: counts.deadlocks.get(),
        breaker_opened: counts.breaker_opened.get(),
        breaker_open: engine.breaker.is_open(),
        waiting: engine.gate.waiting(),
        longest_queue: engine.gate.longest_queue(),
        holds: engine.holds.load(Relaxed),
    }
}
