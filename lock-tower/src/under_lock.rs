//! The one path by which a layer and an attribute run something under a lock.

use std::time::Duration;

use lock_core::{Acquire, AcquireError, Kind, LockKey, Mode, MultiGuard, MultiLock};
use tokio::time::Instant;

use crate::{
    conflict,
    context::{Enclosing, RequestContext},
    hold_times::HoldTimes,
    key::RequestKey,
    name::Name,
    outcome::Refusal,
    slot::Slot,
};

/// What is about to be locked for a request: all the keys, or none.
pub(crate) struct Asked<'a> {
    pub(crate) name: &'a Name,
    pub(crate) keys: Vec<RequestKey>,
    pub(crate) kind: Kind,
    pub(crate) mode: Mode,
    /// Whether others are waited for at all.
    pub(crate) waits: bool,
    pub(crate) acquire: Acquire<MultiLock>,
    pub(crate) holds: &'a HoldTimes,
    pub(crate) slot: Slot,
}

/// Locks that are held: the end of this is the end of the holds, however it comes about.
struct Held<'a> {
    guard: MultiGuard,
    mode: Mode,
    since: Instant,
    holds: &'a HoldTimes,
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.holds.observe(self.mode, self.since.elapsed());
    }
}

impl Asked<'_> {
    /// Acquires the locks and runs what `begin` gives until it ends or one of them is lost. `begin`
    /// is called once they are held. They are released, in the background, before this returns.
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
        let held = Held { guard, mode: self.mode, since: Instant::now(), holds: self.holds };
        self.slot.fill(self.name.clone(), held.guard.views().collect());
        let inside = context.inside(Enclosing {
            name: self.name.clone(),
            keys: self.keys,
            kind: self.kind,
            mode: self.mode,
            around: None,
        });
        let begun = inside.clone();
        // The scope is ambient for `begin` too: a service may do its work before its future does.
        let work = inside.run(async move { begin(begun).await });
        let done = held.guard.protect(work).await;
        done.map_err(|lost| {
            Refusal::lost(&context.caller, &lost).of_lock(self.name, self.kind, self.mode)
        })
    }

    fn refused(&self, context: &RequestContext, error: &AcquireError, waited: Duration) -> Refusal {
        let keys: Vec<&LockKey> = self.keys.iter().map(|key| &key.key).collect();
        // Never above debug: a key may be personal.
        tracing::debug!(policy = &**self.name, ?keys, %error, "lock not acquired");
        let refusal = match conflict::told(context, self.name, self.kind, error) {
            Some(why) => Refusal::misconfigured(&context.caller, why),
            None => Refusal::not_acquired(&context.caller, error, self.holds),
        };
        refusal.of_lock(self.name, self.kind, self.mode).after(waited)
    }
}
