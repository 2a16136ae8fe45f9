//! One lock in a table: its first holder represents all.

use std::time::Duration;

use lock_core::{Inspection, LockKey};

use crate::{
    live::Live,
    participants::{client_name, words},
    visible::visible,
};

/// The columns of a lock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LockRow {
    pub(crate) key: String,
    pub(crate) kind: String,
    /// Empty while it is not held.
    pub(crate) mode: String,
    pub(crate) holder: String,
    pub(crate) age: Option<Duration>,
    pub(crate) left: String,
    pub(crate) waiters: usize,
    /// The longest wait of the waiters whose age is known.
    pub(crate) longest_wait: Option<Duration>,
    /// The work of its first holder.
    pub(crate) work: String,
}

impl LockRow {
    pub(crate) fn of(live: &Live, key: &LockKey, seen: &Inspection) -> Self {
        let first = seen.holders.first();
        let holder = match (first, seen.holders.len().saturating_sub(1)) {
            (None, _) => "not held".to_owned(),
            (Some(first), 0) => client_name(first.client.as_ref()),
            (Some(first), more) => {
                format!("{} and {more} more", client_name(first.client.as_ref()))
            }
        };
        Self {
            key: visible(key.as_str()),
            kind: seen.kind.map(|kind| kind.to_string()).unwrap_or_default(),
            mode: seen.mode.map(|mode| mode.to_string()).unwrap_or_default(),
            holder,
            age: first.and_then(|first| first.age),
            left: first.map(|_| live.left(seen.remaining)).unwrap_or_default(),
            waiters: seen.waiting,
            longest_wait: seen.waiters.iter().filter_map(|waiter| waiter.age).max(),
            work: first.and_then(|first| words(first.work.as_ref()?)).unwrap_or_default(),
        }
    }

    /// For example "3 waiting"; empty if none waits.
    pub(crate) fn waiting(&self) -> String {
        if self.waiters == 0 { String::new() } else { format!("{} waiting", self.waiters) }
    }
}
