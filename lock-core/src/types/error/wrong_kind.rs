//! The key holds something else.

use lock_store::{Kind, LockKey};
use thiserror::Error;

/// The error for a key that holds a value that is not a lock of the kind that was acquired. Nothing
/// is held.
#[derive(Debug, Clone, Error)]
#[error(
    "key \"{key}\" holds a value that is not a {kind} lock: use another key or another prefix, and \
     never two kinds of lock on one key; if it is a lock that another program has taken by SET NX PX in \
     Redis, build the client with beside_set_nx(), and the two exclude each other"
)]
pub struct WrongKind {
    pub(crate) key: LockKey,
    pub(crate) kind: Kind,
}

impl WrongKind {
    /// Returns the key of the acquisition.
    #[must_use]
    pub fn key(&self) -> &LockKey {
        &self.key
    }

    /// Returns the kind that was acquired.
    #[must_use]
    pub fn kind(&self) -> Kind {
        self.kind
    }
}
