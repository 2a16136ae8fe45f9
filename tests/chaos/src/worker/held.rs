//! Any guard, looked at in one way.

use std::time::Duration;

use futures_util::future::BoxFuture;
use lock_core::{FencingToken, LockGuard, Lost, MultiGuard, PermitGuard, ReleaseError, Term};

use super::turn::Turn;

pub(super) enum Held {
    Lock(LockGuard),
    Permit(PermitGuard),
    Multi(MultiGuard),
    /// Of a leader, which releases it itself.
    Term(Term),
}

impl Held {
    pub(super) fn is_held(&self) -> bool {
        match self {
            Self::Lock(guard) => guard.is_held(),
            Self::Permit(guard) => guard.is_held(),
            Self::Multi(guard) => guard.is_held(),
            Self::Term(term) => term.is_current(),
        }
    }

    pub(super) fn remaining(&self) -> Duration {
        match self {
            Self::Lock(guard) => guard.remaining(),
            Self::Permit(guard) => guard.remaining(),
            Self::Multi(guard) => guard.remaining(),
            Self::Term(term) => term.lock().remaining(),
        }
    }

    pub(super) fn lost(&self) -> BoxFuture<'static, Lost> {
        match self {
            Self::Lock(guard) => Box::pin(guard.lost()),
            Self::Permit(guard) => Box::pin(guard.lost()),
            Self::Multi(guard) => Box::pin(guard.lost()),
            Self::Term(term) => Box::pin(term.lock().lost()),
        }
    }

    /// One for each key.
    pub(super) fn tokens(&self, turn: &Turn) -> Vec<Option<u64>> {
        let number = |token: FencingToken| token.get();
        match self {
            Self::Lock(guard) => vec![Some(number(guard.fencing_token()))],
            Self::Permit(_) => vec![None],
            Self::Term(term) => vec![Some(number(term.fencing_token()))],
            Self::Multi(guard) => {
                turn.keys.iter().map(|key| guard.fencing_token(key).map(number)).collect()
            }
        }
    }

    pub(super) async fn release(self) -> Result<(), ReleaseError> {
        match self {
            Self::Lock(guard) => guard.release().await,
            Self::Permit(guard) => guard.release().await,
            Self::Multi(guard) => guard.release().await,
            Self::Term(_) => unreachable!("BUG: a leader releases its lock itself"),
        }
    }
}
