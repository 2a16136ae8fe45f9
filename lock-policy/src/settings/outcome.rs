use http::StatusCode;
use lock_core::AcquireError;

/// The reason why a request was not carried out under its lock, which determines its answer.
///
/// | outcome | status | problem type | headers | `executed` | what the client may do |
/// |---|---|---|---|---|---|
/// | [`Busy`](Self::Busy) | 423 | `lock-busy` | `Retry-After` | `false` | repeat it, even a `POST` |
/// | [`Skipped`](Self::Skipped) | 409 | `lock-skipped` | | `false` | nothing: another request does the work |
/// | [`Deadlock`](Self::Deadlock) | 409 | `lock-deadlock` | `Retry-After` | `false` | repeat it, even a `POST` |
/// | [`Replaced`](Self::Replaced) | 409 | `lock-replaced` | | `false` | nothing: a newer request has taken its place |
/// | [`Overloaded`](Self::Overloaded) | 503 | `lock-overloaded` | `Retry-After` | `false` | repeat it later |
/// | [`OverLimit`](Self::OverLimit) | 429 | `lock-over-limit` | `Retry-After` | `false` | wait until its other requests are done |
/// | [`Unavailable`](Self::Unavailable) | 503 | `lock-unavailable` | `Retry-After` | `false` | repeat it later |
/// | [`Draining`](Self::Draining) | 503 | `lock-draining` | `Retry-After`, `Connection: close` | `false` | repeat it over a new connection |
/// | [`Lost`](Self::Lost) | 503 | `lock-lost` | | `"unknown"` | look first at what was done |
/// | [`KeyMissing`](Self::KeyMissing) | 400 | `lock-key-missing` | | `false` | send what is missing |
/// | [`KeyInvalid`](Self::KeyInvalid) | 400 | `lock-key-invalid` | | `false` | send another value |
/// | [`DeadlineInvalid`](Self::DeadlineInvalid) | 400 | `lock-deadline-invalid` | | `false` | send whole milliseconds, once |
/// | [`BodyTooLarge`](Self::BodyTooLarge) | 413 | `lock-body-too-large` | | `false` | send less |
/// | [`BodyTimeout`](Self::BodyTimeout) | 408 | `lock-body-timeout` | `Connection: close` | `false` | repeat it, and send it faster |
/// | [`Misconfigured`](Self::Misconfigured) | 500 | `lock-misconfigured` | | `false` | inform the service's owner: its log has the cause |
///
/// The problem type is written `urn:lock-tower:problem:lock-busy`. The body is
/// `application/problem+json` (RFC 9457) with the members `type`, `title`, `status`, `detail`,
/// `lock` (the lock's name, never its key), `busy` (of several locks the one that was busy, by the template of its
/// key), `kind`, `mode`, `permits` of a semaphore, `executed`, `retry_after_ms` beside a
/// `Retry-After`, and `request_id` if the request had an `x-request-id`.
///
/// `executed` describes the handler: `false` means that it was not even called. It is `true` where a newer
/// request replaced one whose handler was called, and cancelled.
///
/// A response of this kind has its `Outcome` among its extensions, for middleware that counts or
/// rewrites such answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Outcome {
    /// Another request holds the lock, and the wait is over.
    Busy,
    /// Another request holds the lock, and this one is not needed then: [`OnBusy::Skip`](super::OnBusy::Skip).
    Skipped,
    /// The request would wait forever: the holder waits, itself or through others, for a lock that this
    /// request holds. Only with [`refuse_deadlock`](lock_core::Acquire::refuse_deadlock).
    Deadlock,
    /// A newer request has replaced this one, which waited or ran: [`OnBusy::Replace`](super::OnBusy::Replace).
    Replaced,
    /// Too many requests of this process wait for this lock, or for all of them together, or the
    /// request's deadline leaves it no time to wait and work.
    Overloaded,
    /// The sender of the request has as many locks as its limit allows.
    OverLimit,
    /// The lock store does not respond.
    Unavailable,
    /// The lock client is shutting down.
    Draining,
    /// The lock was lost while the handler ran, and the handler was cancelled.
    Lost,
    /// The request lacks a value that names the lock.
    KeyMissing,
    /// A value of the request is invalid in a lock's key.
    KeyInvalid,
    /// The header by which a client may shorten its deadline is not a number of milliseconds.
    DeadlineInvalid,
    /// The request's body is longer than its route allows.
    BodyTooLarge,
    /// The request's body was not sent in time.
    BodyTimeout,
    /// The service is misconfigured.
    Misconfigured,
}

impl Outcome {
    #[doc(hidden)]
    pub const ALL: [Self; 15] = [
        Self::Busy,
        Self::Skipped,
        Self::Deadlock,
        Self::Replaced,
        Self::Overloaded,
        Self::OverLimit,
        Self::Unavailable,
        Self::Draining,
        Self::Lost,
        Self::KeyMissing,
        Self::KeyInvalid,
        Self::DeadlineInvalid,
        Self::BodyTooLarge,
        Self::BodyTimeout,
        Self::Misconfigured,
    ];

    /// Returns the status of the answer.
    #[must_use]
    pub fn status(self) -> StatusCode {
        match self {
            Self::Busy => StatusCode::LOCKED,
            Self::Skipped | Self::Deadlock | Self::Replaced => StatusCode::CONFLICT,
            Self::Overloaded | Self::Unavailable | Self::Draining | Self::Lost => {
                StatusCode::SERVICE_UNAVAILABLE
            }
            Self::OverLimit => StatusCode::TOO_MANY_REQUESTS,
            Self::KeyMissing | Self::KeyInvalid | Self::DeadlineInvalid => StatusCode::BAD_REQUEST,
            Self::BodyTooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Self::BodyTimeout => StatusCode::REQUEST_TIMEOUT,
            Self::Misconfigured => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }

    /// Returns the least status that its answer can be given. A request that was skipped has not failed.
    #[doc(hidden)]
    #[must_use]
    pub const fn least_status(self) -> u16 {
        match self {
            Self::Skipped => 200,
            _ => 400,
        }
    }

    /// Returns the last part of the problem type, such as `lock-busy`: a label for metrics.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Busy => "lock-busy",
            Self::Skipped => "lock-skipped",
            Self::Deadlock => "lock-deadlock",
            Self::Replaced => "lock-replaced",
            Self::Overloaded => "lock-overloaded",
            Self::OverLimit => "lock-over-limit",
            Self::Unavailable => "lock-unavailable",
            Self::Draining => "lock-draining",
            Self::Lost => "lock-lost",
            Self::KeyMissing => "lock-key-missing",
            Self::KeyInvalid => "lock-key-invalid",
            Self::DeadlineInvalid => "lock-deadline-invalid",
            Self::BodyTooLarge => "lock-body-too-large",
            Self::BodyTimeout => "lock-body-timeout",
            Self::Misconfigured => "lock-misconfigured",
        }
    }
}

/// Returns the outcome of a request whose lock was refused with this error.
impl From<&AcquireError> for Outcome {
    fn from(error: &AcquireError) -> Self {
        match error {
            AcquireError::Busy(_) => Self::Busy,
            AcquireError::Deadlock(_) => Self::Deadlock,
            AcquireError::Replaced { .. } => Self::Replaced,
            AcquireError::Overloaded(_) => Self::Overloaded,
            AcquireError::Unavailable(_) => Self::Unavailable,
            AcquireError::Draining => Self::Draining,
            AcquireError::Lost(_) => Self::Lost,
            AcquireError::Key(_) => Self::KeyInvalid,
            _ => Self::Misconfigured,
        }
    }
}
