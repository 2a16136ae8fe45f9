//! The keys that locks leave in Redis.

use std::time::Duration;

use crate::Cli;

/// The keys that may be left when nothing is locked (P9 of docs/guarantees.md), and for how long;
/// `None` is forever.
const STAYS: [(&str, Option<Duration>); 3] = [
    ("lock_token:", None),
    ("redisson_lock_token:", Some(Duration::from_secs(3_600))),
    ("lock_client:", Some(Duration::from_secs(300))),
];

/// Returns every key except those that outlive the locks by design. One of those that would stay longer
/// than allowed, or forever, is returned too.
pub async fn lock_keys(cli: &Cli) -> Vec<String> {
    let mut left = Vec::new();
    for key in cli.keys().await {
        let Some((_, most)) = STAYS.iter().find(|(prefix, _)| key.starts_with(prefix)) else {
            left.push(key);
            continue;
        };
        let Some(most) = most else { continue };
        match cli.pttl(&key).await {
            // It has expired meanwhile.
            -2 => {}
            ttl if u128::try_from(ttl).is_ok_and(|ttl| ttl <= most.as_millis()) => {}
            ttl => left.push(format!("{key} for {ttl} ms")),
        }
    }
    left
}
