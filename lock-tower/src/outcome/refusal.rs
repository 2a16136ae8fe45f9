use std::{borrow::Cow, sync::Arc, time::Duration};

use bytes::Bytes;
use http::{Method, Response, Version, request::Parts};
use lock_core::{AcquireError, Lost, Mode};

use super::{
    Outcome, Refused,
    retry::{jittered, when_released},
    table::Retry,
};
use crate::{hold_times::HoldTimes, key::BadKey, observe, policy::Policy};

/// A longer request id than this is not repeated to whoever made it up.
const LONGEST_REQUEST_ID: usize = 128;

/// What an answer needs to know of the request.
#[derive(Debug, Clone, Default)]
pub(crate) struct Caller {
    pub(super) request_id: Option<Arc<str>>,
    /// The pattern of the route, which may be logged where the path may not.
    route: Option<Arc<str>>,
    /// HTTP/2 and later have no header to close a connection with.
    pub(super) speaks_http1: bool,
    is_head: bool,
}

impl Caller {
    pub(crate) fn of(parts: &Parts) -> Self {
        let request_id = parts.headers.get("x-request-id");
        let request_id = request_id.and_then(|id| id.to_str().ok());
        Self {
            request_id: request_id.filter(|id| id.len() <= LONGEST_REQUEST_ID).map(Arc::from),
            route: route(parts),
            speaks_http1: parts.version < Version::HTTP_2,
            is_head: parts.method == Method::HEAD,
        }
    }

    /// Whether the server sends the body of its answer.
    pub(crate) fn wants_body(&self) -> bool {
        !self.is_head
    }

    pub(crate) fn route(&self) -> Option<&str> {
        self.route.as_deref()
    }
}

#[cfg(feature = "axum")]
fn route(parts: &Parts) -> Option<Arc<str>> {
    let matched = parts.extensions.get::<axum::extract::MatchedPath>();
    matched.map(|path| path.as_str().into())
}

#[cfg(not(feature = "axum"))]
fn route(_: &Parts) -> Option<Arc<str>> {
    None
}

/// A request that is not carried out under its lock.
#[derive(Debug)]
pub(crate) struct Refusal {
    outcome: Outcome,
    pub(super) caller: Caller,
    pub(super) lock: Option<(Arc<Policy>, Mode)>,
    /// For the log, and for the client if the fault is its own. Never has the key or a value in
    /// it, which may be personal.
    pub(super) reason: Option<Cow<'static, str>>,
    pub(super) waited: Duration,
    /// The request had its lock, and was counted with those that were granted one.
    granted: bool,
    released_in: Duration,
}

impl Refusal {
    pub(crate) fn new(outcome: Outcome, caller: &Caller) -> Self {
        Self {
            outcome,
            caller: caller.clone(),
            lock: None,
            reason: None,
            waited: Duration::ZERO,
            granted: false,
            released_in: when_released(None, Duration::ZERO, None),
        }
    }

