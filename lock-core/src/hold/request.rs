//! The request of one acquisition.

use std::{
    sync::Arc,
    time::{Duration, SystemTime},
};

use lock_key::MAX_DURATION;
use lock_store::{Kind, LockKey, Mode, runtime::LeaseInstant};
use tokio::time::Instant;

use super::ScopeHolds;
use crate::{
    gate::{Access, EnterResult, Gate, HandoffKey, Permit, QueuePlace, Tenant, Wait},
    types::{AcquireError, AcquireOptions, Busy, HoldOptions, Overloaded},
};

/// One lock that is not granted yet.
#[derive(Debug, Clone)]
pub(crate) struct LockRequest {
    pub(crate) kind: Kind,
    pub(crate) key: LockKey,
    pub(crate) mode: Mode,
    /// How many permits a semaphore has.
    pub(crate) permits: u32,
    /// The permits of a semaphore to acquire; one for every other kind.
    pub(crate) wanted_permits: u32,
    pub(crate) options: AcquireOptions,
    /// The options of the hold if this is its outermost acquisition.
    pub(crate) hold_options: HoldOptions,
    /// The scope that requests it.
    pub(crate) scope: Option<Arc<ScopeHolds>>,
}

/// The outcome of entering the gate.
pub(crate) enum Entered<T: Tenant> {
    Admitted(Permit<T>),
    Queued(QueuePlace<T>),
}

/// How long an acquisition may take.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WaitDeadline {
    pub(crate) started_at: Instant,
    /// `None`: do not wait.
    pub(crate) deadline: Option<Instant>,
}

impl WaitDeadline {
    /// Starts now; zero does not wait.
    pub(crate) fn of(wait: Duration) -> Self {
        let started_at = Instant::now();
        let deadline = (!wait.is_zero()).then(|| started_at + wait.min(MAX_DURATION));
        Self { started_at, deadline }
    }

    pub(crate) fn is_over(&self) -> bool {
        self.deadline.is_none_or(|deadline| Instant::now() >= deadline)
    }

    /// When it started, by the clock of the host, in whole milliseconds as it is written down.
    pub(crate) fn started_at_wall_clock(&self) -> SystemTime {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let then = now.saturating_sub(self.started_at.elapsed());
        let millis = u64::try_from(then.as_millis()).unwrap_or_default();
        SystemTime::UNIX_EPOCH + Duration::from_millis(millis)
    }

    /// Whether the acquisition had lasted for longer than `time` at `moment`.
    pub(crate) fn began_before(&self, moment: LeaseInstant, time: Duration) -> bool {
        // Both as times until now: the two moments are of different clocks, since one of them also
        // counts while the machine is suspended.
        self.started_at.elapsed() > LeaseInstant::now().since(moment) + time
    }

    /// The deadline, or `limit` after the request if the caller does not wait: for waits that
    /// depend on this process alone.
    pub(crate) fn or_within(&self, limit: Duration) -> Instant {
        self.deadline.unwrap_or(self.started_at + limit)
    }

    /// Enters the gate of a key, or its queue.
    pub(crate) fn enter<T: Tenant>(
        &self,
        gate: &Arc<Gate<T>>,
        request: &LockRequest,
        access: Access,
        takes: Option<HandoffKey>,
    ) -> Result<Entered<T>, AcquireError> {
        let key = &request.key;
        let most_waiting = request.options.max_waiters;
        let shortest_hold = request.options.shortest_hold();
        let wait = self.deadline.map(|until| Wait { until, shortest_hold });
        let overloaded = |waiters, in_all| Overloaded { key: key.clone(), waiters, in_all };
        match gate.enter(key, access, wait, most_waiting, takes) {
            EnterResult::Admitted(permit) => Ok(Entered::Admitted(permit)),
            EnterResult::Queued(place) => Ok(Entered::Queued(place)),
            EnterResult::Closed => Err(AcquireError::Draining),
            EnterResult::Busy => Err(self.busy(request, None)),
            EnterResult::InVain => {
                Err(Busy { is_early: true, ..self.refusal(request, None) }.into())
            }
            EnterResult::Full(waiters) => Err(overloaded(waiters, false).into()),
            EnterResult::FullInAll(waiters) => Err(overloaded(waiters, true).into()),
        }
    }

    pub(crate) fn busy(&self, request: &LockRequest, remaining: Option<Duration>) -> AcquireError {
        self.refusal(request, remaining).into()
    }

    fn refusal(&self, request: &LockRequest, remaining: Option<Duration>) -> Busy {
        Busy {
            key: request.key.clone(),
            mode: request.mode,
            waited: self.started_at.elapsed(),
            holder_remaining: remaining,
            holder: None,
            is_early: false,
        }
    }
}
