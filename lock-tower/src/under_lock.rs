//! The one path by which a layer and an attribute run something under a lock.

use std::time::Duration;

use lock_core::{Acquire, AcquireError, LockGuard, LockKey, Mode};
use tokio::time::Instant;

use crate::{
    context::{Enclosing, RequestContext},
    hold_times::HoldTimes,
    name::Name,
    outcome::Refusal,
    slot::Slot,
};

/// A lock that is about to be taken for a request.
pub(crate) struct Asked<'a> {
    pub(crate) name: &'a Name,
    pub(crate) template: Option<&'a Name>,
    pub(crate) key: LockKey,
    pub(crate) mode: Mode,
    /// Whether others are waited for at all.
    pub(crate) waits: bool,
    pub(crate) acquire: Acquire,
    pub(crate) holds: &'a HoldTimes,
    pub(crate) slot: Slot,
}

/// A lock that is held: the end of this is the end of the hold, however it comes about.
struct Held<'a> {
    guard: LockGuard,
    since: Instant,
    holds: &'a HoldTimes,
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.holds.observe(self.guard.mode(), self.since.elapsed());
    }
}

impl Asked<'_> {
    /// Acquires the lock and runs what `begin` gives until it ends or the lock is lost. `begin` is
    /// called once the lock is held. The lock is released, in the background, before this returns.
    pub(crate) async fn run<F: Future>(
        self,
        context: &RequestContext,
        begin: impl FnOnce(RequestContext) -> F,
    ) -> Result<F::Output, Refusal> {
        let asked_at = Instant::now();
        let acquire = self.acquire.clone().in_scope(&context.scope);
        let granted = match self.waits {
            true => acquire.acquire().await,
            false => acquire.try_acquire().await,
        };
        let guard = granted.map_err(|error| self.refused(context, &error, asked_at.elapsed()))?;
        let held = Held { guard, since: Instant::now(), holds: self.holds };
        self.slot.fill(self.name.clone(), held.guard.view());
        let inside = context.inside(Enclosing {
            name: self.name.clone(),
            template: self.template.cloned(),
            key: self.key.clone(),
            mode: self.mode,
            around: None,
        });
        let begun = inside.clone();
        // The scope is ambient for `begin` too: a service may do its work before its future does.
        let work = inside.run(async move { begin(begun).await });
        let done = held.guard.protect(work).await;
        done.map_err(|lost| Refusal::lost(&context.caller, &lost).of_lock(self.name, self.mode))
    }

    fn refused(&self, context: &RequestContext, error: &AcquireError, waited: Duration) -> Refusal {
        // Never above debug: a key may be personal.
        tracing::debug!(policy = &**self.name, key = %self.key, %error, "lock not acquired");
        let refusal = match error {
            AcquireError::ReadHeld { .. } => {
                Refusal::misconfigured(&context.caller, self.read_held(context))
            }
            _ => Refusal::not_acquired(&context.caller, error, self.holds),
        };
        refusal.of_lock(self.name, self.mode).after(waited)
    }

    /// For the engineer who has put a reading lock around a writing one.
    fn read_held(&self, context: &RequestContext) -> String {
        let name = self.name;
        let outer = match context.reader_of(&self.key) {
            Some(Enclosing { name, template: Some(template), .. }) if **name != **template => {
                format!("`{name}` (key `{template}`)")
            }
            Some(outer) => format!("`{}`", outer.name),
            None => "an acquisition further out".to_owned(),
        };
        format!(
            "{outer} reads the key that `{name}` asks to write in the same request, which would \
             wait for itself for ever: let the outer one take the write lock, or the inner one read"
        )
    }
}
