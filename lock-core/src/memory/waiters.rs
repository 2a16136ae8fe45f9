//! The waiters of a lock without a fair line: the one that has waited longest is first. What becomes
//! free is reserved for those that are next, which alone are woken.

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

/// How long a lock stays reserved for a waiter that does not come.
const RESERVED: Duration = Duration::from_millis(50);

#[derive(Debug)]
struct Waiter {
    owner: OwnerId,
    mode: Mode,
    since: Moment,
    until: Moment,
}

/// In order, the first first.
#[derive(Debug, Default)]
pub(super) struct Waiters(Vec<Waiter>);

impl Waiters {
    pub(super) fn expire(&mut self, now: Moment) {
        self.0.retain(|waiter| waiter.until > now);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn standing(&self) -> impl Iterator<Item = WaiterSnapshot> {
        let waiters = self.0.iter();
        waiters.map(|one| WaiterSnapshot { owner: one.owner.to_string(), mode: one.mode })
    }

    pub(super) fn leave(&mut self, owner: &OwnerId) -> bool {
        let before = self.0.len();
        self.0.retain(|waiter| waiter.owner != *owner);
        self.0.len() < before
    }

    /// How many have waited longer.
    pub(super) fn rank(&self, step: &AcquireCommand, now: Moment) -> usize {
        let own = self.0.iter().position(|waiter| waiter.owner == step.owner);
        let since = now.before(step.waited);
        own.unwrap_or_else(|| self.0.partition_point(|waiter| waiter.since <= since))
    }

    /// Takes a place, or renews it; says whether it stands.
    pub(super) fn stand(&mut self, step: &AcquireCommand, now: Moment) -> bool {
        let Some(life) = step.place else { return false };
        let (at, until) = (self.rank(step, now), now.after(life));
        match self.0.get_mut(at) {
            Some(own) if own.owner == step.owner => own.until = until,
            _ => {
                let (owner, mode, since) = (step.owner.clone(), step.mode, now.before(step.waited));
                self.0.insert(at, Waiter { owner, mode, since, until });
            }
        }
        true
    }

    /// What is left of the first place, and whether the lock is reserved for it.
    pub(super) fn first(&self, now: Moment) -> Option<(Duration, bool)> {
        let left = now.until(self.0.first()?.until);
        Some((left, left <= RESERVED))
    }

    /// The first of those that a caller must let pass: they have waited longer, and it or they write.
    fn ahead_of(&self, step: &AcquireCommand, now: Moment) -> Option<&Waiter> {
        let mut longer = self.0[..self.rank(step, now)].iter();
        longer.find(|waiter| waiter.mode == Mode::Write || step.mode == Mode::Write)
    }

    /// Reserves for the first so many, and wakes them.
    pub(super) fn wake_first(&mut self, count: usize, scene: &mut Scene<'_>) {
        let until = scene.now.after(RESERVED);
        for waiter in self.0.iter_mut().take(count) {
            waiter.until = waiter.until.min(until);
            scene.tell_turn(&waiter.owner);
        }
    }

    /// A lock that is free, or that only readers hold, goes to those that are next: the first, if it
    /// writes, or all readers before the next writer.
    pub(super) fn pass_on(&mut self, holders: &Holders, scene: &mut Scene<'_>) {
        let readers = self.0.iter().take_while(|waiter| waiter.mode == Mode::Read).count();
        match holders.mode() {
            Some(Mode::Write) => {}
            Some(Mode::Read) => self.wake_first(readers, scene),
            None => self.wake_first(readers.max(1), scene),
        }
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
                Acquired::Busy { remaining: Some(now.until(until)), in_line: self.stand(step, now) }
            }
            Asked::Free { fresh } => {
                let others_read = !holders.is_free();
                let ahead = self.ahead_of(step, now).map(|first| now.until(first.until));
                if let Some(remaining) = ahead.filter(|_| fresh && (step.yields || !others_read)) {
                    let in_line = self.stand(step, now);
                    if others_read {
                        return Acquired::Yield { remaining, in_line };
                    }
                    if remaining > RESERVED {
                        self.pass_on(holders, scene);
                    }
                    return Acquired::Busy { remaining: Some(remaining), in_line };
                }
                if fresh {
                    self.leave(&step.owner);
                }
                let due = holders.grant(step, now);
                Acquired::Granted(due.then(|| scene.tokens(step.turns)))
            }
        }
    }
}
