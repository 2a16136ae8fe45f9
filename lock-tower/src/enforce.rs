//! For which of a request's keys its lock counts.

use lock_core::LockKey;

use crate::{Enforce, key::RequestKey};

/// What stands before the keys under which a lock is only measured.
const SHADOW: &str = "lock-shadow:";

/// A request's keys, by what becomes of them.
#[derive(Debug, Default)]
pub(crate) struct Split {
    pub(crate) enforced: Vec<RequestKey>,
    pub(crate) shadowed: Vec<LockKey>,
}

impl Enforce {
    /// Each key goes its own way, so that two requests agree on every key that they share.
    pub(crate) fn split(self, keys: &[RequestKey]) -> Split {
        let mut split = Split::default();
        for key in keys {
            match self {
                Self::Off => {}
                _ if self.counts_for(&key.key) => split.enforced.push(key.clone()),
                // A key that has no room for the prefix is not measured.
                _ => split.shadowed.extend(LockKey::try_from(format!("{SHADOW}{}", key.key))),
            }
        }
        split
    }

    /// Whether work without a key runs: where the lock counts for no key, or only for some.
    pub(crate) fn lets_keyless_pass(self) -> bool {
        !matches!(self, Self::On | Self::Percent(100..))
    }

    fn counts_for(self, key: &LockKey) -> bool {
        match self {
            Self::On => true,
            Self::Shadow | Self::Off => false,
            Self::Percent(percent) => percentile(key.as_str()) < u64::from(percent),
        }
    }
}

/// From 0 to 99, the same in every process and version: by FNV-1a, whose high bits are the better
/// mixed ones.
fn percentile(key: &str) -> u64 {
    let hash = key.bytes().fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    (hash >> 32) % 100
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn keys(count: usize) -> Vec<RequestKey> {
        let keys = (0..count).map(|n| LockKey::try_from(format!("order:{n}")).unwrap());
        keys.map(RequestKey::from).collect()
    }

    fn enforced(enforce: Enforce, keys: &[RequestKey]) -> Vec<LockKey> {
        enforce.split(keys).enforced.into_iter().map(|key| key.key).collect()
    }

    #[test]
    fn a_percentage_is_one_of_the_keys() {
        let keys = keys(10_000);
        let quarter = enforced(Enforce::Percent(25), &keys);
        assert!((2_300..2_700).contains(&quarter.len()), "{}", quarter.len());
        let half = enforced(Enforce::Percent(50), &keys);
        assert!(quarter.iter().all(|key| half.contains(key)), "more percent, never other keys");
        assert_eq!(enforced(Enforce::Percent(0), &keys).len(), 0);
        assert_eq!(enforced(Enforce::Percent(100), &keys).len(), 10_000);
    }

    /// Processes of different versions have to agree.
    #[test]
    fn the_percentile_of_a_key_never_changes() {
        assert_eq!(["order:1", "order:2", "a"].map(percentile), [7, 51, 60]);
    }

    #[test]
    fn what_is_not_enforced_is_measured_elsewhere_or_not_at_all() {
        let split = Enforce::Shadow.split(&keys(1));
        assert!(split.enforced.is_empty());
        assert_eq!(split.shadowed[0].as_str(), "lock-shadow:order:0");
        let split = Enforce::Off.split(&keys(1));
        assert!(split.enforced.is_empty() && split.shadowed.is_empty());
    }
}
