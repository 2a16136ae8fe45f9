//! A request's lock while it is held, or the reason why there is none.

use std::{future::Future, sync::Arc, task::Context};

use lock_core::{
    __private::{self, least_remaining},
    FencingToken, Lost, LostCause, Mode, MultiGuard,
};
use lock_policy::{OnBusy, OnLost, Release, Unlocked};
use tokio::time::Instant;
use tracing::Span;

use crate::{
    enforcement::shadow::Shadow,
    lock_settings::policy::Policy,
    request::{context::RequestContext, principal_limit::LimitPermit},
    telemetry::{record, spans},
};

/// A request's hold on its lock. Dropping it ends the hold.
#[derive(Debug)]
pub(crate) struct RequestHold {
    pub(crate) policy: Arc<Policy>,
    pub(crate) mode: Mode,
    /// `None` if the request runs unlocked.
    guard: Option<MultiGuard>,
    pub(crate) unlocked: Option<Unlocked>,
    shadow: Option<Shadow>,
    /// Counts against the principal's limit while it exists.
    _counted: Option<LimitPermit>,
    since: Instant,
    /// The context of the work that runs under the lock.
    pub(crate) context: RequestContext,
    /// The span of the hold, open while this exists.
    span: Span,
    /// Whether the work ended normally.
    done: bool,
}

impl RequestHold {
    pub(crate) fn new(
        context: RequestContext,
        policy: Arc<Policy>,
        mode: Mode,
        guard: Option<MultiGuard>,
        unlocked: Option<Unlocked>,
        shadow: Option<Shadow>,
        counted: Option<LimitPermit>,
    ) -> Self {
        let span = spans::hold(context.caller.route(), &policy.label(mode));
        Self {
            policy,
            mode,
            guard,
            unlocked,
            shadow,
            _counted: counted,
            since: Instant::now(),
            context,
            span,
            done: false,
        }
    }

    /// Runs `work` while the lock is held, or to its end if a loss is only signalled.
    pub(crate) async fn run<F: Future>(&mut self, work: F) -> Result<F::Output, Lost> {
        let only_signals = self.only_signals();
        let work = Shadow::beside(self.shadow.as_mut(), work);
        match &self.guard {
            Some(guard) if !only_signals => guard.protect(work).await,
            _ => Ok(work.await),
        }
    }

    /// Returns the span of the work.
    pub(crate) fn span(&self) -> Span {
        self.span.clone()
    }

    /// Records whether the work has ended. A hold that is dropped earlier counts as cancelled.
    pub(crate) fn done(&mut self, done: bool) {
        self.done = done;
    }

    /// Returns a future that resolves when the work must stop.
    pub(crate) fn stopped(&self) -> Option<impl Future<Output = Lost> + Send + use<>> {
        let guard = self.guard.as_ref().filter(|_| !self.only_signals())?;
        Some(__private::stopped(guard))
    }

    /// Returns why the lock is lost, if it is. One that the handler has parked is not.
    pub(crate) fn loss(&self) -> Option<LostCause> {
        let views = self.guard.iter().flat_map(MultiGuard::views);
        let mut causes = views.filter_map(|view| Some(view.ensure_held().err()?.cause()));
        causes.find(|cause| *cause != LostCause::Parked)
    }

    /// Continues the shadow measurement, if there is one, after the handler has ended.
    pub(crate) fn measure(&mut self, context: &mut Context<'_>) {
        if let Some(shadow) = &mut self.shadow {
            shadow.poll(context);
        }
    }

    /// Whether a newer request has replaced this one, by this loss. A handler that did not stop when that
    /// was requested finds its lock taken away.
    pub(crate) fn is_replaced(&self, lost: &Lost) -> bool {
        let can_be = self.policy.settings.on_busy == Some(OnBusy::Replace);
        lost.cause() == LostCause::Replaced || (can_be && lost.cause() == LostCause::Taken)
    }

    pub(crate) fn lost_while_streaming(&self, lost: &Lost) {
        let (policy, route, cause) =
            (&*self.policy.name, self.context.caller.route(), lost.cause());
        log_loss(policy, route, cause, "lock lost: the response is cut short");
    }

    /// Returns the token for the response, if the settings ask for it and there is one.
    pub(crate) fn shown_token(&self) -> Option<FencingToken> {
        let shows = self.policy.settings.fence_header == Some(true) && self.unlocked.is_none();
        let mut views = self.guard.iter().filter(|_| shows).flat_map(MultiGuard::views);
        match (views.next(), views.next()) {
            (Some(only), None) => {
                Some(only.fencing_token()).filter(|token| *token != FencingToken::NONE)
            }
            _ => None,
        }
    }

    fn only_signals(&self) -> bool {
        self.policy.settings.on_lost == Some(OnLost::Signal)
    }

    /// Whether the response waits for the release.
    pub(crate) fn is_released_first(&self) -> bool {
        self.policy.settings.release == Some(Release::BeforeResponse)
    }

    /// Ends the hold and waits for the release.
    pub(crate) async fn release(mut self) {
        let lost = self.loss();
        if let Some(guard) = self.observed(lost)
            // The work is done. A release that failed is retried in the background.
            && let Err(error) = guard.release().await
        {
            let (policy, route) = (&*self.policy.name, self.context.caller.route());
            tracing::debug!(policy, route, %error, "not released before the response");
        }
    }

    /// Ends the hold, whose [`loss`](Self::loss) has just been looked at.
    pub(crate) fn end(mut self, lost: Option<LostCause>) {
        self.observed(lost);
    }

    /// Records the metrics of the hold and returns its guard, once.
    fn observed(&mut self, lost: Option<LostCause>) -> Option<MultiGuard> {
        let guard = self.guard.take()?;
        let held = self.since.elapsed();
        spans::held(&self.span, self.done, lost, held);
        if self.unlocked.is_none() {
            self.policy.holds.observe(self.mode, held);
        }
        record::held(self.policy.metric_keys(), self.mode, held, least_remaining(&guard));
        if let Some(cause) = lost {
            self.observe_loss(cause);
        }
        Some(guard)
    }

    /// Whether the request runs without a guard. `Local` has a guard, valid in this process only.
    fn runs_without_guard(&self) -> bool {
        self.unlocked.is_some_and(|unlocked| unlocked != Unlocked::Local)
    }

    fn observe_loss(&self, cause: LostCause) {
        record::lost(&self.policy.name, cause);
        if self.only_signals() {
            let (policy, route) = (&*self.policy.name, self.context.caller.route());
            log_loss(policy, route, cause, "lock lost: the handler was notified and continued");
        }
    }
}

fn log_loss(policy: &str, route: Option<&str>, cause: LostCause, what: &'static str) {
    if matches!(cause, LostCause::Taken | LostCause::Replaced) {
        // The operator that took it away knows of it, and the newest request is to win.
        tracing::info!(policy, route, %cause, "{what}");
    } else {
        tracing::warn!(policy, route, %cause, "{what}");
    }
}

impl Drop for RequestHold {
    fn drop(&mut self) {
        // A guard that was taken has been recorded already. Record here only if there never was
        // one.
        let lost = self.loss();
        if self.observed(lost).is_none() && self.runs_without_guard() {
            spans::held(&self.span, self.done, None, self.since.elapsed());
        }
    }
}
