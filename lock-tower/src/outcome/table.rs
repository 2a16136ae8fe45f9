use std::time::Duration;

use http::StatusCode;
use lock_core::AcquireError;

/// Why a request was not carried out under its lock, and so how it is answered.
///
/// | outcome | status | problem type | headers | `executed` | what the client may do |
/// |---|---|---|---|---|---|
/// | [`Busy`](Self::Busy) | 423 | `lock-busy` | `Retry-After` | `false` | repeat it, even a `POST` |
/// | [`Overloaded`](Self::Overloaded) | 503 | `lock-overloaded` | `Retry-After` | `false` | repeat it later |
/// | [`OverLimit`](Self::OverLimit) | 429 | `lock-over-limit` | `Retry-After` | `false` | wait until its other requests are done |
/// | [`Unavailable`](Self::Unavailable) | 503 | `lock-unavailable` | `Retry-After` | `false` | repeat it later |
/// | [`Draining`](Self::Draining) | 503 | `lock-draining` | `Retry-After`, `Connection: close` | `false` | repeat it over a new connection |
/// | [`Lost`](Self::Lost) | 503 | `lock-lost` | | `"unknown"` | look first at what was done |
/// | [`KeyMissing`](Self::KeyMissing) | 400 | `lock-key-missing` | | `false` | send what is missing |
/// | [`KeyInvalid`](Self::KeyInvalid) | 400 | `lock-key-invalid` | | `false` | send another value |
/// | [`DeadlineInvalid`](Self::DeadlineInvalid) | 400 | `lock-deadline-invalid` | | `false` | send whole milliseconds, once |
/// | [`Misconfigured`](Self::Misconfigured) | 500 | `lock-misconfigured` | | `false` | tell the service's owner: its log says what to mend |
///
/// The problem type is written `urn:lock-tower:problem:lock-busy`. The body is
/// `application/problem+json` (RFC 9457) with the members `type`, `title`, `status`, `detail`,
/// `lock` (the lock's name, never its key), `kind`, `mode`, `executed`, `retry_after_ms` beside a
/// `Retry-After`, and `request_id` if the request had an `x-request-id`.
///
/// `executed` speaks of the handler: `false` says that it was not even called.
///
/// A response that is such an answer has its `Outcome` among its extensions, for middleware that
/// counts them or says it in other words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Outcome {
    /// Another request holds the lock, and the wait is over.
    Busy,
    /// Too many requests of this process wait for this lock, or for all of them together, or the
    /// request's [deadline](crate::RequestDeadline) leaves it no time to wait and work.
    Overloaded,
    /// Whoever sends the request has as many locks as its [limit](crate::PrincipalLimit) allows.
    OverLimit,
    /// The lock store does not answer.
    Unavailable,
    /// The lock client is shutting down.
    Draining,
    /// The lock was lost while the handler ran, and the handler was cancelled.
    Lost,
    /// The request lacks what names the lock.
    KeyMissing,
    /// A value of the request cannot stand in a lock's key.
    KeyInvalid,
    /// The header by which a client may shorten its time is no number of milliseconds.
    DeadlineInvalid,
    /// The service is at fault.
    Misconfigured,
}

/// One line of the table.
pub(super) struct Row {
    pub(super) status: StatusCode,
    pub(super) problem: &'static str,
    pub(super) title: &'static str,
    /// Whether anything was done and whether the request may be repeated.
    pub(super) detail: &'static str,
    /// Whether the reason is the client's business.
    pub(super) tells_why: bool,
    pub(super) retry: Retry,
    pub(super) closes: bool,
    pub(super) executed: Executed,
}

/// When to come back.
pub(super) enum Retry {
    Never,
    /// When a hold of this lock ends, as far as one can tell.
    WhenReleased,
    After(Duration),
}

/// Whether the handler ran.
pub(super) enum Executed {
    No,
    Unknown,
}

/// Nothing was done, there is nothing to wait for, and the rest is the same for everybody.
const REFUSED: Row = Row {
    status: StatusCode::INTERNAL_SERVER_ERROR,
    problem: "",
    title: "",
    detail: "",
    tells_why: false,
    retry: Retry::Never,
    closes: false,
    executed: Executed::No,
};

