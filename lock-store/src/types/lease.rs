//! How long a hold may be believed in: pure arithmetic, no clock, no I/O.

use std::time::Duration;

/// How long one command may take before the store counts as unavailable, by default.
pub const DEFAULT_COMMAND_TIMEOUT: Duration = Duration::from_millis(500);
/// The default lease.
pub const DEFAULT_LEASE: Duration = Duration::from_secs(30);

/// Returns the safety margin at the end of a lease: a twentieth of it, at least 10 ms, at most a
/// quarter. By its own clock a holder knows of its loss before the store can grant the lock to
/// another client.
#[inline]
pub fn margin(lease: Duration) -> Duration {
    (lease / 20).max(Duration::from_millis(10)).min(lease / 4)
}

/// Returns the time from sending an acquire or a renewal to the moment the holder stops believing
/// in it.
#[must_use]
#[inline]
pub fn validity(lease: Duration) -> Duration {
    lease - margin(lease)
}

/// Returns the time from one renewal to the next: a third of the lease, so two may fail.
#[inline]
pub fn renewal_period(lease: Duration) -> Duration {
    lease / 3
}

/// Returns how soon a renewal of unknown outcome is tried again.
#[inline]
pub fn renewal_retry(lease: Duration) -> Duration {
    (lease / 12).clamp(Duration::from_millis(20), Duration::from_secs(1))
}

/// Returns how much sooner than due a hold may be renewed to share a round trip with others.
#[inline]
pub fn renewal_window(lease: Duration) -> Duration {
    renewal_period(lease) / 10
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn margins() {
        let ms = Duration::from_millis;
        assert_eq!(margin(ms(30_000)), ms(1_500));
        assert_eq!(margin(ms(100)), ms(10));
        assert_eq!(margin(ms(20)), ms(5));
        assert_eq!(validity(ms(30_000)), ms(28_500));
    }

    #[test]
    fn renewals() {
        let ms = Duration::from_millis;
        assert_eq!(renewal_period(ms(30_000)), ms(10_000));
        assert_eq!(renewal_window(ms(30_000)), ms(1_000));
        assert_eq!(renewal_retry(ms(100)), ms(20));
        assert_eq!(renewal_retry(ms(6_000)), ms(500));
        assert_eq!(renewal_retry(ms(30_000)), ms(1_000));
    }
}