    /// The service is at fault: its owner reads what to do about it in the log.
    pub(crate) fn misconfigured(caller: &Caller, why: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Outcome::Misconfigured, caller).because(why)
    }

    /// The handler asks for a token, and there is none.
    pub(crate) fn without_fence(caller: &Caller, outcome: Outcome, why: &'static str) -> Self {
        Self::new(outcome, caller).because(why)
    }

    pub(crate) fn bad_key(caller: &Caller, bad: BadKey) -> Self {
        Self::new(bad.outcome(), caller).because(bad.into_reason())
    }

    pub(crate) fn bad_deadline(caller: &Caller, why: String) -> Self {
        Self::new(Outcome::DeadlineInvalid, caller).because(why)
    }

    pub(crate) fn over_limit(caller: &Caller, most: usize) -> Self {
        let why = format!("whoever sends the request may have {most} locks at once");
        Self::new(Outcome::OverLimit, caller).because(why)
    }

    pub(crate) fn not_acquired(caller: &Caller, error: &AcquireError, holds: &HoldTimes) -> Self {
        let refusal = Self::new(Outcome::of(error), caller);
        match error {
            AcquireError::Busy(busy) => Self {
                released_in: when_released(
                    holds.mean(busy.mode()),
                    busy.waited(),
                    busy.holder_remaining(),
                ),
                ..refusal
            },
            AcquireError::Overloaded(over) if over.in_all() => {
                refusal.because("as many wait for locks as may in all: `max_waiters_in_all`")
            }
            AcquireError::Overloaded(_) | AcquireError::Draining => refusal,
            AcquireError::Unavailable(unavailable) => refusal.because(unavailable.to_string()),
            AcquireError::Lost(lost) => Self { granted: false, ..Self::lost(caller, lost) },
            AcquireError::Key(error) => Self::bad_key(caller, error.clone().into()),
            AcquireError::InvalidOptions(error) => Self::misconfigured(caller, error.to_string()),
            AcquireError::WrongKind(wrong) => Self::misconfigured(
                caller,
                format!(
                    "something that is no {} lock stands under this key: use another key or \
                     another prefix, and never two kinds of lock on one key",
                    wrong.kind()
                ),
            ),
            AcquireError::Unsupported(error) => Self::misconfigured(caller, error.to_string()),
            _ => Self::misconfigured(caller, "the lock was refused for a reason unknown here"),
        }
    }

    /// The work was cut short.
    pub(crate) fn lost(caller: &Caller, lost: &Lost) -> Self {
        let refusal = Self::new(Outcome::Lost, caller).because(lost.cause().to_string());
        Self { granted: true, ..refusal }
    }

    fn because(self, why: impl Into<Cow<'static, str>>) -> Self {
        Self { reason: Some(why.into()), ..self }
    }

    pub(crate) fn too_late(caller: &Caller, policy: &Arc<Policy>, mode: Mode) -> Self {
        let why = "the request's deadline leaves no time to wait and work: it is nearer than the \
                   policy's `reserve`";
        Self::new(Outcome::Overloaded, caller).because(why).of_lock(policy, mode)
    }

    pub(crate) fn of_lock(self, policy: &Arc<Policy>, mode: Mode) -> Self {
        Self { lock: Some((Arc::clone(policy), mode)), ..self }
    }

    pub(crate) fn after(self, waited: Duration) -> Self {
        Self { waited, ..self }
    }

    pub(crate) fn outcome(&self) -> Outcome {
        self.outcome
    }

    /// Writes the one line in the log and gives the answer: the policy's own, or the table's.
    /// `request` is what is left of the request.
    pub(crate) async fn answer(self, request: Option<Parts>) -> Response<Bytes> {
        let outcome = self.outcome;
        let fallback = self.lock.as_ref().and_then(|(policy, _)| policy.fallbacks.get(&outcome));
        let fallback = fallback.cloned();
        let refused = self.tell(request);
        match fallback {
            Some(fallback) => {
                let mut response = fallback(refused).await;
                response.extensions_mut().insert(outcome);
                response
            }
            None => refused.problem(),
        }
    }

    /// As [`answer`](Self::answer), where no policy is known yet.
    #[cfg(feature = "axum")]
    pub(crate) fn answer_at_once(self) -> Response<Bytes> {
        self.tell(None).problem()
    }

    fn tell(self, request: Option<Parts>) -> Refused {
        let retry_after = match self.outcome.row().retry {
            Retry::Never => None,
            Retry::WhenReleased => Some(jittered(self.released_in)),
            Retry::After(about) => Some(jittered(about)),
        };
        self.log(retry_after);
        if let Some((policy, mode)) = &self.lock
            && !self.granted
        {
            observe::refused(&policy.name, *mode, self.outcome);
        }
        Refused::new(self, retry_after, request)
    }

    fn log(&self, retry_after: Option<Duration>) {
        let policy = self.lock.as_ref().map(|(policy, _)| &**policy);
        macro_rules! line {
            ($level:ident) => {
                tracing::$level!(
                    outcome = self.outcome.as_str(),
                    policy = policy.map(|policy| &*policy.name),
                    route = self.caller.route(),
                    kind = policy.map(|policy| policy.kind.as_str()),
                    mode = self.lock.as_ref().map(|(_, mode)| mode.as_str()),
                    waited_ms = milliseconds(self.waited),
                    retry_after_ms = retry_after.map(milliseconds),
                    request_id = self.caller.request_id.as_deref(),
                    reason = self.reason.as_deref(),
                    "request not carried out under its lock"
                )
            };
        }
        match self.outcome {
            Outcome::Busy
            | Outcome::Draining
            | Outcome::KeyMissing
            | Outcome::KeyInvalid
            | Outcome::DeadlineInvalid => line!(info),
            Outcome::Overloaded | Outcome::OverLimit | Outcome::Unavailable | Outcome::Lost => {
                line!(warn)
            }
            Outcome::Misconfigured => line!(error),
        }
    }
}

pub(crate) fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
