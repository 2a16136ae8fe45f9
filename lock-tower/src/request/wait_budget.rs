//! How long a request may wait for its locks.

use std::time::Duration;

use lock_core::{
    __private::{OneOrMany, wait_at_most},
    Acquire,
};
use tokio::time::Instant;

use super::deadline::RequestDeadline;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WaitBudget {
    /// The request has no deadline, so the policy's wait applies.
    Unlimited,
    AtMost(Duration),
    /// The remaining time is reserved for the handler.
    None,
}

impl WaitBudget {
    /// Returns the time from now to `deadline`, less the handler's reserve.
    pub(crate) fn of(deadline: Option<RequestDeadline>, reserve: Duration) -> Self {
        let Some(deadline) = deadline else { return Self::Unlimited };
        let left = deadline.moment().saturating_duration_since(Instant::now());
        match left.checked_sub(reserve) {
            None | Some(Duration::ZERO) => Self::None,
            Some(left) => Self::AtMost(left),
        }
    }

    /// Limits an acquisition's wait. Without time it does not wait.
    pub(crate) fn limit(self, acquire: Acquire<OneOrMany>) -> Acquire<OneOrMany> {
        match self {
            Self::Unlimited => acquire,
            Self::AtMost(left) => wait_at_most(acquire, left),
            Self::None => acquire.wait(Duration::ZERO),
        }
    }
}
