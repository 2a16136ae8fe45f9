//! From a turn to a guard, or to the reason why there is none.

use std::{
    error::Error,
    future::{Future, poll_fn},
    pin::pin,
    task::Poll,
    time::Duration,
};

use lock_core::{Acquire, AcquireError, Lockable, Member, Scope, Unavailable};

use super::{Worker, held::Held, turn::Turn};
use crate::{
    clock::{nanos, now},
    deployment::KEPT,
    history::{Record, Refusal},
    keys::{Access, Family, PERMITS},
};

impl Worker {
    /// Sends the turn's request, and records it and its outcome.
    pub(super) async fn acquire(&self, turn: &Turn, scope: Option<&Scope>) -> Option<(u64, Held)> {
        let n = self.number();
        self.write(&Record::Ask {
            n,
            at: now(),
            family: turn.family,
            access: match turn.family {
                Family::Semaphore => Access::Permit,
                _ => turn.mode.into(),
            },
            keys: turn.keys.clone(),
            wait: nanos(turn.wait + turn.after.map_or(Duration::ZERO, replacing)),
            lease: nanos(turn.lease),
            kept: nanos(self.session_lease.map_or(turn.lease, |_| KEPT)),
        });
        let answer = at_most(turn.polls, self.ask(turn, scope)).await;
        let at = now();
        match answer {
            Some(Ok(held)) => {
                let (left, tokens) = (nanos(held.remaining()), held.tokens(turn));
                self.write(&Record::Grant { n, at, left, tokens });
                Some((n, held))
            }
            refused => {
                let why = refused.and_then(Result::err).map_or(Refusal::Cancelled, refusal);
                self.write(&Record::Refused { n, at, why });
                None
            }
        }
    }

    async fn ask(&self, turn: &Turn, scope: Option<&Scope>) -> Result<Held, AcquireError> {
        let key = turn.keys[0].as_str();
        match turn.family {
            Family::Semaphore => {
                let permit = self.locks.semaphore(key, PERMITS).permit();
                self.acquired(turn, permit).await.map(Held::Permit)
            }
            Family::Multi | Family::Limits if turn.keys.len() > 1 => {
                let members = turn.keys.iter().map(|key| self.member(key));
                self.acquired(turn, self.locks.multi_lock(members)).await.map(Held::Multi)
            }
            family => {
                let client = turn.other_wire.as_ref().unwrap_or(&self.locks);
                let lock = client.lock(turn.mode, key).kind(family.kind());
                let lock = match scope {
                    Some(scope) => lock.in_scope(scope),
                    None => lock,
                };
                let lock = match turn.after {
                    Some(after) => lock.replace_after(after),
                    None => lock,
                };
                self.acquired(turn, lock).await.map(Held::Lock)
            }
        }
    }

    fn member(&self, key: &str) -> Member {
        match Family::of(key) {
            Some(Family::Semaphore) => self.locks.semaphore(key, PERMITS).permit().into(),
            _ => self.locks.write(key).into(),
        }
    }

    async fn acquired<T: Lockable>(
        &self,
        turn: &Turn,
        lock: Acquire<T>,
    ) -> Result<T::Guard, AcquireError> {
        let mut lock = self.with_lease(lock.wait(turn.wait).renew(turn.renew), turn.lease);
        if let Some(most) = turn.max_hold {
            lock = lock.max_hold(most);
        }
        if turn.wait.is_zero() { lock.try_acquire().await } else { lock.acquire().await }
    }

    /// With this lease, if locks have one of their own.
    pub(super) fn with_lease<T: Lockable>(&self, lock: Acquire<T>, lease: Duration) -> Acquire<T> {
        if self.session_lease.is_some() { lock } else { lock.lease(lease) }
    }
}

/// How much longer than its wait a caller may wait that replaces the holders of two locks.
fn replacing(after: Duration) -> Duration {
    2 * (after + Duration::from_millis(250))
}

/// Polls a future at most so many times and drops it then.
pub(super) async fn at_most<F: Future>(polls: Option<u32>, future: F) -> Option<F::Output> {
    let mut future = pin!(future);
    let mut left = polls;
    poll_fn(|context| match (future.as_mut().poll(context), &mut left) {
        (Poll::Ready(output), _) => Poll::Ready(Some(output)),
        (Poll::Pending, Some(left)) => {
            *left -= 1;
            if *left == 0 { Poll::Ready(None) } else { Poll::Pending }
        }
        (Poll::Pending, None) => Poll::Pending,
    })
    .await
}

pub(super) fn refusal(error: AcquireError) -> Refusal {
    match error {
        AcquireError::Busy(_) => Refusal::Busy,
        AcquireError::Overloaded(_) => Refusal::Overloaded,
        AcquireError::Unavailable(why) => unavailable(&why),
        AcquireError::Replaced { .. } => Refusal::Replaced,
        AcquireError::Lost(_) => Refusal::Lost,
        AcquireError::WrongKind(_) => Refusal::WrongKind,
        AcquireError::Draining => Refusal::Draining,
        other => Refusal::Other(other.to_string()),
    }
}

/// With its causes, in a row.
pub(super) fn unavailable(why: &Unavailable) -> Refusal {
    let held = u64::try_from(why.may_be_held_for().as_millis()).unwrap_or(u64::MAX);
    let mut reason = why.to_string();
    let mut cause = why.source();
    while let Some(error) = cause {
        reason = format!("{reason}: {error}");
        cause = error.source();
    }
    Refusal::Unavailable(held, reason)
}
