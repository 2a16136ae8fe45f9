//! Records the metrics of requests' locks: see [`metrics`](crate::metrics).
//!
//! No handle is kept. A label that is not fixed costs a small allocation, which is negligible
//! beside a round trip to the store, and the event goes to the recorder installed by then.

use std::{future::Future, time::Duration};

use ::metrics::{Gauge, counter, gauge, histogram};
use lock_core::{AcquireError, LostCause, Mode, MultiGuard};
use lock_policy::{
    __private::{LockName, ShadowOutcome},
    Outcome, Unlocked,
};
use tokio::time::Instant;
use tracing::{Instrument, Span};

use super::{
    LockLabel,
    metrics::{self, label},
    spans,
};

/// Counts one waiting request until it is dropped.
struct WaitRecord {
    waiters: Gauge,
    span: Span,
    since: Instant,
    /// The outcome of the wait, as far as it is known.
    outcome: &'static str,
}

impl WaitRecord {
    fn begin(policy: &LockName, span: Span) -> Self {
        let waiters = gauge!(metrics::WAITERS, "policy" => label(policy));
        waiters.increment(1);
        Self { waiters, span, since: Instant::now(), outcome: "left" }
    }
}

impl Drop for WaitRecord {
    fn drop(&mut self) {
        self.waiters.decrement(1);
        spans::waited(&self.span, self.outcome, self.since.elapsed());
    }
}

/// Runs the wait for a lock in its span, and records its duration.
pub(crate) async fn wait<T>(
    route: Option<&str>,
    lock: &LockLabel,
    acquire: impl Future<Output = Result<T, AcquireError>>,
) -> (Result<T, AcquireError>, Duration) {
    let span = spans::wait(route, lock);
    let mut waiting = WaitRecord::begin(&lock.name, span.clone());
    let answer = acquire.instrument(span).await;
    let waited = waiting.since.elapsed();
    waiting.outcome = match &answer {
        Ok(_) => metrics::GRANTED,
        Err(error) => Outcome::from(error).as_str(),
    };
    histogram!(metrics::WAIT, "policy" => label(&lock.name), "mode" => lock.mode.as_str())
        .record(waited);
    (answer, waited)
}

pub(crate) fn granted(policy: &LockName, mode: Mode) {
    metrics::requests(policy, mode, metrics::GRANTED).increment(1);
}

/// Records a granted lock, and whether it came from a local handoff.
pub(crate) fn waited(policy: &LockName, guard: &MultiGuard) {
    if lock_core::__private::waited(guard) {
        counter!(metrics::HANDOVERS, "policy" => label(policy)).increment(1);
    }
}

pub(crate) fn refused(policy: &LockName, mode: Mode, outcome: Outcome) {
    metrics::requests(policy, mode, outcome.as_str()).increment(1);
}

pub(crate) fn unlocked(policy: &LockName, mode: Mode, why: Unlocked) {
    metrics::requests(policy, mode, why.as_str()).increment(1);
}

/// Records the end of a hold; `margin` is the least time that was left at a renewal.
pub(crate) fn held(policy: &LockName, mode: Mode, held: Duration, margin: Option<Duration>) {
    histogram!(metrics::HOLD, "policy" => label(policy), "mode" => mode.as_str()).record(held);
    if let Some(margin) = margin {
        histogram!(metrics::RENEWAL_MARGIN, "policy" => label(policy)).record(margin);
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
