//! What one acquisition asks for.

use std::time::Duration;

use tokio::time::Instant;

use crate::{
    Kind, LockKey, Mode,
    error::{AcquireError, Busy},
    terms::{Asked, Terms},
};

/// One lock that is not granted yet.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    pub(crate) kind: Kind,
    pub(crate) key: LockKey,
    pub(crate) mode: Mode,
    /// The permits that a semaphore is made with.
    pub(crate) permits: u32,
    pub(crate) asked: Asked,
    /// What the hold lives by if this is its outermost acquisition.
    pub(crate) terms: Terms,
}

/// How long an acquisition may take.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Patience {
    pub(crate) asked_at: Instant,
    /// `None`: wait for nobody.
    pub(crate) deadline: Option<Instant>,
}

/// The longest wait that makes a difference.
const FOREVER: Duration = Duration::from_secs(365 * 24 * 60 * 60);

impl Patience {
    /// From now on; zero waits for nobody.
    pub(crate) fn of(wait: Duration) -> Self {
        let asked_at = Instant::now();
        let deadline = (!wait.is_zero()).then(|| asked_at + wait.min(FOREVER));
        Self { asked_at, deadline }
    }

    pub(crate) fn is_over(&self) -> bool {
        self.deadline.is_none_or(|deadline| Instant::now() >= deadline)
    }

    /// Until when something that only this process is in the way of may take.
    pub(crate) fn or_within(&self, limit: Duration) -> Instant {
        self.deadline.unwrap_or(self.asked_at + limit)
    }

    pub(crate) fn busy(&self, request: &Request, remaining: Option<Duration>) -> AcquireError {
        AcquireError::Busy(Busy {
            key: request.key.clone(),
            mode: request.mode,
            waited: self.asked_at.elapsed(),
            holder_remaining: remaining,
        })
    }
}
