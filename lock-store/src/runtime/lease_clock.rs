//! The one clock that leases are measured with: it never goes back, and it counts the time that the
//! machine was suspended.
//!
//! Tokio's clock supplies the time, so a paused clock in a test pauses leases too. On Linux it is
//! `CLOCK_MONOTONIC`, which stops while a laptop sleeps or a virtual machine is frozen. The time by
//! which `CLOCK_BOOTTIME` is ahead of it is added: otherwise a woken holder would rely on a lease
//! that Redis granted to another client hours ago. On Apple's systems it is `CLOCK_UPTIME_RAW`, and
//! `CLOCK_MONOTONIC` is the one that counts sleep. On Windows the performance counter counts it. On
//! other systems suspension is not counted.

use std::{num::NonZeroU64, sync::LazyLock, time::Duration};

use tokio::time::Instant;

#[cfg(feature = "test-util")]
thread_local! {
    static PRETENDED: std::cell::Cell<Duration> = const { std::cell::Cell::new(Duration::ZERO) };
}

/// Simulates that the machine is suspended for this long now, for everything that runs on this
/// thread.
#[cfg(feature = "test-util")]
pub fn suspend(span: Duration) {
    PRETENDED.set(PRETENDED.get() + span);
}

#[cfg(feature = "test-util")]
fn pretended() -> Duration {
    PRETENDED.get()
}

#[cfg(not(feature = "test-util"))]
fn pretended() -> Duration {
    Duration::ZERO
}

/// A moment on the lease clock. A hold has many of them: they are smaller than an `Instant`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct LeaseInstant {
    /// Nanoseconds of Tokio's clock plus those suspended so far, counted from long before the first
    /// reading.
    at: NonZeroU64,
}

/// A paused clock of another test may be behind the one that was read first.
const FIRST_LOOK: u64 = 1 << 62;

impl LeaseInstant {
    /// Earlier than every reading.
    pub const BEFORE_ALL: Self = Self { at: NonZeroU64::MIN };

    #[inline]
    pub fn now() -> Self {
        Self::of(Instant::now())
    }

    /// The moment of `now`, a reading of Tokio's clock that was taken just before.
    #[inline]
    pub fn of(now: Instant) -> Self {
        static FIRST: LazyLock<Instant> = LazyLock::new(Instant::now);
        let first = *FIRST;
        let looked = match now.checked_duration_since(first) {
            Some(ahead) => FIRST_LOOK.saturating_add(nanos(ahead)),
            None => FIRST_LOOK.saturating_sub(nanos(first.saturating_duration_since(now))),
        };
        let at = looked.saturating_add(suspended()).saturating_add(nanos(pretended()));
        Self { at: NonZeroU64::new(at).unwrap_or(NonZeroU64::MIN) }
    }

    #[inline]
    pub fn until(self, later: LeaseInstant) -> Duration {
        Duration::from_nanos(later.at.get().saturating_sub(self.at.get()))
    }

    #[inline]
    pub fn since(self, earlier: LeaseInstant) -> Duration {
        earlier.until(self)
    }

    #[inline]
    pub fn after(self, span: Duration) -> Self {
        Self { at: self.at.saturating_add(nanos(span)) }
    }

    #[inline]
    pub fn before(self, span: Duration) -> Self {
        let at = NonZeroU64::new(self.at.get().saturating_sub(nanos(span)));
        Self { at: at.unwrap_or(NonZeroU64::MIN) }
    }

    /// The next moment after this one.
    #[inline]
    pub fn next(self) -> Self {
        Self { at: self.at.saturating_add(1) }
    }
}

#[inline]
fn nanos(span: Duration) -> u64 {
    // In 64 bits: every acquisition computes this several times, and 128 bits cost it twice as much.
    let whole = span.as_secs().saturating_mul(1_000_000_000);
    whole.saturating_add(u64::from(span.subsec_nanos()))
}

/// Sleeps until the lease clock shows `moment`, in slices, because a timer does not see suspension.
pub async fn sleep_until(moment: LeaseInstant) {
    const SLICE: Duration = Duration::from_secs(1);
    loop {
        let left = LeaseInstant::now().until(moment);
        if left.is_zero() {
            return;
        }
        tokio::time::sleep(left.min(SLICE)).await;
    }
}

/// A smaller difference between two clocks, in nanoseconds, is the time between two readings.
const BETWEEN_READINGS: u64 = 1_000_000;

#[inline]
fn suspended_for(gain: u64) -> u64 {
    if gain < BETWEEN_READINGS { 0 } else { gain }
}

/// How long the machine has been suspended since the first reading, in nanoseconds.
#[cfg(any(target_os = "linux", target_vendor = "apple"))]
#[inline]
fn suspended() -> u64 {
    use rustix::time::{ClockId, clock_gettime};

    fn read(clock: ClockId) -> u64 {
        let time = clock_gettime(clock);
        let whole = u64::try_from(time.tv_sec).unwrap_or(0).saturating_mul(1_000_000_000);
        whole.saturating_add(u64::try_from(time.tv_nsec).unwrap_or(0))
    }
    // The clock that counts suspension first: being descheduled between the two readings can then only
    // hide a moment of suspension, never invent one.
    #[cfg(target_os = "linux")]
    fn gained() -> u64 {
        let boottime = read(ClockId::Boottime);
        boottime.saturating_sub(read(ClockId::Monotonic))
    }
    #[cfg(target_vendor = "apple")]
    fn gained() -> u64 {
        static FIRST: LazyLock<std::time::Instant> = LazyLock::new(std::time::Instant::now);
        let first = *FIRST;
        let monotonic = read(ClockId::Monotonic);
        monotonic.saturating_sub(nanos(first.elapsed()))
    }
    static AT_START: LazyLock<u64> = LazyLock::new(|| gained().max(gained()).max(gained()));
    let start = *AT_START;
    suspended_for(gained().saturating_sub(start))
}

#[cfg(not(any(target_os = "linux", target_vendor = "apple")))]
#[inline]
fn suspended() -> u64 {
    suspended_for(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_passes_between_two_readings_is_no_suspension() {
        let ms = |ms| nanos(Duration::from_millis(ms));
        assert_eq!(suspended_for(ms(1) - 1), 0);
        assert_eq!(suspended_for(ms(1)), ms(1));
        assert_eq!(suspended_for(ms(3_600_000)), ms(3_600_000));
    }
}
