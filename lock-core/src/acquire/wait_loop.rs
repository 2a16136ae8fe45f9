//! The wait loop: attempt, sleep until woken or due, attempt again.
//!
//! Only the answer to an attempt grants a lock. A wake-up is a hint that an attempt is worth a command
//! now: one that is lost costs time, never correctness, because every sleep has an end.
#![expect(
    clippy::manual_async_fn,
    reason = "thousands wait in these: an async function has room for its arguments twice"
)]

use std::{pin::pin, slice, sync::Arc, time::Duration};

use lock_store::{Acquired, WakeTopic, WakeupReceiver, runtime::jittered};
use tokio::time::Instant;

use super::attempt::{Attempt, AttemptOutcome, FirstAttempt, REFRESH, late};
use super::pass_gate::{pass_gate, pass_gate_beside};
use crate::{
    gate::Admission,
    hold::{ClientInner, Hold, Lease, LockRequest, WaitDeadline, share},
    operate::{self, LongWait},
    types::{AcquireError, Lost, LostCause, WrongKind},
};

/// How much longer than its wait an acquisition waits for the answer to its last try.
const LAST_ANSWER: Duration = Duration::from_millis(50);
/// How long before the end of its wait a caller looks once more. The process that a release has reserved the
/// lock for may have died, and no message says so: the lock is free, and must not be refused. Long enough
/// that this look is answered, and a release after it still wakes the caller in time.
const LAST_LOOK: Duration = Duration::from_millis(100);
/// For how long after its release a lock is left to clients of another library that wait for it: a process
/// that is notified needs some milliseconds.
const LEFT_TO_OTHERS: Duration = Duration::from_millis(5);
/// The pause of a waiter whose attempt was not answered, or met a store that refused to write.
const SILENT_RETRY: Duration = Duration::from_millis(250);

/// Acquires a hold that no scope has yet.
pub(crate) fn acquire_one<'a>(
    client: &'a Arc<ClientInner>,
    request: &'a LockRequest,
    wait_deadline: &'a WaitDeadline,
) -> impl Future<Output = Result<Arc<Hold>, AcquireError>> + Send + 'a {
    async move {
        client.check_breaker(request)?;
        let permit = match pass_gate(client, request, wait_deadline).await? {
            Admission::Contend(permit) => permit,
            Admission::Handoff(handoff) => {
                return handoff.take(request).ok_or_else(|| late(request.hold_options.lease));
            }
        };
        let not_before = permit.defer_until().max(left_to_others(client, request));
        let mut first = FirstAttempt::new(Lease::new(client, request, permit));
        defer(not_before, wait_deadline).await;
        // The store in memory answers at once: a caller that acquires in a loop would never let the
        // task run that releases its dropped holds.
        tokio::task::coop::consume_budget().await;
        // Its answer comes in bounded time: only later attempts are interrupted by a shutdown.
        let outcome = first.send(request, *wait_deadline).await;
        if let Ok(AttemptOutcome::Granted(hold)) = outcome {
            return Ok(hold);
        }
        let outcome = outcome.map(|outcome| outcome.map(|hold| vec![hold]));
        let requests = slice::from_ref(request);
        let waits = contend(client, requests, *wait_deadline, first.into_attempt(), Some(outcome));
        // Boxed, because most waiters stay in the queue before this and do not need its memory.
        let holds = Box::pin(client.unless_draining(waits)).await?;
        Ok(holds.into_iter().next().expect("BUG: a grant without a hold"))
    }
}

/// Acquires holds that no scope has yet: all of them in one step, or none. They must be sorted by
/// key, or two acquisitions could wait for each other at the gate.
pub(crate) async fn acquire_all(
    client: &Arc<ClientInner>,
    requests: &[LockRequest],
    wait_deadline: &WaitDeadline,
) -> Result<Vec<Arc<Hold>>, AcquireError> {
    let mut attempt = Attempt::default();
    for request in requests {
        client.check_breaker(request)?;
        let permit = pass_gate_beside(client, request, wait_deadline, &attempt.leases).await?;
        let not_before = permit.defer_until().max(left_to_others(client, request));
        attempt.leases.push(Lease::new(client, request, permit));
        defer(not_before, wait_deadline).await;
    }
    tokio::task::coop::consume_budget().await;
    Box::pin(client.unless_draining(contend(client, requests, *wait_deadline, attempt, None))).await
}

