//! Errors as responses.

use axum::{
    http::StatusCode,
    response::{IntoResponse, Response},
};
#[cfg(feature = "postgres")]
use lock_tower::{AcquireError, errors::InvalidOptions};
use lock_tower::{LockRejection, Outcome};

use crate::TransactionError;
#[cfg(feature = "postgres")]
use crate::TransactionLockError;

impl<E: IntoResponse> IntoResponse for TransactionError<E> {
    fn into_response(self) -> Response {
        let outcome = match self {
            Self::Work(error) => return error.into_response(),
            Self::Missing => return StatusCode::NOT_FOUND.into_response(),
            Self::Database(_) | Self::CommitUnknown(_) => {
                return StatusCode::INTERNAL_SERVER_ERROR.into_response();
            }
            Self::Stale | Self::Lock(_) => Outcome::Lost,
            Self::NoToken(_) | Self::NotReturned | Self::Name(_) => Outcome::Misconfigured,
        };
        LockRejection::from(outcome).into_response()
    }
}

#[cfg(feature = "postgres")]
impl IntoResponse for TransactionLockError {
    fn into_response(self) -> Response {
        let rejection: LockRejection = match self {
            Self::Key(error) => AcquireError::Key(error).into(),
            Self::Busy { .. } => Outcome::Busy.into(),
            Self::Deadlock { .. } => Outcome::Deadlock.into(),
            mistake @ Self::Isolation => {
                AcquireError::InvalidOptions(InvalidOptions::new(mistake.to_string())).into()
            }
            Self::Database(_) => return StatusCode::INTERNAL_SERVER_ERROR.into_response(),
        };
        rejection.into_response()
    }
}
