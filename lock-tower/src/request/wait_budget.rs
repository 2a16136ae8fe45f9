//! How long a request may wait for its locks.

use std::time::Duration;

use lock_core::{__private::OneOrMany, Acquire};
use tokio::time::Instant;

use super::deadline::RequestDeadline;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WaitBudget {
    /// The request has no deadline: as long as its policy says.
    Unlimited,
    AtMost(Duration),
    /// What it has left is the handler's.
    None,
}

impl WaitBudget {
    /// From now to `deadline`, less what is the handler's.
    pub(crate) fn of(deadline: Option<RequestDeadline>, reserve: Duration) -> Self {
        let Some(deadline) = deadline else { return Self::Unlimited };
        let left = deadline.moment().saturating_duration_since(Instant::now());
        match left.checked_sub(reserve) {
            None | Some(Duration::ZERO) => Self::None,
            Some(left) => Self::AtMost(left),
        }
    }

    /// An acquisition that does not wait for longer; `None`: it must not begin.
    pub(crate) fn limit(self, acquire: Acquire<OneOrMany>) -> Option<Acquire<OneOrMany>> {
        match self {
            Self::Unlimited => Some(acquire),
            Self::AtMost(left) => Some(acquire.wait_at_most(left)),
            Self::None => None,
        }
    }
}
