//! Results of the operator's side of a store.

use super::{fencing_token::FencingToken, key::LockKey, visible::visible};

/// The name that a client has given itself: see `client_name`.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ClientInfo {
    /// The name of the service.
    pub service: String,
    /// The name of this instance of it.
    pub instance: String,
}

/// The outcome of `LockClient::force_release`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct ForcedRelease {
    /// Whether the lock was held.
    pub was_held: bool,
    /// A token that exceeds every one handed out before: claim the resource with it, and the holder that lost the
    /// lock is refused there. A semaphore has none.
    pub fencing_token: Option<FencingToken>,
}

impl ClientInfo {
    /// Creates the name of a client, for a [store](crate::LockStore) that knows its clients' names.
    /// Characters that would control a terminal are replaced by their codes.
    #[must_use]
    pub fn new(service: impl Into<String>, instance: impl Into<String>) -> Self {
        let [service, instance] =
            [service.into(), instance.into()].map(|name| visible(&name).into_owned());
        Self { service, instance }
    }
}

impl ForcedRelease {
    /// Creates the outcome, for a [store](crate::LockStore) that has taken a lock away.
    #[must_use]
    pub fn new(was_held: bool, fencing_token: Option<FencingToken>) -> Self {
        Self { was_held, fencing_token }
    }
}

/// Some of the locks under a prefix: from `LockClient::list_page`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct KeyPage {
    /// Their keys, sorted. On Redis the pages themselves are in no order.
    pub keys: Vec<LockKey>,
    /// Where the next page begins. `None`: this is the last one.
    pub next: Option<String>,
    /// Whether every part of the store that this page covers answered.
    pub complete: bool,
}

impl KeyPage {
    /// Creates a page, for a [store](crate::LockStore) that lists its locks.
    #[must_use]
    pub fn new(keys: Vec<LockKey>, next: Option<String>, complete: bool) -> Self {
        Self { keys, next, complete }
    }

    /// Returns the first `limit` of `keys`, which are sorted and come after the last page. The next
    /// page begins after the last key of this one.
    #[doc(hidden)]
    pub fn cut(mut keys: Vec<LockKey>, limit: usize) -> Self {
        let more = keys.len() > limit;
        keys.truncate(limit);
        let next = keys.last().filter(|_| more).map(ToString::to_string);
        Self { keys, next, complete: true }
    }
}
