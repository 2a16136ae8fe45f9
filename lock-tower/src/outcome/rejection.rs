use std::{borrow::Cow, sync::Arc, time::Duration};

use http::StatusCode;
use lock_core::{__private::LockSpec, AcquireError, Kind, LockError, Lost, LostCause, Mode};
use lock_policy::{
    __private::{AnswerOverride, LockName, RequestKey},
    KeyRejection, Outcome,
};

use super::{
    caller::Caller,
    hold_time::HoldTimes,
    rejected_request::Fallback,
    retry_after::{jittered, when_released},
    table::{Executed, Retry, row},
};
use crate::telemetry::LockLabel;

/// A request that is not carried out under its lock.
pub(crate) struct Rejection {
    pub(crate) outcome: Outcome,
    pub(crate) caller: Arc<Caller>,
    /// The lock that was refused; `None` if it is unknown.
    pub(crate) lock: Option<Box<RejectedLock>>,
    /// The reason, for the log and, if the client is at fault, for the client. Never contains the
    /// key or a value from it, which may be personal data.
    pub(crate) reason: Option<Cow<'static, str>>,
    pub(crate) waited: Duration,
    /// Whether the request's own time is over, and not the others' number the reason.
    pub(crate) is_late: bool,
    /// Whether the metrics have the acquisition already: as a grant, or as refused to a function.
    pub(crate) is_counted: bool,
    /// Whether the handler has already done something, so that the request must not simply be repeated.
    pub(crate) is_after_work: bool,
    /// Whether the handler ran until a newer request replaced it.
    pub(crate) is_cancelled: bool,
    /// A status in place of the table's and the policy's.
    pub(crate) status: Option<StatusCode>,
    /// Whether it was refused before its wait was over.
    pub(crate) is_early: bool,
    /// Whether an operator took the lock away.
    pub(crate) taken: bool,
    pub(crate) released_in: Duration,
}

/// The lock that a rejected request would have had.
pub(crate) struct RejectedLock {
    pub(crate) label: LockLabel,
    /// How many permits a semaphore has.
    pub(crate) permits: Option<u32>,
    /// Which of several locks was in the way.
    pub(crate) busy: Option<BusyLock>,
    /// How the answer differs from the table's.
    pub(crate) answer: Option<AnswerOverride>,
    /// A function that answers in place of the table.
    pub(crate) fallback: Option<Fallback>,
}

/// The one of a request's locks that was in the way.
pub(crate) struct BusyLock {
    /// The template of its key.
    pub(crate) template: LockName,
    /// Which lock it is; `None` for the policy's.
    own: Option<LockSpec>,
}

impl RejectedLock {
    /// Returns the kind of the lock that was refused; `None` if that can be any of several.
    pub(crate) fn kind(&self) -> Option<Kind> {
        self.own().map_or(self.label.kind, |own| Some(own.kind))
    }

    pub(crate) fn mode(&self) -> Mode {
        self.own().map_or(self.label.mode, |own| own.mode)
    }

    /// Returns how many permits it has, if it is a semaphore.
    pub(crate) fn permits(&self) -> Option<u32> {
        let own = self.own().map(|own| (own.kind == Kind::Semaphore).then_some(own.permits));
        own.unwrap_or(self.permits)
    }

    fn own(&self) -> Option<LockSpec> {
        self.busy.as_ref().and_then(|busy| busy.own)
    }
}

impl Rejection {
    pub(crate) fn new(outcome: Outcome, caller: &Arc<Caller>) -> Self {
        Self {
            outcome,
            caller: Arc::clone(caller),
            lock: None,
            reason: None,
            waited: Duration::ZERO,
            is_late: false,
            is_counted: false,
            is_after_work: false,
            is_cancelled: false,
            status: None,
            is_early: false,
            taken: false,
            released_in: when_released(None, Duration::ZERO, None),
        }
    }

