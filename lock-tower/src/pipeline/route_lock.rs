//! The lock that a layer acquires for each request.

use std::sync::Arc;

use http::{HeaderName, Method, request::Parts};
use lock_core::{
    __private::{LockSpec, check},
    Kind, LockClient, Mode,
};
use lock_policy::{
    __private::RequestKeys, Enforce, HoldUntil, KeyRejection, KeyValues, LockMode, OnBusy,
    OnMissingKey, Outcome, ReplaceBy, RequestBody,
};

#[cfg(feature = "utoipa")]
use crate::outcome::caller::Caller;
#[cfg(feature = "utoipa")]
use lock_policy::{OnLost, OnStoreDown};

use super::{missing_key, pending_locks::PendingLocks, preflight::PreflightRoutes, reject};
use crate::{
    enforcement::shadow_log,
    lock_settings::{permits_of::PermitsOf, policy::Policy},
    outcome::rejection::Rejection,
    request::{
        context::RequestContext, deadline_header::limit_time, lock_slot::LockSlot,
        principal_limit::PrincipalLimit,
    },
    request_key::KeySource,
};

/// Shared by all services that one layer wraps.
#[derive(Debug, Clone)]
pub(crate) struct RouteLock {
    pub(crate) client: LockClient,
    pub(crate) keys: KeySource,
    pub(crate) values: KeyValues,
    pub(crate) on_missing_key: OnMissingKey,
    pub(crate) mode: LockMode,
    pub(crate) policy: Arc<Policy>,
    /// The header by which a client may shorten its deadline.
    pub(crate) deadline_header: Option<HeaderName>,
    pub(crate) limit: Option<PrincipalLimit>,
    pub(crate) preflights: PreflightRoutes,
    /// For a semaphore whose number of permits depends on the request.
    pub(crate) permits: Option<PermitsOf>,
}

impl RouteLock {
    /// Applies the client's deadline to the request. Returns what is wrong with the header, if
    /// anything is.
    pub(crate) fn limit_time(&self, parts: &mut Parts) -> Result<(), String> {
        limit_time(self.deadline_header.as_ref(), parts)
    }

    /// Answers a request whose deadline header is invalid.
    pub(crate) fn bad_deadline(
        &self,
        context: &RequestContext,
        parts: &Parts,
        why: String,
    ) -> Rejection {
        let mode = self.mode_of(&parts.method);
        self.policy.reject(mode, Rejection::bad_deadline(&context.caller, why))
    }

    /// Returns the mode of a request with this method: of several locks the strongest.
    fn mode_of(&self, method: &Method) -> Mode {
        let own = self.keys.own_mode(method);
        own.unwrap_or_else(|| self.mode.on(self.policy.kind.unwrap_or_default(), method))
    }

