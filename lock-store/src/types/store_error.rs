//! The errors of a store that does not execute a command.

use std::{borrow::Cow, time::Duration};

use thiserror::Error;

use super::unavailable::Unavailable;

/// The error of a lock store that does not support an operation. Nothing has changed, and nothing
/// is held.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("this lock store does not support {what}")]
pub struct Unsupported {
    what: Cow<'static, str>,
}

impl Unsupported {
    /// Creates an error that names the unsupported operation, in the form that ends a sentence:
    /// "fair locks".
    #[must_use]
    pub fn new(what: impl Into<Cow<'static, str>>) -> Self {
        Self { what: what.into() }
    }

    /// Returns the unsupported operation.
    #[must_use]
    pub fn what(&self) -> &str {
        &self.what
    }
}

/// The reason why a [store](crate::LockStore) did not execute a command.
#[derive(Debug, Clone, Error)]
pub enum StoreError {
    /// It did not answer, or failed. The command may have been executed.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
    /// It does not support the command. Nothing has changed.
    #[error(transparent)]
    Unsupported(#[from] Unsupported),
}

impl StoreError {
    /// Returns whether the store did not answer.
    #[doc(hidden)]
    pub fn is_silent(&self) -> bool {
        matches!(self, Self::Unavailable(why) if why.is_silent())
    }

    /// Adds for how long the lock may be held, because the command may have been executed.
    #[doc(hidden)]
    pub fn held_for(self, lease: Duration) -> Self {
        match self {
            Self::Unavailable(why) => Self::Unavailable(why.held_for(lease)),
            unsupported @ Self::Unsupported(_) => unsupported,
        }
    }
}

/// For operations that have no variant for it.
impl From<StoreError> for Unavailable {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Unavailable(why) => why,
            StoreError::Unsupported(what) => Self::because(what.to_string(), what),
        }
    }
}
