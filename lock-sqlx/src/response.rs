//! Transaction errors as responses.

use axum::{
    http::StatusCode,
    response::{IntoResponse, Response},
};
use lock_tower::{LockRejection, Outcome};

use crate::TransactionError;

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
