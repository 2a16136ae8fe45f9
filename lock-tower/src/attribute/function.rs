use std::{future::Future, pin::pin, sync::Arc, time::Duration};

use futures_util::FutureExt;
use lock_core::{
    __private::ValueError, AcquireError, InvalidOptions, LockClient, LockError, LockKey, Lost,
    Mode, MultiGuard,
};
use lock_policy::{
    __private::{RequestKey, RequestKeys, ShadowOutcome},
    Enforce, Outcome, Unlocked,
};
use tracing::Instrument;

use super::declared::DeclaredLock;
use crate::{
    enforcement::{
        shadow::Shadow,
        shadow_log::LoggedRequest,
        split::{EnforcementSplit, lets_keyless_pass, split},
    },
    lock_settings::policy::Policy,
    outcome::caller::Caller,
    pipeline::{request_hold::RequestHold, serve::run_under_lock},
    request::{
        context::{Enclosing, RequestContext},
        wait_budget::WaitBudget,
    },
    telemetry::record,
};

#[cfg(feature = "axum")]
use crate::{outcome::rejection::Rejection, pipeline::reject};

/// Runs a function's body under its attribute's locks, as a policy file around it and the environment
/// allow.
///
/// # Errors
///
/// See [`LockError`].
///
/// # Cancel safety
///
/// Dropping the future drops the body and releases the locks in the background.
pub async fn run<F: Future>(
    client: &LockClient,
    lock: &DeclaredLock,
    keys: impl IntoIterator<Item = Result<String, ValueError>>,
    body: F,
) -> Result<F::Output, Box<NotFinished>> {
    // Unboxed, the body would be stored in this future once for each branch, and functions are
    // nested.
    let body = Box::pin(body);
    let context = RequestContext::ambient();
    let is_request = context.is_some();
    let context = context.unwrap_or_else(|| RequestContext::of(client.scope()));
    let (mut policy, mode) = lock.in_force(context.attributes.as_ref());
    // The function returns an error for a lost lock: there is no answer that could be kept.
    if policy.settings.on_lost.is_some() {
        Arc::make_mut(&mut policy).settings.on_lost = None;
    }
    let not_finished = |error, keys| NotFinished::new(error, &policy, mode, &context.caller, keys);
    let enforce = policy.enforce();
    let locks = FunctionLocks { client, context: &context, policy: &policy, mode };
    let keys = match lock_keys(lock, keys) {
        Ok(keys) => keys,
        // A shadow lock never rejects a request.
        Err(_) if lets_keyless_pass(enforce) => {
            if enforce != Enforce::Off {
                record::shadow(&policy.name, ShadowOutcome::Refuse);
            }
            RequestKeys::new()
        }
        Err(invalid) => {
            record::refused(&policy.name, mode, Outcome::KeyInvalid, false);
            return Err(not_finished(invalid, RequestKeys::new()));
        }
    };
    lock.warn_of_steps(client, &policy, &keys);
    let EnforcementSplit { enforced, shadowed } = split(enforce, &keys);
    let shadow = locks.shadow(&keys, shadowed);
    let inside = if enforced.len() == keys.len() && !keys.is_empty() {
        context.clone()
    } else {
        locks.inside_unenforced(&keys)
    };
    let (guard, unlocked) = if enforced.is_empty() {
        let unlocked = if enforce == Enforce::Off { Unlocked::Off } else { Unlocked::Shadow };
        record::unlocked(&policy.name, mode, unlocked);
        (None, Some(unlocked))
    } else {
        let acquired = locks.acquire(&enforced, is_request).await;
        (Some(acquired.map_err(|error| not_finished(error, keys.clone()))?), None)
    };
    let mut held =
        RequestHold::new(inside.clone(), Arc::clone(&policy), mode, guard, unlocked, shadow, None);
    let span = held.span();
    let work = pin!(inside.run(body).fuse());
    let done = run_under_lock(&mut held, work).instrument(span).await;
    held.done(done.is_ok());
    // A holder that was replaced has not lost the lock yet.
    let lost = done.as_ref().err().map(Lost::cause).or_else(|| held.loss());
    held.end(lost);
    done.map_err(|lost| not_finished(lost.into(), keys))
}

/// A function's body that was not run under its locks, or not to its end.
#[derive(Debug)]
#[cfg_attr(not(feature = "axum"), allow(dead_code, reason = "only an answer needs all of it"))]
pub struct NotFinished {
    error: LockError,
    policy: Arc<Policy>,
    mode: Mode,
    caller: Arc<Caller>,
    keys: RequestKeys,
}

impl NotFinished {
    pub(super) fn new(
        error: LockError,
        policy: &Arc<Policy>,
        mode: Mode,
        caller: &Arc<Caller>,
        keys: RequestKeys,
    ) -> Box<Self> {
        let (policy, caller) = (Arc::clone(policy), Arc::clone(caller));
        Box::new(Self { error, policy, mode, caller, keys })
    }
}