/// Until when a lock is left to clients of another library: they have no place in line, and would come too
/// late each time.
fn left_to_others(client: &ClientInner, request: &LockRequest) -> Option<Instant> {
    let age = client.store.met_others(&request.key)?;
    LEFT_TO_OTHERS.checked_sub(age).map(|left| Instant::now() + left)
}

/// Waiters of other processes have waited while a lock was handed off here. Without this pause the
/// attempt of this process, which needs no wake-up, would always come first.
async fn defer(until: Option<Instant>, wait_deadline: &WaitDeadline) {
    if let (Some(until), Some(deadline)) = (until, wait_deadline.deadline) {
        Box::pin(tokio::time::sleep_until(until.min(deadline))).await;
    }
}

/// Listeners for the refused leases; each subscribes after its first refusal.
struct Listeners(Vec<Option<WakeupReceiver>>);

impl Listeners {
    /// Waits until `at` is woken, or until `due`. The first call only ensures that every wake-up
    /// from now on is received, unless that was so all along.
    async fn wait(
        &mut self,
        at: usize,
        lease: &Lease,
        sent: Instant,
        due: Instant,
        deadline: Instant,
    ) {
        if self.0.len() <= at {
            self.0.resize_with(at + 1, || None);
        }
        let client = &lease.client;
        let is_new = self.0[at].is_none();
        let listener =
            self.0[at].get_or_insert_with(|| client.store.wakeups(WakeTopic::Turn(lease.holder())));
        // A release between the attempt and the subscription wakes no listener. So the first wait
        // ends when the subscription is confirmed, and the attempt that follows sees that release.
        // This is not needed if the subscription is older than the attempt and had no message.
        if is_new && !listener.silent_since(sent) {
            let limit = deadline.min(Instant::now() + client.settings.command_timeout);
            let _ = tokio::time::timeout_at(limit, listener.subscribed()).await;
        } else {
            let _ = tokio::time::timeout_at(deadline.min(due), listener.woken()).await;
        }
        listener.listen();
    }
}

/// Makes one attempt, or joins the lease of another reader of this process.
async fn next_attempt(
    attempt: &mut Attempt,
    requests: &[LockRequest],
    wait_deadline: WaitDeadline,
    yields: bool,
    limit: Option<Instant>,
) -> Result<AttemptOutcome<Vec<Arc<Hold>>>, AcquireError> {
    if let ([own], [request]) = (attempt.leases.as_slice(), requests)
        && let Some(hold) = share(own, request, wait_deadline).await?
    {
        return Ok(AttemptOutcome::Granted(vec![hold]));
    }
    attempt.send(requests, wait_deadline, yields, limit).await
}

