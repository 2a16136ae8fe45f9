//! When all workers have ended and the longest lease is over, nothing of theirs is in Redis but what
//! is meant to stay.

use super::{Finding, Verdict, Windows};
use crate::clock::Nanos;

/// No key of the campaign is given so long; what has it got it from a clock that jumped back.
const BY_THE_CLOCK_MS: i64 = 30 * 60 * 1_000;

const TOKEN_MS: i64 = 60 * 60 * 1_000;
/// Of clients' names, and of what the long holds of a client that died were for.
const NAME_MS: i64 = 60 * 1_000;
const RECORD_MS: i64 = 5 * 60 * 1_000;

/// A key that stands in Redis at the end, and for how many milliseconds still.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Leftover {
    pub(crate) key: String,
    pub(crate) ttl: i64,
}

impl Leftover {
    /// What P9 names stays, and no longer than it says; `filler:` are keys of the campaign's own.
    pub(crate) fn is_wrong(&self) -> bool {
        let is = |prefix: &str| self.key.starts_with(prefix);
        let ends_within = |most: i64| (0..=most).contains(&self.ttl);
        // Of the native wire.
        if is("lock_token:lock:") {
            return false;
        }
        // A leader's lock is a fenced one.
        let is_fenced = ["fenced", "leader"]
            .iter()
            .any(|name| is(&format!("redisson_lock_token:{{lock:{name}:")));
        if is_fenced || is("lock:semaphore:") || is("filler:") {
            return false;
        }
        if is("{lock:semaphore:") && self.key.ends_with(":timeout") {
            return false;
        }
        if is("redisson_lock_token:") {
            return !ends_within(TOKEN_MS);
        }
        // A name is under a UUID alone, a record under an owner: that and a number, or a permit.
        let is_name = self.key.contains('-') && self.key.matches(':').count() == 1;
        let most = if is_name { NAME_MS } else { RECORD_MS };
        !(is("lock_client:") && ends_within(most))
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

    #[test]
    fn what_may_stay_for_a_while_may_not_stay_longer() {
        let left = |key: &str, ttl| Leftover { key: key.to_owned(), ttl };
        let token = "redisson_lock_token:{lock:fair:0}";
        for (name, ttl) in
            [(token, -1), (token, 3_600_001), ("lock_client:1", -1), ("lock_client:a-b", 60_001)]
        {
            assert!(left(name, ttl).is_wrong(), "{name} {ttl}");
        }
        for (name, ttl) in [
            (token, 3_600_000),
            ("redisson_lock_token:{lock:fenced:0}", -1),
            ("redisson_lock_token:{lock:leader:0}", -1),
            ("lock_client:a-b:2", 300_000),
            ("lock_client:ab", 300_000),
        ] {
            assert!(!left(name, ttl).is_wrong(), "{name} {ttl}");
        }
    }
}