/// Whether another holder has the lock.
#[must_use]
pub fn is_busy(not_finished: &NotFinished) -> bool {
    lock_core::__private::is_busy(&not_finished.error)
}

/// The return type of a function under an attribute with `client = ..`. `Form` tells the implementations apart.
#[diagnostic::on_unimplemented(
    message = "a function under `#[distributed_lock]` with `client = ..` cannot return `{Self}`",
    label = "a `Result` whose error implements `From<LockError>`, or Axum's `Response`, is needed here",
    note = "that is how the function reports a lock that was not acquired, or was lost; a handler may return `Result<_, LockRejection>`"
)]
pub trait FunctionOutput<Form>: Sized {
    /// Returns the value for a lock that was not acquired, or was lost.
    fn of(not_finished: NotFinished) -> impl Future<Output = Self>;
}

/// The form of `Result`.
#[derive(Debug)]
pub struct InResult;

impl<T, E: From<LockError>> FunctionOutput<InResult> for Result<T, E> {
    async fn of(not_finished: NotFinished) -> Self {
        Err(not_finished.error.into())
    }
}

/// The form of a handler's response, which has the answer of the attribute and its rule.
#[cfg(feature = "axum")]
#[derive(Debug)]
pub struct InResponse;

#[cfg(feature = "axum")]
impl FunctionOutput<InResponse> for axum::response::Response {
    async fn of(not_finished: NotFinished) -> Self {
        let NotFinished { error, policy, mode, caller, keys } = not_finished;
        let rejection = Rejection::not_finished(&caller, error.clone(), &policy.holds);
        let rejection = Rejection { is_counted: true, ..rejection };
        let mut rejection = policy.reject(mode, rejection);
        if let LockError::Acquire(error) = &error {
            rejection = rejection.naming_busy(&keys, error);
        }
        reject::answer(rejection, None).await.map(axum::body::Body::from)
    }
}

/// Returns what a function returns when its lock was not acquired, or was lost.
pub async fn not_finished<Form, Output: FunctionOutput<Form>>(
    not_finished: Box<NotFinished>,
) -> Output {
    Output::of(*not_finished).await
}

/// The locks of one call.
struct FunctionLocks<'a> {
    client: &'a LockClient,
    context: &'a RequestContext,
    policy: &'a Policy,
    mode: Mode,
}

impl FunctionLocks<'_> {
    /// Acquires the locks, and records the wait and its outcome. Within a request the wait ends with
    /// the request's time, and a store that is known to be down is not waited for.
    async fn acquire(
        &self,
        keys: &[RequestKey],
        in_request: bool,
    ) -> Result<MultiGuard, LockError> {
        let (policy, mode) = (self.policy, self.mode);
        if let Some(why) = policy.mistake(keys) {
            record::refused(&policy.name, mode, Outcome::Misconfigured, false);
            return Err(AcquireError::from(InvalidOptions::new(why)).into());
        }
        let acquire = policy.acquire(self.client, &self.context.scope, mode, keys);
        let acquire = if in_request {
            WaitBudget::of(self.context.deadline, Duration::ZERO).limit(acquire)
        } else {
            acquire.fail_fast(false)
        };
        let keys = policy.metric_keys();
        let acquired = pin!(acquire.acquire());
        let label = policy.label(mode);
        let outcome = |refused| policy.outcome(refused);
        let (granted, _) = record::wait(None, &label, keys, outcome, acquired).await;
        let guard = granted.inspect_err(|error| {
            let is_early = matches!(error, AcquireError::Busy(busy) if busy.is_early());
            record::refused(&policy.name, mode, policy.outcome(error.into()), is_early);
        })?;
        record::granted(keys, mode);
        record::handed_off(keys, &guard);
        Ok(guard)
    }

    /// The measurement of the keys for which the lock is not enforced.
    fn shadow(&self, all: &[RequestKey], keys: Vec<RequestKey>) -> Option<Shadow> {
        if keys.is_empty() {
            return None;
        }
        let policy = self.policy;
        let logged = LoggedRequest::begin(self.client, policy, self.mode, &keys, None, || {
            all.iter().any(|key| self.context.encloses(&key.key))
        });
        let acquire = policy.acquire(self.client, &self.context.scope, self.mode, &keys);
        Some(Shadow::new(policy.name.clone(), acquire, logged))
    }

    /// The context of a body that runs without some of its locks.
    fn inside_unenforced(&self, keys: &[RequestKey]) -> RequestContext {
        self.context.inside(Enclosing {
            name: self.policy.name.clone(),
            keys: keys.into(),
            lock: self.policy.lock(self.mode),
            enforced: false,
            around: None,
        })
    }
}

/// Returns the keys, unless a value is not a valid key.
fn lock_keys(
    lock: &DeclaredLock,
    keys: impl IntoIterator<Item = Result<String, ValueError>>,
) -> Result<RequestKeys, LockError> {
    let keys = keys.into_iter();
    lock.keys(keys.map(|key| Ok(LockKey::try_from(key?).map_err(AcquireError::from)?)))
}
