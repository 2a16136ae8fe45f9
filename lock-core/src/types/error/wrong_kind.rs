//! The key holds something else.

use thiserror::Error;

use crate::types::{Kind, LockKey};

/// Something else than a lock of the kind that was asked for stands under the key. Nothing is held.
#[derive(Debug, Clone, Error)]
#[error(
    "under \"{key}\" stands something that is no {kind} lock: use another key or another prefix, \
     and never two kinds of lock on one key"
)]
pub struct WrongKind {
    pub(crate) key: LockKey,
    pub(crate) kind: Kind,
}

impl WrongKind {
    /// The key.
    #[must_use]
    pub fn key(&self) -> &LockKey {
        &self.key
    }

    /// The kind that was asked for.
    #[must_use]
    pub fn kind(&self) -> Kind {
        self.kind
    }
}
