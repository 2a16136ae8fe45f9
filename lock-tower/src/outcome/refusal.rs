use std::{borrow::Cow, sync::Arc, time::Duration};

use http::{Response, Version, request::Parts};
use lock_core::{AcquireError, Kind, Lost, Mode};

use super::{
    Outcome, problem,
    retry::{jittered, when_released},
    table::Retry,
};
use crate::{hold_times::HoldTimes, key::BadKey, name::Name};

/// A longer request id than this is not repeated to whoever made it up.
const LONGEST_REQUEST_ID: usize = 128;

/// What an answer needs to know of the request.
#[derive(Debug, Clone, Default)]
pub(crate) struct Caller {
    pub(super) request_id: Option<Arc<str>>,
    /// HTTP/2 and later have no header to close a connection with.
    pub(super) speaks_http1: bool,
}

impl Caller {
    pub(crate) fn of(parts: &Parts) -> Self {
        let request_id = parts.headers.get("x-request-id");
        let request_id = request_id.and_then(|id| id.to_str().ok());
        Self {
            request_id: request_id.filter(|id| id.len() <= LONGEST_REQUEST_ID).map(Arc::from),
            speaks_http1: parts.version < Version::HTTP_2,
        }
    }
}

/// A request that is not carried out under its lock.
#[derive(Debug)]
pub(crate) struct Refusal {
    outcome: Outcome,
    pub(super) caller: Caller,
    pub(super) lock: Option<Name>,
    pub(super) kind: Option<Kind>,
    pub(super) mode: Option<Mode>,
    /// For the log, and for the client if the fault is its own. Never has the key or a value in
    /// it, which may be personal.
    pub(super) reason: Option<Cow<'static, str>>,
    waited: Duration,
    released_in: Duration,
}

impl Refusal {
    pub(crate) fn new(outcome: Outcome, caller: &Caller) -> Self {
        Self {
            outcome,
            caller: caller.clone(),
            lock: None,
            kind: None,
            mode: None,
            reason: None,
            waited: Duration::ZERO,
            released_in: when_released(None, Duration::ZERO, None),
        }
    }

    /// The service is at fault: its owner reads what to do about it in the log.
    pub(crate) fn misconfigured(caller: &Caller, why: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Outcome::Misconfigured, caller).because(why)
    }

    pub(crate) fn bad_key(caller: &Caller, bad: BadKey) -> Self {
        Self::new(bad.outcome(), caller).because(bad.into_reason())
    }

    pub(crate) fn not_acquired(caller: &Caller, error: &AcquireError, holds: &HoldTimes) -> Self {
        match error {
            AcquireError::Busy(busy) => Self {
                released_in: when_released(
                    holds.mean(busy.mode()),
                    busy.waited(),
                    busy.holder_remaining(),
                ),
                ..Self::new(Outcome::Busy, caller)
            },
            AcquireError::Overloaded(_) => Self::new(Outcome::Overloaded, caller),
            AcquireError::Unavailable(unavailable) => {
                Self::new(Outcome::Unavailable, caller).because(unavailable.to_string())
            }
            AcquireError::Draining => Self::new(Outcome::Draining, caller),
            AcquireError::Lost(lost) => Self::lost(caller, lost),
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
            _ => Self::misconfigured(caller, "the lock was refused for a reason unknown here"),
        }
    }

    pub(crate) fn lost(caller: &Caller, lost: &Lost) -> Self {
        Self::new(Outcome::Lost, caller).because(lost.cause().to_string())
    }

    fn because(self, why: impl Into<Cow<'static, str>>) -> Self {
        Self { reason: Some(why.into()), ..self }
    }

    pub(crate) fn of_lock(self, lock: &Name, kind: Kind, mode: Mode) -> Self {
        Self { lock: Some(lock.clone()), kind: Some(kind), mode: Some(mode), ..self }
    }

    pub(crate) fn after(self, waited: Duration) -> Self {
        Self { waited, ..self }
    }

    /// Writes the one line in the log and gives the answer.
    pub(crate) fn respond<B: From<String>>(self) -> Response<B> {
        let retry_after = match self.outcome.row().retry {
            Retry::Never => None,
            Retry::WhenReleased => Some(jittered(self.released_in)),
            Retry::After(about) => Some(jittered(about)),
        };
        self.log(retry_after);
        problem::respond(&self, self.outcome, retry_after)
    }

    fn log(&self, retry_after: Option<Duration>) {
        macro_rules! line {
            ($level:ident) => {
                tracing::$level!(
                    outcome = self.outcome.as_str(),
                    policy = self.lock.as_deref(),
                    kind = self.kind.map(Kind::as_str),
                    mode = self.mode.map(Mode::as_str),
                    waited_ms = milliseconds(self.waited),
                    retry_after_ms = retry_after.map(milliseconds),
                    request_id = self.caller.request_id.as_deref(),
                    reason = self.reason.as_deref(),
                    "request not carried out under its lock"
                )
            };
        }
        match self.outcome {
            Outcome::Busy | Outcome::Draining | Outcome::KeyMissing | Outcome::KeyInvalid => {
                line!(info);
            }
            Outcome::Overloaded | Outcome::Unavailable | Outcome::Lost => line!(warn),
            Outcome::Misconfigured => line!(error),
        }
    }
}

fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