/// Makes attempts until one is granted. `first` is the outcome of the first one, if it was made.
async fn contend(
    client: &Arc<ClientInner>,
    requests: &[LockRequest],
    wait_deadline: WaitDeadline,
    mut attempt: Attempt,
    mut first: Option<Result<AttemptOutcome<Vec<Arc<Hold>>>, AcquireError>>,
) -> Result<Vec<Arc<Hold>>, AcquireError> {
    let mut listeners = Listeners(Vec::new());
    let mut yields_until = None;
    let mut limit = None;
    let mut last: Option<usize> = None;
    let mut long_wait = None;
    loop {
        let outcome = match first.take() {
            Some(outcome) => outcome,
            None => {
                // After `fairness_timeout` a reader yields to waiting writers no longer: a stream
                // of writers would otherwise keep it out for its whole wait.
                let yields = yields_until.is_none_or(|until| Instant::now() < until);
                next_attempt(&mut attempt, requests, wait_deadline, yields, limit).await
            }
        };
        let (at, answer, sent) = match outcome {
            Ok(AttemptOutcome::Granted(holds)) => return Ok(holds),
            Ok(AttemptOutcome::Refused { at, answer, sent }) => (at, Ok(answer), sent),
            // The store may be back within the wait. A grant whose reply was lost belongs to this
            // lease: the next attempt is granted the lock again.
            Err(AcquireError::Unavailable(why))
                if why.is_silent()
                    && (last.is_some() || waited(client, requests, wait_deadline)) =>
            {
                (last.unwrap_or_default(), Err(why), Instant::now())
            }
            // A newcomer gets the reason at once. A caller that has waited already, here or in this
            // process' queue, waits on: the store may accept writes again within its wait.
            Err(AcquireError::Unavailable(why))
                if why.refuses_writes()
                    && (last.is_some()
                        || wait_deadline.started_at.elapsed()
                            > client.settings.command_timeout) =>
            {
                (last.unwrap_or_default(), Err(why), Instant::now())
            }
            Err(why) => return Err(why),
        };
        if answer.is_err() {
            // Readers that have joined it would wait for an answer that does not come, and later ones join.
            attempt.leases.iter().for_each(|lease| lease.on_refused());
        }
        if let Some(before) = last.replace(at).filter(|before| *before != at) {
            // Another key is in the way now. A place left at the earlier one would reserve that
            // lock for an acquisition that does not take it.
            attempt.leases[before].leave_line().await;
            attempt.leases[before].waits_no_more();
            long_wait = None;
        }
        let others = attempt.leases.iter().enumerate().filter(|(place, _)| *place != at);
        others.for_each(|(_, lease)| lease.step_aside());
        let request = &requests[at];
        let (look_again, holder_remaining) = match &answer {
            Err(_) => (jittered(SILENT_RETRY), None),
            Ok(Acquired::Busy { remaining, .. }) => {
                (remaining.unwrap_or(REFRESH).min(REFRESH), *remaining)
            }
            Ok(Acquired::Yield { remaining, .. }) => {
                let until = *yields_until
                    .get_or_insert_with(|| Instant::now() + client.settings.fairness_timeout);
                let left = until.saturating_duration_since(Instant::now());
                ((*remaining).min(left).min(REFRESH), Some(*remaining))
            }
            Ok(Acquired::WrongKind) => {
                return Err(WrongKind { key: request.key.clone(), kind: request.kind }.into());
            }
            Ok(Acquired::Lost | Acquired::Granted(_)) => {
                let (key, cause) = (request.key.clone(), LostCause::Refused);
                return Err(AcquireError::Lost(Lost { key, cause }));
            }
        };
        let over = || match &answer {
            Ok(_) => wait_deadline.busy(request, holder_remaining),
            Err(why) => why.clone().into(),
        };
        if wait_deadline.is_over() {
            return Err(LongWait::named(&long_wait, over()));
        }
        attempt.leases[at].waits(request)?;
        let deadline = wait_deadline.or_within(Duration::ZERO);
        // From the first refusal on an attempt ends with the wait. Without a limit a silent store
        // would hold the caller for a whole command timeout beyond it.
        limit = Some(deadline + LAST_ANSWER);
        // The store counts in milliseconds: at the very end of the holder's lease the attempt would be
        // refused once more.
        let now = Instant::now();
        let due = now + look_again + Duration::from_millis(1);
        let last_look = deadline.checked_sub(LAST_LOOK).filter(|at| now < *at);
        let due = last_look.map_or(due, |at| due.min(at));
        let mut woken = pin!(listeners.wait(at, &attempt.leases[at], sent, due, deadline));
        if long_wait.is_none() {
            let long = operate::begins_at(&wait_deadline);
            if tokio::time::timeout_at(long, woken.as_mut()).await.is_err() {
                let lease = Some(&*attempt.leases[at]);
                long_wait = LongWait::begin(client, request, &wait_deadline, lease);
                LongWait::during(&mut long_wait, woken.as_mut()).await?;
            }
        } else {
            LongWait::during(&mut long_wait, woken.as_mut()).await?;
        }
        if wait_deadline.is_over() {
            return Err(LongWait::named(&long_wait, over()));
        }
    }
}

/// Whether it began before the store fell silent, if it is silent at all.
fn waited(client: &Arc<ClientInner>, requests: &[LockRequest], began: WaitDeadline) -> bool {
    let silence = requests.first().and_then(|request| client.silence(&request.key));
    silence.is_none_or(|(since, _)| began.began_before(since, client.settings.command_timeout))
}