impl Outcome {
    /// The status of the answer.
    #[must_use]
    pub fn status(self) -> StatusCode {
        self.row().status
    }

    /// The last part of the problem type, such as `lock-busy`: a label for metrics.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        self.row().problem
    }

    /// What a request is answered that was refused its lock with this error.
    pub(crate) fn of(error: &AcquireError) -> Self {
        match error {
            AcquireError::Busy(_) => Self::Busy,
            AcquireError::Overloaded(_) => Self::Overloaded,
            AcquireError::Unavailable(_) => Self::Unavailable,
            AcquireError::Draining => Self::Draining,
            AcquireError::Lost(_) => Self::Lost,
            AcquireError::Key(_) => Self::KeyInvalid,
            _ => Self::Misconfigured,
        }
    }

    pub(super) fn row(self) -> Row {
        match self {
            Self::Busy => Row {
                status: StatusCode::LOCKED,
                problem: "lock-busy",
                title: "Resource is in use",
                detail: "Another request is using this resource. Nothing was done; you can \
                         repeat this request.",
                retry: Retry::WhenReleased,
                ..REFUSED
            },
            Self::Overloaded => Row {
                status: StatusCode::SERVICE_UNAVAILABLE,
                problem: "lock-overloaded",
                title: "Too many requests wait for this resource",
                detail: "So many requests wait for this resource that this one would come too late. \
                         Nothing was done; you can repeat this request later.",
                retry: Retry::After(Duration::from_millis(1_500)),
                ..REFUSED
            },
            Self::OverLimit => Row {
                status: StatusCode::TOO_MANY_REQUESTS,
                problem: "lock-over-limit",
                title: "Too many resources in use at once",
                detail: "Your other requests use or wait for as many resources as you may have at \
                         once. Nothing was done; you can repeat this request when they are done.",
                retry: Retry::After(Duration::from_secs(1)),
                ..REFUSED
            },
            Self::Unavailable => Row {
                status: StatusCode::SERVICE_UNAVAILABLE,
                problem: "lock-unavailable",
                title: "Locks are unavailable",
                detail: "This resource cannot be locked at the moment. Nothing was done; you can \
                         repeat this request later.",
                retry: Retry::After(Duration::from_secs(1)),
                ..REFUSED
            },
            Self::Draining => Row {
                status: StatusCode::SERVICE_UNAVAILABLE,
                problem: "lock-draining",
                title: "Service is shutting down",
                detail: "This instance of the service is shutting down. Nothing was done; you can \
                         repeat this request over a new connection.",
                retry: Retry::After(Duration::from_secs(1)),
                closes: true,
                ..REFUSED
            },
            Self::Lost => Row {
                status: StatusCode::SERVICE_UNAVAILABLE,
                problem: "lock-lost",
                title: "Lock was lost",
                detail: "The lock on this resource was lost while the request was carried out, \
                         and the request was cut short. Some of it may have been done; find out \
                         before you repeat it.",
                executed: Executed::Unknown,
                ..REFUSED
            },
            Self::KeyMissing => Row {
                status: StatusCode::BAD_REQUEST,
                problem: "lock-key-missing",
                title: "Request does not name its resource",
                detail: "Nothing was done; repeating this request as it is will not help.",
                tells_why: true,
                ..REFUSED
            },
            Self::KeyInvalid => Row {
                status: StatusCode::BAD_REQUEST,
                problem: "lock-key-invalid",
                title: "Request names its resource wrongly",
                detail: "Nothing was done; repeating this request as it is will not help.",
                tells_why: true,
                ..REFUSED
            },
            Self::DeadlineInvalid => Row {
                status: StatusCode::BAD_REQUEST,
                problem: "lock-deadline-invalid",
                title: "Request says wrongly how much time it has",
                detail: "Nothing was done; repeating this request as it is will not help.",
                tells_why: true,
                ..REFUSED
            },
            Self::Misconfigured => Row {
                status: StatusCode::INTERNAL_SERVER_ERROR,
                problem: "lock-misconfigured",
                title: "Lock is misconfigured",
                detail: "The service is at fault: it could not tell what to lock, or how. Nothing \
                         was done; repeating this request will not help.",
                ..REFUSED
            },
        }
    }
}
