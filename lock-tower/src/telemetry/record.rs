//! Records the metrics of locks: see [`metrics`](crate::metrics).
//!
//! No handle is kept: an event goes to the recorder installed by then. The metrics of every request
//! have their [`MetricKeys`], made once; the rest allocate their labels.

use std::{future::Future, time::Duration};

use ::metrics::{Gauge, counter};
use lock_core::{AcquireError, LostCause, Mode, MultiGuard};
use lock_policy::{
    __private::{LockName, ShadowOutcome},
    Outcome, Unlocked,
};
use tokio::time::Instant;
use tracing::{Instrument, Span};

use super::{
    LockLabel,
    keys::MetricKeys,
    metrics::{self, label},
    spans,
};

/// Counts a waiting request, and times its wait, until it is dropped.
struct WaitTimer {
    waiters: Gauge,
    span: Span,
    since: Instant,
    /// The outcome of the wait, as far as it is known.
    outcome: &'static str,
}

impl WaitTimer {
    fn begin(keys: &MetricKeys, span: Span) -> Self {
        let waiters = keys.waiters();
        waiters.increment(1);
        Self { waiters, span, since: Instant::now(), outcome: "left" }
    }
}

impl Drop for WaitTimer {
    fn drop(&mut self) {
        self.waiters.decrement(1);
        // Without a subscriber the span records nothing, and the time is not needed.
        if !self.span.is_disabled() {
            spans::waited(&self.span, self.outcome, self.since.elapsed());
        }
    }
}

/// Runs the wait for a lock in its span, and records its duration. `under_policy` returns the outcome of a
/// refusal under the lock's policy.
pub(crate) async fn wait<T>(
    route: Option<&str>,
    lock: &LockLabel,
    keys: &MetricKeys,
    under_policy: impl FnOnce(Outcome) -> Outcome,
    acquire: impl Future<Output = Result<T, AcquireError>>,
) -> (Result<T, AcquireError>, Duration) {
    let span = spans::wait(route, lock);
    let mut waiting = WaitTimer::begin(keys, span.clone());
    let answer = acquire.instrument(span).await;
    let waited = waiting.since.elapsed();
    waiting.outcome = match &answer {
        Ok(_) => metrics::GRANTED,
        Err(error) => under_policy(error.into()).as_str(),
    };
    keys.wait(lock.mode).record(waited);
    (answer, waited)
}

pub(crate) fn granted(keys: &MetricKeys, mode: Mode) {
    keys.granted(mode).increment(1);
}

/// Counts a lock that the holder before, in this process, has passed on.
pub(crate) fn handed_off(keys: &MetricKeys, guard: &MultiGuard) {
    if lock_core::__private::handed_off(guard) {
        keys.handovers().increment(1);
    }
}

/// Counts a refusal; one for a busy lock may have come before the wait was over.
pub(crate) fn refused(policy: &LockName, mode: Mode, outcome: Outcome, is_early: bool) {
    let outcome = match outcome {
        Outcome::Busy if is_early => metrics::BUSY_EARLY,
        outcome => outcome.as_str(),
    };
    metrics::requests(policy, mode, outcome).increment(1);
}

pub(crate) fn unlocked(policy: &LockName, mode: Mode, why: Unlocked) {
    metrics::requests(policy, mode, why.as_str()).increment(1);
}

/// Records the end of a hold; `margin` is the least time that was left at a renewal.
pub(crate) fn held(keys: &MetricKeys, mode: Mode, held: Duration, margin: Option<Duration>) {
    keys.hold(mode).record(held);
    if let Some(margin) = margin {
        keys.renewal_margin().record(margin);
    }
}

pub(crate) fn lost(policy: &LockName, cause: LostCause) {
    let cause = metrics::cause(cause);
    counter!(metrics::LOST, "policy" => label(policy), "cause" => cause).increment(1);
}

pub(crate) fn shadow(policy: &LockName, would: ShadowOutcome) {
    counter!(metrics::SHADOW, "policy" => label(policy), "would" => would.as_str()).increment(1);
    if would != ShadowOutcome::Pass {
        tracing::info!(policy = &**policy, would = would.as_str(), "measured in shadow mode");
    }
}

pub(crate) fn shadow_overlap(policy: &LockName) {
    counter!(metrics::SHADOW_OVERLAPS, "policy" => label(policy)).increment(1);
}
