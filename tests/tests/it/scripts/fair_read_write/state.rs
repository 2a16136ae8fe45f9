//! The state of a fair read/write lock: its line, its waiters, and its messages.

use crate::scripts::fair_read_write::call as fair_rw_call;
use crate::scripts::support::call::Call;
use crate::scripts::support::keys::{ALIVE, CHANNEL, Key, LINE, LOCK, TURN};
use crate::scripts::support::store::Store;

pub(crate) use crate::scripts::fair::call::PLACE;
pub(crate) use crate::scripts::fair_read_write::call::{acquire, downgrade, read, renew, write};

/// How much longer the line stands than what it stands for.
pub(crate) const SLACK: i64 = 1_000;

/// Down to this many holds; takes the owner out of the line too.
pub(crate) fn release(mode: &str, owner: &str, holds: u32) -> Call {
    fair_rw_call::release(mode, owner, holds).with("queued", 1)
}

/// The line of a lock that is held for this long, and that has no waiters.
pub(crate) fn empty_line(lease: i64) -> Key {
    Key::new(LINE, "zset fair", lease + SLACK)
}

/// The waiters in line, in order. Every place has an end.
pub(crate) async fn in_line(store: &Store) -> Vec<String> {
    let line = store.cli.sorted_set(LINE).await.into_iter().map(|(member, _)| member);
    let (mut writers, waiters): (Vec<_>, Vec<_>) =
        line.partition(|entry| entry.starts_with("writer:"));
    let (own, waiters) = waiters.split_first().expect("the line's own entry");
    assert_eq!(own, "fair");
    let waiters = waiters.to_vec();
    // Each writer has a second entry, the first writer last.
    writers.reverse();
    let writes = waiters.iter().filter(|waiter| waiter.starts_with("write:"));
    let writes: Vec<_> = writes.map(|waiter| waiter.replace("write:", "writer:")).collect();
    assert_eq!(writers, writes);
    let alive = store.cli.sorted_set(ALIVE).await.into_iter().map(|(member, _)| member);
    let (mut alive, mut sorted) = (alive.collect::<Vec<_>>(), waiters.clone());
    alive.sort();
    sorted.sort();
    assert_eq!(alive, sorted);
    everything_ends(store).await;
    waiters
}

/// Every key has a TTL, and the line's is at least the lock's.
pub(crate) async fn everything_ends(store: &Store) {
    for key in store.keys().await {
        assert!(key.ttl > 0, "{key:?}");
    }
    if store.cli.exists(LOCK).await {
        assert!(store.cli.pttl(LINE).await > store.cli.pttl(LOCK).await);
    }
}

/// The process of a waiter has died, and its place with it.
pub(crate) async fn dies(store: &Store, waiter: &str) {
    store.set(&["ZADD", ALIVE, "XX", "1", waiter]).await;
}

/// The channel that wakes a waiter.
pub(crate) fn turn_of(owner: &str) -> (String, String) {
    (format!("{TURN}:{owner}"), "1".to_owned())
}

/// A message on the channel that Redisson listens to.
pub(crate) fn release_told(message: &str) -> (String, String) {
    (CHANNEL.to_owned(), message.to_owned())
}
