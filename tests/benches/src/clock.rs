//! The one clock of the comparison, which all processes of the machine share, and the time that
//! this process has spent on a processor.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// Nanoseconds on `CLOCK_MONOTONIC`.
pub(crate) type Nanos = u64;

pub(crate) const US: f64 = 1_000.0;

const SECOND: Nanos = 1_000_000_000;

pub(crate) fn now() -> Nanos {
    read(ClockId::Monotonic)
}

/// Of all threads, in the kernel too.
pub(crate) fn processor_time() -> Nanos {
    read(ClockId::ProcessCPUTime)
}

pub(crate) fn nanos(time: Duration) -> Nanos {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

pub(crate) async fn sleep_until(at: Nanos) {
    tokio::time::sleep(Duration::from_nanos(at.saturating_sub(now()))).await;
}

fn read(clock: ClockId) -> Nanos {
    let time = clock_gettime(clock);
    let part = |value: i64| u64::try_from(value).expect("BUG: a clock before its start");
    part(time.tv_sec) * SECOND + part(time.tv_nsec)
}
