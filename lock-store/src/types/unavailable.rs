//! The error of a store that did not execute a command.

use std::{error::Error as StdError, fmt, sync::Arc, time::Duration};

use thiserror::Error;

/// The error of a store that did not execute a command, or of which it is unknown whether it did.
#[derive(Clone, Error)]
pub struct Unavailable {
    reason: String,
    may_be_held_for: Duration,
    /// Whether the store did not answer, or there was no connection to it.
    silent: bool,
    /// Whether the store refuses to write at present, and may do so again in a moment.
    refuses_writes: bool,
    /// Whether the caller's wait ended before the answer, so that the store may be healthy.
    late: bool,
    #[source]
    source: Option<Arc<dyn StdError + Send + Sync>>,
}

impl Unavailable {
    /// Creates the error, for a [store](crate::LockStore) that could not execute a command. The
    /// message is "the lock store is unavailable: " and the reason. The client adds for how long
    /// the lock may still be held.
    #[must_use]
    pub fn new(reason: impl Into<String>) -> Self {
        Self::unsent(reason)
    }

    /// Creates the error, as [`new`](Self::new) does, for a store that did not answer in time or
    /// has no connection. The client probes it from then on, and refuses acquisitions that fail
    /// fast until it answers.
    #[must_use]
    pub fn no_answer(reason: impl Into<String>) -> Self {
        Self::unsent(reason).silence()
    }

    /// Nothing was sent.
    #[doc(hidden)]
    pub fn unsent(reason: impl Into<String>) -> Self {
        Self {
            reason: reason.into(),
            may_be_held_for: Duration::ZERO,
            silent: false,
            refuses_writes: false,
            late: false,
            source: None,
        }
    }

    /// The wait ended before the answer to the last attempt.
    #[doc(hidden)]
    pub fn late() -> Self {
        let why = "the wait ended before the answer to the last attempt";
        Self { late: true, ..Self::unsent(why) }
    }

    #[doc(hidden)]
    pub fn because(
        reason: impl Into<String>,
        source: impl StdError + Send + Sync + 'static,
    ) -> Self {
        Self { source: Some(Arc::new(source)), ..Self::unsent(reason) }
    }

    /// The store did not answer.
    #[doc(hidden)]
    pub fn silence(mut self) -> Self {
        self.silent = true;
        self
    }

    /// The store refuses to write at present.
    #[doc(hidden)]
    pub fn refusing_writes(mut self) -> Self {
        self.refuses_writes = true;
        self
    }

    #[doc(hidden)]
    pub fn held_for(mut self, lease: Duration) -> Self {
        self.may_be_held_for = lease;
        self
    }

    /// Returns whether the store did not answer, or there was no connection to it.
    #[doc(hidden)]
    #[must_use]
    pub fn is_silent(&self) -> bool {
        self.silent
    }

    /// Returns whether the store refuses to write at present.
    #[doc(hidden)]
    #[must_use]
    pub fn refuses_writes(&self) -> bool {
        self.refuses_writes
    }

    /// Returns whether the caller's wait ended before the answer.
    #[doc(hidden)]
    #[must_use]
    pub fn is_late(&self) -> bool {
        self.late
    }

    /// Returns for how long the lock may still be held on behalf of the caller, although it is not
    /// used: at most the lease, and only if the release that follows does not reach the store.
    /// Zero: it is certainly not held.
    #[must_use]
    pub fn may_be_held_for(&self) -> Duration {
        self.may_be_held_for
    }
}

impl fmt::Display for Unavailable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the lock store is unavailable: {}", self.reason)
    }
}

impl fmt::Debug for Unavailable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Unavailable")
            .field("reason", &self.reason)
            .field("may_be_held_for", &self.may_be_held_for)
            .finish_non_exhaustive()
    }
}
