use std::{borrow::Cow, convert::Infallible, error::Error, fmt};

use lock_core::KeyError;
use lock_key::{RenderError, ValueError};

use crate::settings::Outcome;

/// The reason why a request has no key: a key closure returns it instead of a key.
///
/// | made by | answer | whose fault |
/// |---|---|---|
/// | [`missing`](Self::missing) | 400 `lock-key-missing` | the client's: it did not send a value of the key |
/// | [`invalid`](Self::invalid), a [`ValueError`], a [`KeyError`] | 400 `lock-key-invalid` | the client's: its value cannot be part of a key |
/// | [`misconfigured`](Self::misconfigured) | 500 `lock-misconfigured`, and an error in the log | the service's |
///
/// The client receives the reason of the first two, after a colon: describe the error, and never
/// repeat the value.
///
/// ```
/// use lock_policy::KeyRejection;
///
/// let missing = KeyRejection::missing("the header `x-tenant` is missing");
/// assert_eq!(missing.to_string(), "the header `x-tenant` is missing");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyRejection {
    outcome: Outcome,
    reason: Cow<'static, str>,
}

impl KeyRejection {
    /// Creates a rejection of a request that lacks a value.
    pub fn missing(reason: impl Into<Cow<'static, str>>) -> Self {
        Self { outcome: Outcome::KeyMissing, reason: reason.into() }
    }

    /// Creates a rejection of a request with a value that is invalid in a key.
    pub fn invalid(reason: impl Into<Cow<'static, str>>) -> Self {
        Self { outcome: Outcome::KeyInvalid, reason: reason.into() }
    }

    /// Creates a rejection for a service that lacks something, such as an extension that an outer
    /// layer should have set. The reason is only logged.
    pub fn misconfigured(reason: impl Into<Cow<'static, str>>) -> Self {
        Self { outcome: Outcome::Misconfigured, reason: reason.into() }
    }

    /// Creates the rejection of a path parameter that is not UTF-8, for the service and for
    /// explanations.
    #[doc(hidden)]
    #[must_use]
    pub fn path_is_not_utf8() -> Self {
        Self::invalid("a path parameter is not valid UTF-8")
    }

    /// Returns the outcome with which the request is answered.
    #[must_use]
    pub fn outcome(&self) -> Outcome {
        self.outcome
    }

    #[doc(hidden)]
    #[must_use]
    pub fn into_reason(self) -> Cow<'static, str> {
        self.reason
    }
}

impl fmt::Display for KeyRejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.reason)
    }
}

impl Error for KeyRejection {}

impl From<ValueError> for KeyRejection {
    fn from(error: ValueError) -> Self {
        Self::invalid(error.to_string())
    }
}

impl From<KeyError> for KeyRejection {
    fn from(error: KeyError) -> Self {
        Self::invalid(error.to_string())
    }
}

impl From<Infallible> for KeyRejection {
    fn from(never: Infallible) -> Self {
        match never {}
    }
}

impl<E: Into<KeyRejection>> From<RenderError<E>> for KeyRejection {
    fn from(error: RenderError<E>) -> Self {
        match error {
            RenderError::Resolve(error) => error.into(),
            RenderError::Value(error) => error.into(),
            _ => Self::invalid("the key cannot be built"),
        }
    }
}
