//! Errors as responses.

use std::convert::Infallible;

use axum::{
    http::StatusCode,
    response::{IntoResponse, Response},
};
use lock_tower::{AcquireError, LockRejection, Outcome, errors::InvalidOptions};

use crate::TransactionError;
#[cfg(feature = "postgres")]
use crate::TransactionLockError;

impl<E: IntoResponse> IntoResponse for TransactionError<E> {
    fn into_response(self) -> Response {
        let mistake: TransactionError<Infallible> = match self {
            Self::Work(error) => return error.into_response(),
            Self::Missing => return StatusCode::NOT_FOUND.into_response(),
            Self::Database(_) | Self::CommitUnknown(_) => {
                return StatusCode::INTERNAL_SERVER_ERROR.into_response();
            }
            Self::Stale | Self::Lock(_) => {
                return LockRejection::from(Outcome::Lost).into_response();
            }
            Self::NoToken(why) => TransactionError::NoToken(why),
            Self::NotReturned => TransactionError::NotReturned,
            Self::Name(why) => TransactionError::Name(why),
        };
        misconfigured(mistake.to_string()).into_response()
    }
}

#[cfg(feature = "postgres")]
impl IntoResponse for TransactionLockError {
    fn into_response(self) -> Response {
        let rejection: LockRejection = match self {
            Self::Key(error) => AcquireError::Key(error).into(),
            Self::Busy { .. } => Outcome::Busy.into(),
            Self::Deadlock { .. } => Outcome::Deadlock.into(),
            mistake @ Self::Isolation => misconfigured(mistake.to_string()),
            Self::Database(_) => return StatusCode::INTERNAL_SERVER_ERROR.into_response(),
        };
        rejection.into_response()
    }
}

/// The answer to a mistake of the service, whose log line and, in debug builds, whose document say what it is.
fn misconfigured(mistake: String) -> LockRejection {
    AcquireError::InvalidOptions(InvalidOptions::new(mistake)).into()
}
