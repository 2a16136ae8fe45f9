//! Renewal (the watchdog): one task per client renews every lease before it ends.
//!
//! Leases are kept in the order in which they are due. A due lease is renewed together with those
//! that soon will be, up to 32 leases per round trip. If more are due at once, their batches are
//! spread over time, so that commands of requests are executed in between. Each batch is separate:
//! one that fails or hangs holds up no other. A lease of unknown outcome is tried again until its
//! own clock shows that it is lost.

mod batch;
mod schedule;

use std::{sync::Arc, time::Duration};

use futures_util::stream::{FuturesUnordered, StreamExt};
use lock_store::{
    Mode, StoreError,
    runtime::{LeaseInstant, lease_clock},
};

use super::{StepPermit, linger::LingeringGuard};

pub(crate) use schedule::{Schedule, ScheduleKey};

/// How soon a lease is checked again while another command of it is in flight.
const BUSY_RETRY: Duration = Duration::from_millis(20);

/// Renews one lease at once.
pub(super) async fn renew_now(step: StepPermit, mode: Mode) -> Result<(), StoreError> {
    batch::Batch::of(step, mode).renew().await
}

/// The watchdog: one per client.
pub(crate) async fn work(schedule: Arc<Schedule>) {
    let (mut under_way, mut leaving) = (FuturesUnordered::new(), FuturesUnordered::new());
    while !schedule.is_closed() {
        leaving.extend(schedule.take_lingering().into_iter().map(LingeringGuard::leave));
        let next = schedule.next_look();
        let due = async {
            match next {
                Some(moment) => lease_clock::sleep_until(moment).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = due => {}
            // A lease was added that is due before `next`: without this the task would sleep past
            // it, and the lease would end unrenewed.
            () = schedule.sooner.notified() => continue,
            Some(_) = under_way.next() => continue,
            Some(()) = leaving.next() => continue,
        }
        for batch in batch::batches(&schedule, schedule.take_due(LeaseInstant::now())) {
            // Not awaited here: a shard that does not answer would hold up the renewals of all
            // others.
            under_way.push(batch.renew());
        }
    }
}
