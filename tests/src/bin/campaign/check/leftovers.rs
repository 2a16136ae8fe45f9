//! When all workers have ended and the longest lease is over, nothing of theirs is in Redis but what
//! is meant to stay.

use super::{Finding, Verdict};

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

pub(super) fn check(leftovers: &[Leftover], verdict: &mut Verdict) {
    for Leftover { key, ttl } in leftovers.iter().filter(|leftover| leftover.is_wrong()) {
        let what = format!("{key} is left for {ttl} ms");
        let key = Some(key.clone());
        verdict.findings.push(Finding { check: "leftovers", at: 0, key, what });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_that_is_left_is_found() {
        let left = |key: &str| Leftover { key: key.to_owned(), ttl: 1_000 };
        let mut verdict = Verdict::default();
        let meant = ["redisson_lock_token:{lock:a}", "lock_client:1", "{lock:semaphore:0}:timeout"];
        check(&meant.map(left), &mut verdict);
        assert!(verdict.findings.is_empty());
        check(&[left("lock:read_write:0"), left("lock_next:{lock:fair:0}")], &mut verdict);
        assert_eq!(verdict.findings.len(), 2);
    }
}