    /// Creates a rejection for a misconfigured service. The log has the remedy for its operator.
    pub(crate) fn misconfigured(caller: &Arc<Caller>, why: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Outcome::Misconfigured, caller).because(why)
    }

    /// Creates a rejection for a handler that requires a token when there is none.
    pub(crate) fn without_fence(caller: &Arc<Caller>, outcome: Outcome, why: &'static str) -> Self {
        Self::new(outcome, caller).because(why)
    }

    pub(crate) fn key_rejected(caller: &Arc<Caller>, bad: KeyRejection) -> Self {
        Self::new(bad.outcome(), caller).because(bad.into_reason())
    }

    pub(crate) fn bad_deadline(caller: &Arc<Caller>, why: String) -> Self {
        Self::new(Outcome::DeadlineInvalid, caller).because(why)
    }

    pub(crate) fn over_limit(caller: &Arc<Caller>, most: usize) -> Self {
        let why = format!("the sender of the request may have {most} locks at once");
        Self::new(Outcome::OverLimit, caller).because(why)
    }

    pub(crate) fn not_acquired(
        caller: &Arc<Caller>,
        error: &AcquireError,
        holds: &HoldTimes,
    ) -> Self {
        let rejection = Self::new(Outcome::from(error), caller);
        match error {
            AcquireError::Busy(busy) => Self {
                is_early: busy.is_early(),
                released_in: when_released(
                    holds.mean(busy.mode()),
                    busy.waited(),
                    busy.holder_remaining(),
                ),
                ..rejection
            },
            AcquireError::Overloaded(over) if over.is_total() => rejection.because(
                "too many acquisitions wait for locks in this process (`max_waiters_total`)",
            ),
            AcquireError::Deadlock(_)
            | AcquireError::Replaced { .. }
            | AcquireError::Overloaded(_)
            | AcquireError::Draining => rejection,
            AcquireError::Unavailable(unavailable) => rejection.because(unavailable.to_string()),
            AcquireError::Lost(lost) => Self { is_counted: false, ..Self::lost(caller, lost) },
            AcquireError::Key(error) => Self::key_rejected(caller, error.clone().into()),
            AcquireError::InvalidOptions(error) => Self::misconfigured(caller, error.to_string()),
            AcquireError::WrongKind(wrong) => Self::misconfigured(
                caller,
                format!(
                    "this key holds a value that is not a {} lock: use another key or another \
                     prefix, and never two kinds of lock on one key",
                    wrong.kind()
                ),
            ),
            AcquireError::Unsupported(error) => Self::misconfigured(caller, error.to_string()),
            _ => Self::misconfigured(caller, "the lock was refused for a reason unknown here"),
        }
    }

    /// Names the lock that was in the way, if the request wants several.
    pub(crate) fn naming_busy(mut self, keys: &[RequestKey], error: &AcquireError) -> Self {
        let key = match error {
            AcquireError::Busy(busy) => busy.key(),
            AcquireError::Deadlock(deadlock) => deadlock.key(),
            AcquireError::Overloaded(over) if !over.is_total() => over.key(),
            _ => return self,
        };
        if let (Some(lock), 2..) = (&mut self.lock, keys.len()) {
            let found = keys.iter().find(|known| known.key == *key);
            lock.busy = found.and_then(|known| {
                Some(BusyLock { template: known.template.clone()?, own: known.own })
            });
        }
        self
    }

    /// Creates a rejection for work that was not run under its lock, or not to its end.
    pub(crate) fn not_finished(caller: &Arc<Caller>, error: LockError, holds: &HoldTimes) -> Self {
        match error {
            LockError::Acquire(error) => Self::not_acquired(caller, &error, holds),
            LockError::Lost(lost) => Self::lost(caller, &lost),
            LockError::Value(error) => Self::key_rejected(caller, error.into()),
            _ => Self::new(Outcome::Misconfigured, caller),
        }
    }

    /// Creates a rejection for work that a lost lock cancelled.
    pub(crate) fn lost(caller: &Arc<Caller>, lost: &Lost) -> Self {
        if lost.cause() == LostCause::Replaced {
            return Self::replaced(caller);
        }
        let rejection = Self::new(Outcome::Lost, caller).because(lost.cause().to_string());
        Self { is_counted: true, taken: lost.cause() == LostCause::Taken, ..rejection }
    }

    /// Creates a rejection for work that was cancelled for a newer request.
    pub(crate) fn replaced(caller: &Arc<Caller>) -> Self {
        Self { is_counted: true, is_cancelled: true, ..Self::new(Outcome::Replaced, caller) }
    }

    pub(crate) fn because(self, why: impl Into<Cow<'static, str>>) -> Self {
        Self { reason: Some(why.into()), ..self }
    }

    pub(crate) fn too_late(caller: &Arc<Caller>) -> Self {
        let why = "the request's own deadline leaves no time to wait and work: it is over, or nearer \
                   than the policy's `reserve`";
        Self { is_late: true, ..Self::new(Outcome::Overloaded, caller).because(why) }
    }

    pub(crate) fn after(self, waited: Duration) -> Self {
        Self { waited, ..self }
    }

    pub(crate) fn label(&self) -> Option<&LockLabel> {
        self.lock.as_ref().map(|lock| &lock.label)
    }

    /// Returns whether the handler ran.
    pub(super) fn executed(&self) -> Executed {
        match () {
            () if self.is_after_work => Executed::Unknown,
            () if self.is_cancelled => Executed::Yes,
            () => row(self.outcome).executed,
        }
    }

    /// Returns when the client may retry; `None` if a retry would not help.
    pub(crate) fn retry_after(&self) -> Option<Duration> {
        match row(self.outcome).retry {
            _ if self.is_after_work => None,
            Retry::Never => None,
            Retry::WhenReleased => Some(jittered(self.released_in)),
            Retry::After(about) => Some(jittered(about)),
        }
    }
}
