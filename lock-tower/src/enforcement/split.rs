//! Splits a request's keys into enforced and measured ones.

use std::borrow::Cow;

use lock_core::LockKey;
use lock_policy::{__private::RequestKey, Enforce};

/// The prefix of keys under which a lock is only measured.
const SHADOW: &str = "lock-shadow:";

/// A request's keys, by enforcement.
#[derive(Debug)]
pub(crate) struct EnforcementSplit<'k> {
    pub(crate) enforced: Cow<'k, [RequestKey]>,
    pub(crate) shadowed: Vec<RequestKey>,
}

/// Splits the keys. Each key is decided separately, so that two requests agree on every key that
/// they share.
pub(crate) fn split(enforce: Enforce, keys: &[RequestKey]) -> EnforcementSplit<'_> {
    if keys.iter().all(|key| counts_for(enforce, &key.key)) {
        return EnforcementSplit { enforced: keys.into(), shadowed: Vec::new() };
    }
    let (mut enforced, mut shadowed) = (Vec::new(), Vec::new());
    for key in keys {
        match enforce {
            Enforce::Off => {}
            _ if counts_for(enforce, &key.key) => enforced.push(key.clone()),
            // A key that is too long for the prefix is not measured.
            _ => shadowed.extend(
                LockKey::try_from(format!("{SHADOW}{}", key.key))
                    .map(|shadow| RequestKey { key: shadow, ..key.clone() }),
            ),
        }
    }
    EnforcementSplit { enforced: enforced.into(), shadowed }
}

/// Whether the lock is enforced for any of the keys.
pub(crate) fn is_enforced(enforce: Enforce, keys: &[RequestKey]) -> bool {
    keys.iter().any(|key| counts_for(enforce, &key.key))
}

/// Whether work without a key runs: the lock is enforced for no key, or only for some.
pub(crate) fn lets_keyless_pass(enforce: Enforce) -> bool {
    !matches!(enforce, Enforce::On | Enforce::Percent(100..))
}

fn counts_for(enforce: Enforce, key: &LockKey) -> bool {
    match enforce {
        Enforce::Shadow | Enforce::Off => false,
        Enforce::Percent(percent) => percentile(key.as_str()) < u64::from(percent),
        _ => true,
    }
}

/// Returns a number from 0 to 99, the same in every process and version. It uses FNV-1a; the hash's
/// high bits are the better mixed ones.
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
        split(enforce, keys).enforced.iter().map(|key| key.key.clone()).collect()
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

    /// Processes of different versions must agree.
    #[test]
    fn the_percentile_of_a_key_never_changes() {
        assert_eq!(["order:1", "order:2", "a"].map(percentile), [7, 51, 60]);
    }

    #[test]
    fn what_is_not_enforced_is_measured_elsewhere_or_not_at_all() {
        let keys = keys(1);
        let shadow = split(Enforce::Shadow, &keys);
        assert!(shadow.enforced.is_empty());
        assert_eq!(shadow.shadowed[0].key.as_str(), "lock-shadow:order:0");
        let off = split(Enforce::Off, &keys);
        assert!(off.enforced.is_empty() && off.shadowed.is_empty());
    }
}
