//! A request's lock while it is held, or the reason why there is none.

use std::{future::Future, sync::Arc, task::Context};

use lock_core::{Lost, LostCause, Mode, MultiGuard};
use lock_policy::{OnLost, Release, Unlocked};
use tokio::time::Instant;
use tracing::Span;

use crate::{
    enforcement::shadow::Shadow,
    request::{context::RequestContext, principal_limit::LimitPermit},
    settings::policy::Policy,
    telemetry::{record, spans},
};

/// What a request has of its lock: the end of this is the end of the hold, however it comes about.
#[derive(Debug)]
pub(crate) struct RequestHold {
    pub(crate) policy: Arc<Policy>,
    pub(crate) mode: Mode,
    /// `None`: it runs unlocked.
    guard: Option<MultiGuard>,
    pub(crate) unlocked: Option<Unlocked>,
    shadow: Option<Shadow>,
    /// For somebody who has only so many locks.
    counted: Option<LimitPermit>,
    since: Instant,
    /// What runs under it runs in this.
    pub(crate) context: RequestContext,
    /// Open for as long as this is there.
    span: Span,
    /// The work has come to its end by itself.
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
    ) -> Self {
        let span = spans::hold(context.caller.route(), &policy.label(mode));
        let since = Instant::now();
        let (counted, done) = (None, false);
        Self { policy, mode, guard, unlocked, shadow, counted, since, context, span, done }
    }

    /// The same, which counts for as long as this is there.
    pub(crate) fn counted(self, counted: Option<LimitPermit>) -> Self {
        let mut held = self;
        held.counted = counted;
        held
    }

    /// Runs `work` for as long as the lock is held, or to its end where a loss is only signalled.
    pub(crate) async fn run<F: Future>(&mut self, work: F) -> Result<F::Output, Lost> {
        let only_signals = self.only_signals();
        let work = Shadow::beside(self.shadow.as_mut(), work);
        match &self.guard {
            Some(guard) if !only_signals => guard.protect(work).await,
            _ => Ok(work.await),
        }
    }

    /// The span of the work.
    pub(crate) fn span(&self) -> Span {
        self.span.clone()
    }

    /// Whether the work has come to its end; what is dropped before was cancelled.
    pub(crate) fn done(&mut self, done: bool) {
        self.done = done;
    }

    /// Resolves when the work has to stop.
    pub(crate) fn stopped(&self) -> Option<impl Future<Output = Lost> + Send + use<>> {
        let guard = self.guard.as_ref().filter(|_| !self.only_signals())?;
        Some(guard.lost())
    }

    /// Whether the lock was lost while the work went on.
    pub(crate) fn went_on_without(&self) -> bool {
        self.guard.as_ref().is_some_and(|guard| !guard.is_held())
    }

    /// Goes on with what is measured in shadow, if anything is, after the handler's end.
    pub(crate) fn measure(&mut self, context: &mut Context<'_>) {
        if let Some(shadow) = &mut self.shadow {
            shadow.poll(context);
        }
    }

    pub(crate) fn lost_while_streaming(&self, lost: &Lost) {
        let (policy, route, cause) =
            (&*self.policy.name, self.context.caller.route(), lost.cause());
        tracing::warn!(policy, route, %cause, "lock lost: the response is cut short");
    }

    fn only_signals(&self) -> bool {
        self.policy.settings.on_lost == Some(OnLost::Signal)
    }

    /// Ends the hold as the policy wants it.
    pub(crate) async fn release(mut self) {
        if self.policy.settings.release == Some(Release::BeforeResponse)
            && let Some(guard) = self.observed()
            // The work is done: a release that did not get through goes on in the background.
            && let Err(error) = guard.release().await
        {
            let (policy, route) = (&*self.policy.name, self.context.caller.route());
            tracing::debug!(policy, route, %error, "not released before the response");
        }
    }

    /// The guard, once: what there is to know of the hold has been taken down.
    fn observed(&mut self) -> Option<MultiGuard> {
        let guard = self.guard.take()?;
        let held = self.since.elapsed();
        let lost = guard.views().find_map(|view| view.ensure_held().err()).map(|lost| lost.cause());
        spans::held(&self.span, self.done, lost, held);
        if self.unlocked.is_none() {
            self.policy.holds.observe(self.mode, held);
        }
        record::held(&self.policy.name, self.mode, held, guard.least_remaining());
        if let Some(cause) = lost {
            self.observe_loss(cause);
        }
        Some(guard)
    }

    /// `Local` has one, which stands in this process alone.
    fn runs_without_guard(&self) -> bool {
        self.unlocked.is_some_and(|unlocked| unlocked != Unlocked::Local)
    }

    fn observe_loss(&self, cause: LostCause) {
        record::lost(&self.policy.name, cause);
        if self.only_signals() {
            let (policy, route) = (&*self.policy.name, self.context.caller.route());
            tracing::warn!(policy, route, %cause, "lock lost: the handler was told and went on");
        }
    }
}

impl Drop for RequestHold {
    fn drop(&mut self) {
        // A hold without a guard has been taken down already, unless there never was a guard.
        if self.observed().is_none() && self.runs_without_guard() {
            spans::held(&self.span, self.done, None, self.since.elapsed());
        }
    }
}
