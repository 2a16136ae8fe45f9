use std::{
    hash::{BuildHasher, RandomState},
    time::Duration,
};

/// The longest `Retry-After`. Holds are meant to be short, and a lease only bounds how long a dead
/// holder keeps the lock.
const MOST: Duration = Duration::from_secs(2);
/// The shortest `Retry-After`. An answer and a new request take time too.
const LEAST: Duration = Duration::from_millis(100);
/// The assumed duration of holds before one was observed.
const UNKNOWN_HOLD: Duration = Duration::from_secs(1);
/// The jitter, as a fraction in each direction.
const SPREAD: f64 = 0.25;

/// Estimates when a hold ends, from earlier holds. A hold that has already lasted longer than they
/// did, for as long as the caller has `waited`, is assumed to be a long one.
pub(super) fn when_released(
    mean: Option<Duration>,
    waited: Duration,
    holder_remaining: Option<Duration>,
) -> Duration {
    let hold = mean.unwrap_or(UNKNOWN_HOLD).max(waited);
    holder_remaining.map_or(hold, |remaining| hold.min(remaining))
}

/// Adds jitter to `about`, so that clients refused together do not retry together.
pub(super) fn jittered(about: Duration) -> Duration {
    jittered_by(about, random())
}

/// Adds jitter; `random` is from 0 to 1.
fn jittered_by(about: Duration, random: f64) -> Duration {
    // Stay below the limit by the jitter. Otherwise all long estimates would be clamped to the
    // limit, and their clients would retry together.
    let about = about.min(MOST.div_f64(1.0 + SPREAD));
    let jittered = about.mul_f64(1.0 - SPREAD + 2.0 * SPREAD * random).clamp(LEAST, MOST);
    // Use whole milliseconds, as the document does, so that the header's seconds match it.
    Duration::from_millis(u64::try_from(jittered.as_millis()).unwrap_or(0))
}

/// Returns a number that is random enough to scatter clients, from the standard library alone: each
/// `RandomState` hashes differently.
fn random() -> f64 {
    let bits = u32::try_from(RandomState::new().hash_one(0_u8) >> 32).unwrap_or(0);
    f64::from(bits) / f64::from(u32::MAX)
}

/// Rounds up to the header's whole seconds, so that no client retries too early.
pub(super) fn whole_seconds(retry_after: Duration) -> u64 {
    retry_after.as_secs_f64().ceil().max(1.0) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn observed_holds_count_more_than_leases() {
        assert_eq!(when_released(Some(ms(40)), ms(0), Some(ms(30_000))), ms(40));
        assert_eq!(when_released(Some(ms(4_000)), ms(0), Some(ms(300))), ms(300));
        assert_eq!(when_released(None, ms(0), None), ms(1_000));
        assert_eq!(when_released(None, ms(0), Some(ms(200))), ms(200));
        assert_eq!(when_released(Some(ms(40)), ms(900), Some(ms(30_000))), ms(900));
    }

    #[test]
    fn jitter_stays_between_the_limits() {
        assert_eq!(jittered_by(ms(1_000), 0.0), ms(750));
        assert_eq!(jittered_by(ms(1_000), 1.0), ms(1_250));
        assert_eq!(jittered_by(ms(60_000), 1.0), MOST);
        assert_eq!(jittered_by(ms(60_000), 0.0), ms(1_200));
        assert_eq!(jittered_by(ms(1), 0.5), LEAST);
    }

    #[test]
    fn the_header_and_the_document_have_the_same_value() {
        assert_eq!(jittered_by(ms(1_000), 0.500_8), ms(1_000));
        assert_eq!(whole_seconds(jittered_by(ms(1_000), 0.500_8)), 1);
    }

    #[test]
    fn clients_are_scattered() {
        let times: std::collections::HashSet<_> = (0..50).map(|_| jittered(ms(1_000))).collect();
        assert!(times.len() > 25, "{} different times of 50", times.len());
    }

    #[test]
    fn the_header_is_never_below_the_estimate() {
        assert_eq!(whole_seconds(ms(100)), 1);
        assert_eq!(whole_seconds(ms(1_000)), 1);
        assert_eq!(whole_seconds(ms(1_001)), 2);
        assert_eq!(whole_seconds(MOST), 2);
    }
}
