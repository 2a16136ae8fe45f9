//! Whether a store says and shows what the model does.

use std::time::Duration;

use lock_core::{
    Kind, LockClient, LockKey, Mode,
    test_util::{Answer, Ask as AskStep, Seen, Step, StepOwner, Steps},
};

use crate::{
    plan::{Do, Planned},
    rules::{Lock, Says},
};

/// A history's lock in one store, with all who take part in it.
pub(crate) struct Subject {
    steps: Steps,
    key: LockKey,
    pub(crate) owners: Vec<StepOwner>,
    /// Half a step of the grid.
    unit: Duration,
    /// What times may differ by.
    tolerance: Duration,
    last_token: u64,
}

impl Subject {
    pub(crate) fn new(
        client: &LockClient,
        kind: Kind,
        key: &str,
        owners: usize,
        (unit, tolerance): (Duration, Duration),
    ) -> Self {
        let (steps, key) = (Steps::of(client), LockKey::try_from(key).unwrap());
        let owners = (0..owners).map(|_| steps.owner(kind, &key)).collect();
        Self { steps, key, owners, unit, tolerance, last_token: 0 }
    }

    /// Takes a step and looks; says what is not as it should be.
    pub(crate) async fn take(&mut self, planned: &Planned) -> Result<(), String> {
        let step = self.step(planned.step);
        let answer = self.steps.take(&self.owners[planned.owner], step).await;
        let answer = answer.map_err(|why| why.to_string())?;
        self.check_answer(answer, planned.says)?;
        let seen = self.steps.look(&self.key).await.map_err(|why| why.to_string())?;
        self.check_seen(&seen.ok_or("no lock")?, &planned.after)
    }

    pub(crate) fn told(&self) -> Vec<u64> {
        self.owners.iter().map(StepOwner::told).collect()
    }

    fn span(&self, units: u64) -> Duration {
        self.unit * u32::try_from(units).unwrap()
    }

    fn step(&self, step: Do) -> Step {
        match step {
            Do::Acquire(ask) => Step::Acquire(AskStep {
                mode: ask.mode,
                holds: ask.holds,
                lease: self.span(ask.lease),
                yields: ask.yields,
                place: ask.place.map(|place| self.span(place)),
                waited: self.span(ask.waited),
                permits: ask.permits,
            }),
            Do::Release { mode, holds, in_line } => Step::Release { mode, holds, in_line },
            Do::Renew { mode, lease } => Step::Renew { mode, lease: self.span(lease) },
            Do::Upgrade { reads, writes, lease } => {
                Step::Upgrade { reads, writes, lease: self.span(lease) }
            }
            Do::Downgrade { reads, writes, lease } => {
                Step::Downgrade { reads, writes, lease: self.span(lease) }
            }
            Do::SetPermits { permits, only_missing } => Step::SetPermits { permits, only_missing },
            Do::TakeAway => Step::TakeAway,
        }
    }

    fn alike(&self, got: Duration, expected: u64) -> bool {
        got.abs_diff(self.span(expected)) <= self.tolerance
    }

    fn check_answer(&mut self, answer: Answer, says: Says) -> Result<(), String> {
        let right = match (answer, says) {
            (Answer::Granted { token }, Says::Granted { token: due })
            | (Answer::TakenAway { token, .. }, Says::TakenAway { token: due, .. })
                if token.is_some() != due =>
            {
                false
            }
            (Answer::Granted { token }, Says::Granted { .. }) => self.grows(token),
            (Answer::TakenAway { was_held, token }, Says::TakenAway { was_held: due, .. }) => {
                was_held == due && self.grows(token)
            }
            (
                Answer::Busy { remaining, in_line },
                Says::Busy { remaining: expected, in_line: stands },
            ) => {
                let alike = match (remaining, expected) {
                    (Some(got), Some(expected)) => self.alike(got, expected),
                    (None, None) => true,
                    _ => false,
                };
                alike && in_line == stands
            }
            (Answer::Yield { remaining }, Says::Yield { remaining: expected }) => {
                self.alike(remaining, expected)
            }
            (Answer::Free(got), Says::Free(expected)) => got == expected,
            (Answer::Lost, Says::Lost)
            | (Answer::NotSole, Says::NotSole)
            | (Answer::Freed, Says::Freed)
            | (Answer::StillHeld, Says::StillHeld)
            | (Answer::Gone, Says::Gone)
            | (Answer::Done, Says::Done) => true,
            _ => false,
        };
        right.then_some(()).ok_or_else(|| format!("it says {answer:?}, the model {says:?}"))
    }

    /// Every token exceeds all that were handed out before.
    fn grows(&mut self, token: Option<u64>) -> bool {
        let Some(token) = token else { return true };
        std::mem::replace(&mut self.last_token, token) < token
    }

    fn check_seen(&self, seen: &Seen, lock: &Lock) -> Result<(), String> {
        let number = |owner: &str| {
            let is = |known: &StepOwner| known.name() == owner;
            self.owners.iter().position(is).ok_or_else(|| format!("{owner} is nobody's"))
        };
        let mut holders = Vec::new();
        for holder in &seen.holders {
            holders.push((number(&holder.owner)?, holder.reads, holder.writes, holder.remaining));
        }
        holders.sort_unstable();
        let expected = lock.holders();
        let alike = holders.len() == expected.len()
            && holders.iter().zip(&expected).all(|(got, expected)| {
                let same = (got.0, got.1, got.2) == (expected.0, expected.1, expected.2);
                same && got.3.is_some_and(|left| self.alike(left, expected.3))
            });
        if !alike {
            return Err(format!("holders are {holders:?}, of the model {expected:?}"));
        }
        let mut waiters = Vec::new();
        for (owner, mode) in &seen.waiters {
            waiters.push((number(owner)?, *mode));
        }
        if waiters != lock.waiters() {
            return Err(format!("{waiters:?} wait, of the model {:?}", lock.waiters()));
        }
        let mode = match expected.iter().map(|holder| holder.2).max() {
            None => None,
            Some(0) => Some(Mode::Read),
            Some(_) => Some(Mode::Write),
        };
        if seen.mode != mode {
            return Err(format!("it is held as {:?}, in the model as {mode:?}", seen.mode));
        }
        if seen.free_permits != lock.free_permits() {
            let (got, expected) = (seen.free_permits, lock.free_permits());
            return Err(format!("{got:?} permits are free, of the model's {expected:?}"));
        }
        Ok(())
    }
}