    /// Returns every mode that a request may have.
    pub(crate) fn modes(&self) -> &'static [Mode] {
        match [Method::GET, Method::POST].map(|method| self.mode_of(&method)) {
            [Mode::Read, Mode::Read] => &[Mode::Read],
            [Mode::Read, Mode::Write] => &[Mode::Read, Mode::Write],
            _ => &[Mode::Write],
        }
    }

    /// Returns the locks for this request.
    pub(crate) async fn pending_locks(
        &self,
        context: &RequestContext,
        parts: &mut Parts,
    ) -> Result<PendingLocks, Rejection> {
        let keys = self.keys.keys(parts, &self.values).await;
        self.pending_locks_for(context, parts, keys)
    }

    /// Returns the locks on `keys`, or what the policy has instead of them.
    pub(crate) fn pending_locks_for(
        &self,
        context: &RequestContext,
        parts: &Parts,
        keys: Result<RequestKeys, KeyRejection>,
    ) -> Result<PendingLocks, Rejection> {
        let mode = self.mode_of(&parts.method);
        let keys = keys.or_else(|bad| self.without_key(bad));
        let enforce = self.policy.enforce();
        // A lock that is not enforced rejects no request.
        if !matches!(enforce, Enforce::Off | Enforce::Shadow)
            && let Some(why) = self.mistake()
        {
            let rejection = Rejection::misconfigured(&context.caller, why);
            return Err(self.policy.reject(mode, rejection));
        }
        let keys = missing_key::keys_of(&self.policy, mode, enforce, &context.caller, keys)?;
        let permits = self.permits.as_ref().and_then(|permits| permits.of(parts));
        Ok(PendingLocks {
            policy: match permits {
                None => Arc::clone(&self.policy),
                Some(permits) => Arc::new(self.policy.with_permits(permits)),
            },
            client: self.client.clone(),
            keys,
            mode,
            enforce,
            path: match enforce {
                Enforce::On => None,
                _ => shadow_log::path_of(parts, enforce),
            },
            slot: LockSlot::default(),
            limited: self.limit.as_ref().and_then(|limit| limit.of(parts)),
        })
    }

    /// Logs that a slow client can hold the lock without end: a read lock too, which excludes writers.
    pub(crate) fn warn_of_streams(&self) {
        let settings = &self.policy.settings;
        if settings.max_hold.is_some() {
            return;
        }
        if settings.body == Some(RequestBody::Stream) {
            tracing::warn!(
                policy = &*self.policy.name,
                "bodies are streamed under this lock, which has no `max_hold`: a client that sends \
                 slowly holds it for as long as its connection lives"
            );
        }
        if settings.hold_until == Some(HoldUntil::Body) {
            tracing::warn!(
                policy = &*self.policy.name,
                "this lock is held until the response's body is sent, and has no `max_hold`: a client \
                 that reads slowly holds it for as long as its connection lives"
            );
        }
    }

    /// Logs that requests acquire several locks one after the other, where they do.
    pub(crate) fn warn_of_steps(&self) {
        self.policy.warn_of_steps(&self.client, &self.keys.samples());
    }

    /// Returns why no request can have these locks, if that is so: each has its own kind, or requests of two
    /// principals would replace each other.
    fn mistake(&self) -> Option<&'static str> {
        let settings = &self.policy.settings;
        if self.keys.have_own_locks() {
            let of_policy = self.policy.kind.is_some() || self.mode != LockMode::ByMethod;
            if of_policy || settings.permits.or(settings.weight).is_some() {
                return Some(
                    "each of several locks has its own kind, mode, permits and weight: set them in its \
                     `LockTemplate`, and not on the layer",
                );
            }
            if matches!(self.on_missing_key, OnMissingKey::Constant(_)) {
                return Some(
                    "of several locks it is not known which one has the constant key: refuse or skip \
                     requests without a value, or write a default into the template",
                );
            }
        }
        // Of which principal a request is can only be known from its key.
        let by = settings.replace_by.as_ref().filter(|_| settings.on_busy == Some(OnBusy::Replace));
        let shared = matches!(self.on_missing_key, OnMissingKey::Constant(_));
        let fits = |by: &ReplaceBy| *by == ReplaceBy::Anyone || (self.keys.fits(by) && !shared);
        by.filter(|by| !fits(by)).map(|_| {
            "requests of two principals would replace each other: `replace_by` has to be a placeholder of \
             the key without a default, and requests without it must not share a constant key; or write \
             `replace_by(\"anyone\")`"
        })
    }

    /// Logs that a request that writes is skipped while one runs that does other work.
    fn warn_of_skips(&self) {
        let skips = self.policy.settings.on_busy == Some(OnBusy::Skip);
        let has_readers = self.policy.kind.is_some_and(Kind::has_readers);
        if skips && has_readers && self.mode == LockMode::ByMethod {
            tracing::warn!(
                policy = &*self.policy.name,
                "while a request that reads (GET, HEAD, OPTIONS) has this lock, one that writes is skipped \
                 as if its work were done already: set the mode to write, or lock these methods apart"
            );
        }
    }

    /// Logs why every request is refused this lock, if its settings allow none.
    pub(crate) fn log_refused(&self) {
        self.warn_of_skips();
        let name = &self.policy.name;
        let mistake = self.policy.settings.mistake();
        if let Some(why) = mistake.or(self.mistake().map(str::to_owned)) {
            tracing::error!(policy = &**name, "no request can acquire this lock: {why}");
        }
        // The number of permits may be each request's own.
        if self.permits.is_some() && self.policy.settings.permits.is_none() {
            return;
        }
        let options = self.policy.settings.options(name);
        let mut locks: Vec<LockSpec> =
            self.modes().iter().map(|mode| self.policy.lock(*mode)).collect();
        if self.keys.have_own_locks() {
            let methods = [Method::GET, Method::POST];
            locks = methods.iter().flat_map(|method| self.keys.own_locks(method)).collect();
        }
        let refused = locks.into_iter().map(|lock| check(&self.client, lock, &options));
        if let Some(why) = refused.filter_map(Result::err).next() {
            tracing::error!(policy = &**name, "no request can acquire this lock: {why}");
            reject::print_without_log(&format!("no request can acquire the lock `{name}`: {why}"));
        }
    }

    /// Returns the keys to lock for a request without a valid key, if the policy allows that.
    fn without_key(&self, bad: KeyRejection) -> Result<RequestKeys, KeyRejection> {
        match &self.on_missing_key {
            _ if bad.outcome() != Outcome::KeyMissing => Err(bad),
            OnMissingKey::Skip => Ok(RequestKeys::new()),
            OnMissingKey::Constant(key) => Ok(RequestKeys::from_iter([key.clone().into()])),
            _ => Err(bad),
        }
    }

    /// Returns every rejection of a request with this method that the lock can cause, except those
    /// that a function answers.
    #[cfg(feature = "utoipa")]
    pub(crate) fn rejections(
        &self,
        method: &Method,
        has_deadline_header: bool,
    ) -> impl Iterator<Item = Rejection> {
        let mode = self.mode_of(method);
        let settings = &self.policy.settings;
        let enforced = !matches!(settings.enforce, Some(Enforce::Off | Enforce::Shadow));
        let may_lack_its_key = self.on_missing_key == OnMissingKey::Reject
            && self.keys.templates().is_none_or(|templates| templates.contains('{'));
        let possible = move |outcome: &Outcome| match outcome {
            Outcome::DeadlineInvalid => has_deadline_header,
            _ if !enforced => false,
            Outcome::KeyMissing => may_lack_its_key,
            Outcome::OverLimit => self.limit.is_some(),
            Outcome::BodyTooLarge | Outcome::BodyTimeout => {
                settings.body != Some(RequestBody::Stream)
            }
            Outcome::Busy => settings.on_busy != Some(OnBusy::Skip),
            Outcome::Skipped => settings.on_busy == Some(OnBusy::Skip),
            // The client's setting is not known here.
            Outcome::Deadlock => settings.refuse_deadlock == Some(true),
            Outcome::Replaced => settings.on_busy == Some(OnBusy::Replace),
            Outcome::Unavailable => settings.on_store_down != Some(OnStoreDown::Open),
            Outcome::Lost => settings.on_lost != Some(OnLost::Signal),
            _ => true,
        };
        let outcomes = Outcome::ALL.into_iter().filter(possible);
        let answered = |outcome: &Outcome| self.policy.fallbacks.contains_key(outcome);
        outcomes
            .filter(move |outcome| !answered(outcome))
            .map(move |outcome| self.policy.reject(mode, Rejection::new(outcome, &Caller::none())))
    }
}
