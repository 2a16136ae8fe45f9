//! When all workers have ended and the longest lease is over, nothing of theirs is in Redis but what
//! is meant to stay.

use super::{Finding, Verdict, Windows};
use crate::clock::Nanos;

/// No key of the campaign is given so long; what has it got it from a clock that jumped back.
const BY_THE_CLOCK_MS: i64 = 30 * 60 * 1_000;

/// A key that stands in Redis at the end, and for how many milliseconds still.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Leftover {
    pub(crate) key: String,
    pub(crate) ttl: i64,
}

impl Leftover {
    /// Tokens stay for an hour or for ever, a client's name for a minute, a semaphore's permits for
    /// ever as in Redisson.
    pub(crate) fn is_wrong(&self) -> bool {
        let stays = ["redisson_lock_token:", "lock_client:", "lock:semaphore:", "filler:"];
        let leases = self.key.starts_with("{lock:semaphore:") && self.key.ends_with(":timeout");
        !leases && !stays.iter().any(|prefix| self.key.starts_with(prefix))
    }
}

pub(super) fn check(leftovers: &[Leftover], windows: &Windows, verdict: &mut Verdict) {
    let jumped = windows.clock_jumped(0, Nanos::MAX);
    for Leftover { key, ttl } in leftovers.iter().filter(|leftover| leftover.is_wrong()) {
        if jumped && *ttl > BY_THE_CLOCK_MS {
            verdict.kept_by_the_clock += 1;
            continue;
        }
        let what = format!("{key} is left for {ttl} ms");
        let key = Some(key.clone());
        verdict.findings.push(Finding { check: "leftovers", at: 0, key, what });
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::quiet;
    use super::*;

    #[test]
    fn a_lock_that_is_left_is_found() {
        let left = |key: &str| Leftover { key: key.to_owned(), ttl: 1_000 };
        let mut verdict = Verdict::default();
        let meant = ["redisson_lock_token:{lock:a}", "lock_client:1", "{lock:semaphore:0}:timeout"];
        check(&meant.map(left), &quiet(), &mut verdict);
        assert!(verdict.findings.is_empty());
        check(
            &[left("lock:read_write:0"), left("lock_waiters:{lock:fair:0}")],
            &quiet(),
            &mut verdict,
        );
        assert_eq!(verdict.findings.len(), 2);
    }
}
