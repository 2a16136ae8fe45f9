//! One attempt at a lease, or at several at once.

use std::{sync::Arc, time::Duration};

use lock_store::{Acquired, AcquiredAll, StoreError, Unavailable, runtime::LeaseInstant};
use tokio::time::Instant;

use crate::{
    hold::{Hold, Lease, LockRequest, WaitDeadline, share},
    types::{AcquireError, ParkedHold, ResumeError},
};

pub(crate) const REFRESH: Duration = Duration::from_secs(1);

/// Leases whose acquisition is under way. Dropped at any point, it leaves nothing in the store: a
/// command that is in flight may still be granted after the caller has gone, so every lease that the
/// store may have is released.
#[derive(Default)]
pub(crate) struct Attempt {
    pub(crate) leases: Vec<Arc<Lease>>,
}

impl Drop for Attempt {
    fn drop(&mut self) {
        self.leases.drain(..).for_each(Lease::give_up);
    }
}

/// As [`Attempt`], of one lease and its first command. Most locks are free: the state that only
/// waiters need is not created here.
pub(crate) struct FirstAttempt(Option<Arc<Lease>>);

impl Drop for FirstAttempt {
    fn drop(&mut self) {
        self.0.take().into_iter().for_each(Lease::give_up);
    }
}

impl FirstAttempt {
    pub(crate) fn new(lease: Arc<Lease>) -> Self {
        Self(Some(lease))
    }

    /// Sends the command, unless another reader of this process leads: then the hold is on its lease.
    pub(crate) async fn send(
        &mut self,
        request: &LockRequest,
        wait_deadline: WaitDeadline,
    ) -> Result<AttemptOutcome<Arc<Hold>>, AcquireError> {
        let lease = self.0.as_ref().expect("BUG: the first attempt is sent once");
        if let Some(hold) = share(lease, request, wait_deadline).await? {
            return Ok(AttemptOutcome::Granted(hold));
        }
        let outcome = lease.attempt(request, wait_deadline, true, None).await?;
        if let AttemptOutcome::Granted(_) = outcome {
            // The hold owns the lease now: kept here, the drop of this attempt would release a lock
            // that was just granted.
            self.0 = None;
        }
        Ok(outcome)
    }

    /// Takes over a parked hold instead.
    pub(crate) async fn take_over(
        mut self,
        request: &LockRequest,
        parked: &ParkedHold,
    ) -> Result<Arc<Hold>, ResumeError> {
        let lease = self.0.as_ref().expect("BUG: the first attempt is sent once");
        let hold = lease.take_over(request, parked).await?;
        self.0 = None;
        Ok(hold)
    }

    /// The attempts that follow.
    pub(crate) fn into_attempt(mut self) -> Attempt {
        Attempt { leases: self.0.take().into_iter().collect() }
    }
}

pub(crate) fn late(lease: Duration) -> AcquireError {
    Unavailable::unsent("the lock was granted too late to be of use").held_for(lease).into()
}

/// The outcome of an attempt.
pub(crate) enum AttemptOutcome<T> {
    Granted(T),
    /// `sent` is when it was sent, by the clock of timers.
    Refused {
        at: usize,
        answer: Acquired,
        sent: Instant,
    },
}

impl<T> AttemptOutcome<T> {
    pub(crate) fn map<U>(self, change: impl FnOnce(T) -> U) -> AttemptOutcome<U> {
        match self {
            Self::Granted(granted) => AttemptOutcome::Granted(change(granted)),
            Self::Refused { at, answer, sent } => AttemptOutcome::Refused { at, answer, sent },
        }
    }
}

impl Attempt {
    /// Sends one command, for all leases or none.
    pub(crate) async fn send(
        &mut self,
        requests: &[LockRequest],
        wait_deadline: WaitDeadline,
        yields: bool,
        limit: Option<Instant>,
    ) -> Result<AttemptOutcome<Vec<Arc<Hold>>>, AcquireError> {
        let outcome = match (self.leases.as_slice(), requests) {
            ([], _) => return Ok(AttemptOutcome::Granted(Vec::new())),
            ([lease], [request]) => {
                let outcome = lease.attempt(request, wait_deadline, yields, limit).await?;
                outcome.map(|hold| vec![hold])
            }
            (leases, _) => attempt_all(leases, requests, wait_deadline, yields, limit).await?,
        };
        if let AttemptOutcome::Granted(_) = outcome {
            // As above: the holds own their leases now.
            self.leases.clear();
        }
        Ok(outcome)
    }
}

async fn attempt_all(
    leases: &[Arc<Lease>],
    requests: &[LockRequest],
    wait_deadline: WaitDeadline,
    yields: bool,
    limit: Option<Instant>,
) -> Result<AttemptOutcome<Vec<Arc<Hold>>>, AcquireError> {
    let sent = Instant::now();
    let sent_at = LeaseInstant::of(sent);
    let pairs = || leases.iter().zip(requests);
    let command = |(lease, request): (&Arc<Lease>, &LockRequest)| {
        lease.first_step(request, wait_deadline, (sent, sent_at), yields, false)
    };
    let commands = pairs().map(command).collect();
    let answer = within(limit, leases[0].client.store.acquire_all(commands)).await;
    let ended = Instant::now();
    leases[0].client.statistics.acquire.add(sent, ended);
    match checked(answer, leases, requests, sent_at)? {
        AcquiredAll::Granted(tokens) => {
            let now = LeaseInstant::of(ended);
            // One lease that may have ended is enough: the caller needs all of them at once. The
            // attempt releases the others when it is dropped.
            if !leases.iter().all(|lease| lease.in_time(sent_at, now)) {
                return Err(late(longest(requests)));
            }
            let granted = pairs().zip(tokens);
            let holds = granted
                .map(|((lease, request), token)| lease.granted(request, sent_at, now, token));
            Ok(AttemptOutcome::Granted(holds.collect()))
        }
        AcquiredAll::Refused { at, answer } => {
            for (place, (lease, request)) in pairs().enumerate() {
                lease.refused(request, (place == at).then_some(answer));
            }
            Ok(AttemptOutcome::Refused { at, answer, sent })
        }
    }
}

/// Waits for an answer until `limit`, if there is one.
pub(super) async fn within<T>(
    limit: Option<Instant>,
    command: impl Future<Output = Result<T, StoreError>>,
) -> Result<T, StoreError> {
    let Some(limit) = limit else { return command.await };
    let answer = tokio::time::timeout_at(limit, command).await;
    answer.unwrap_or_else(|_| Err(Unavailable::late().into()))
}

/// Returns the answer, or records the consequences of a missing one.
pub(super) fn checked<T>(
    answer: Result<T, StoreError>,
    leases: &[Arc<Lease>],
    requests: &[LockRequest],
    sent: LeaseInstant,
) -> Result<T, AcquireError> {
    if let (Err(why), [first, ..]) = (&answer, leases)
        && why.is_silent()
    {
        first.client.open_breaker(&first.key, sent);
    }
    if let Err(StoreError::Unsupported(what)) = answer {
        // The store has executed nothing, so nothing is released: a release would be answered as
        // unsupported too, and retried until the lease has ended.
        for (lease, request) in leases.iter().zip(requests) {
            lease.refused(request, None);
            lease.state().in_line = None;
        }
        return Err(what.into());
    }
    Ok(answer.map_err(|why| why.held_for(longest(requests)))?)
}

fn longest(requests: &[LockRequest]) -> Duration {
    requests.iter().map(|request| request.hold_options.lease).max().unwrap_or_default()
}
