//! Measures what a lock would have done if it were enforced.

use std::{
    fmt,
    future::{Future, poll_fn},
    pin::pin,
    task::{Context, Poll},
};

use futures_util::future::BoxFuture;
use lock_core::{
    __private::{OneOrMany, out_of_order, without_replacing},
    Acquire, AcquireError, MultiGuard,
};
use lock_policy::__private::{LockName, ShadowOutcome};

use super::shadow_log::LoggedRequest;
use crate::telemetry::record;

/// A lock under a separate key, acquired concurrently with the request's work, which never waits
/// for it.
pub(crate) struct Shadow {
    measurement: Measurement,
    /// Logged when the request ends.
    #[allow(dead_code, reason = "held until it is dropped")]
    request: Option<Box<LoggedRequest>>,
}

enum Measurement {
    Acquiring(BoxFuture<'static, Option<MultiGuard>>),
    /// Held while the request runs, so that other requests' measurements find it.
    Holding(#[allow(dead_code, reason = "held until it is dropped")] MultiGuard),
    Ended,
}

/// Records the result when the measurement or the request ends.
struct ShadowReport {
    policy: LockName,
    would: ShadowOutcome,
}

impl Drop for ShadowReport {
    fn drop(&mut self) {
        record::shadow(&self.policy, self.would);
    }
}

impl Shadow {
    pub(crate) fn new(
        policy: LockName,
        acquire: Acquire<OneOrMany>,
        request: Option<LoggedRequest>,
    ) -> Self {
        let acquire = without_replacing(acquire);
        let measurement = Measurement::Acquiring(Box::pin(async move {
            let mut finding = ShadowReport { policy, would: ShadowOutcome::NotMeasured };
            match acquire.clone().try_acquire().await {
                Ok(guard) => {
                    finding.would = ShadowOutcome::Pass;
                    return Some(guard);
                }
                Err(AcquireError::Busy(_)) => {}
                Err(_) => return None,
            }
            // Another request runs under this key at the same time as this one.
            record::shadow_overlap(&finding.policy);
            finding.would = ShadowOutcome::Wait;
            // The work continues meanwhile and may have acquired locks that are ordered after this
            // one.
            match out_of_order(acquire).acquire().await {
                Ok(guard) => return Some(guard),
                Err(AcquireError::Busy(_) | AcquireError::Overloaded(_)) => {
                    finding.would = ShadowOutcome::Refuse;
                }
                Err(_) => finding.would = ShadowOutcome::NotMeasured,
            }
            None
        }));
        // Boxed: every request has room for this, and few are logged.
        Self { measurement, request: request.map(Box::new) }
    }

    /// Runs `work` concurrently with the measurement.
    pub(crate) async fn beside<F: Future>(shadow: Option<&mut Self>, work: F) -> F::Output {
        let Some(shadow) = shadow else { return work.await };
        let mut work = pin!(work);
        poll_fn(|context| {
            shadow.poll(context);
            work.as_mut().poll(context)
        })
        .await
    }

    /// Polls the measurement.
    pub(crate) fn poll(&mut self, context: &mut Context<'_>) {
        if let Measurement::Acquiring(acquiring) = &mut self.measurement
            && let Poll::Ready(granted) = acquiring.as_mut().poll(context)
        {
            self.measurement = granted.map_or(Measurement::Ended, Measurement::Holding);
        }
    }
}

impl fmt::Debug for Shadow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.measurement {
            Measurement::Acquiring(_) => "Acquiring",
            Measurement::Holding(_) => "Holding",
            Measurement::Ended => "Ended",
        })
    }
}
