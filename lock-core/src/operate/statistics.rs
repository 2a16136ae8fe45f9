//! Counts of a client since it was built.

use std::sync::atomic::Ordering::Relaxed;

use crate::{hold::ClientInner, types::ClientStatistics};

pub(crate) fn statistics(client: &ClientInner) -> ClientStatistics {
    let counts = &client.statistics;
    ClientStatistics {
        acquire: counts.acquire.get(),
        release: counts.release.get(),
        renew: counts.renew.get(),
        renewed: counts.renewed.get(),
        shared_reads: counts.shared_reads.get(),
        local_handoffs: counts.local_handoffs.get(),
        deadlocks: counts.deadlocks.get(),
        breaker_opened: counts.breaker_opened.get(),
        breaker_open: client.breaker.is_open(),
        waiting: client.gate.waiting() + client.flights.waiting(),
        longest_queue: client.gate.longest_queue().max(client.flights.longest_queue()),
        holds: client.holds.load(Relaxed),
        leaders: counts.leaders.statuses(),
    }
}
