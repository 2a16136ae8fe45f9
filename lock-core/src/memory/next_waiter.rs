//! Where waiters stand in no line: the mark of the one that is next, because it has waited longest.

use std::time::Duration;

use super::{
    holders::{Asked, Holders},
    lock::Scene,
};
use crate::{
    Mode,
    clock::Moment,
    owner::OwnerId,
    store::{AcquireCommand, Acquired, WaiterSnapshot},
};

#[derive(Debug)]
struct Mark {
    waited: Duration,
    left_at: Moment,
    mode: Mode,
    owner: OwnerId,
    until: Moment,
}

impl Mark {
    fn has_waited(&self, now: Moment) -> Duration {
        self.waited + now.since(self.left_at)
    }

    /// Who has waited for less stands back: a reader behind a writer, a writer behind anybody.
    fn is_ahead_of(&self, step: &AcquireCommand, now: Moment) -> bool {
        self.owner != step.owner
            && (self.mode == Mode::Write || step.mode == Mode::Write)
            && self.has_waited(now) >= step.waited
    }
}

#[derive(Debug, Default)]
pub(super) struct NextWaiter(Option<Mark>);

impl NextWaiter {
    pub(super) fn expire(&mut self, now: Moment) {
        self.0.take_if(|mark| mark.until <= now);
    }

    pub(super) fn is_none(&self) -> bool {
        self.0.is_none()
    }

    pub(super) fn standing(&self) -> Option<WaiterSnapshot> {
        let mark = self.0.as_ref()?;
        Some(WaiterSnapshot { owner: mark.owner.to_string(), mode: mark.mode })
    }

    pub(super) fn lift(&mut self, owner: &OwnerId) -> bool {
        self.0.take_if(|mark| mark.owner == *owner).is_some()
    }

    /// Makes this waiter the next one, unless another has waited for longer.
    fn leave(&mut self, step: &AcquireCommand, now: Moment) -> bool {
        let Some(life) = step.place else { return false };
        let owner = &step.owner;
        let longer = |mark: &Mark| mark.has_waited(now) >= step.waited;
        if self.0.as_ref().is_some_and(|mark| mark.owner != *owner && longer(mark)) {
            return false;
        }
        self.0 = Some(Mark {
            waited: step.waited,
            left_at: now,
            mode: step.mode,
            owner: owner.clone(),
            until: now.after(life),
        });
        true
    }

    pub(super) fn acquire(
        &mut self,
        holders: &mut Holders,
        step: &AcquireCommand,
        scene: &mut Scene<'_>,
    ) -> Acquired {
        let now = scene.now;
        match holders.ask(step) {
            Asked::Lost => Acquired::Lost,
            Asked::Held { until } => {
                Acquired::Busy { remaining: Some(now.until(until)), in_line: self.leave(step, now) }
            }
            Asked::Free { fresh } => {
                let ahead = self.0.as_ref().filter(|mark| mark.is_ahead_of(step, now));
                if let Some(mark) = ahead.filter(|_| fresh && step.yields) {
                    return Acquired::Yield { remaining: now.until(mark.until) };
                }
                self.lift(&step.owner);
                let due = holders.grant(step, now);
                Acquired::Granted(due.then(|| scene.tokens(step.turns)))
            }
        }
    }
}
