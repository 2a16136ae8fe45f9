//! The waiters of a lock without a fair queue, in the order in which they began to wait. A lock
//! that becomes free is reserved for the next waiters, and only those are woken.

use std::time::Duration;

use super::{
    holders::{HolderCheck, Holders},
    rules::StepContext,
};
use crate::{
    command::{AcquireCommand, ReleaseCommand},
    outcome::{Acquired, Released},
    runtime::LeaseInstant,
    snapshot::WaiterSnapshot,
    types::{Mode, OwnerId},
};

/// How long a lock stays reserved for a waiter that does not acquire it.
const RESERVED: Duration = Duration::from_millis(50);

#[derive(Debug)]
struct WaiterEntry {
    owner: OwnerId,
    mode: Mode,
    since: LeaseInstant,
    until: LeaseInstant,
    /// How many permits of a semaphore it wants, and how many there are in its own number.
    wanted: u64,
    permits: u64,
}

/// In order, the first first.
#[derive(Debug, Default)]
pub(crate) struct Waiters(Vec<WaiterEntry>);

impl Waiters {
    /// Removes all places once the last one has expired. Other expired places are removed when a
    /// place is taken or left.
    pub(crate) fn expire(&mut self, now: LeaseInstant) {
        if self.live(now).next().is_none() {
            self.0.clear();
        }
    }

    fn live(&self, now: LeaseInstant) -> impl Iterator<Item = &WaiterEntry> {
        self.0.iter().filter(move |waiter| waiter.until > now)
    }

    fn drop_over(&mut self, now: LeaseInstant) {
        self.0.retain(|waiter| waiter.until > now);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn snapshots(&self, now: LeaseInstant) -> impl Iterator<Item = WaiterSnapshot> {
        self.live(now).map(|one| WaiterSnapshot::new(one.owner.to_string(), one.mode))
    }

    pub(crate) fn leave(&mut self, owner: &OwnerId) -> bool {
        let before = self.0.len();
        self.0.retain(|waiter| waiter.owner != *owner);
        self.0.len() < before
    }

    /// Removes an owner that is granted the lock.
    pub(crate) fn enter(&mut self, owner: &OwnerId, now: LeaseInstant) {
        self.leave(owner);
        self.drop_over(now);
    }

    /// How many have waited longer.
    pub(crate) fn rank(&self, command: &AcquireCommand, now: LeaseInstant) -> usize {
        let own = self.live(now).position(|waiter| waiter.owner == command.owner);
        let since = now.before(command.waited);
        own.unwrap_or_else(|| self.live(now).take_while(|waiter| waiter.since <= since).count())
    }

    /// How many permits those want that have waited longer.
    pub(crate) fn wanted_ahead(&self, command: &AcquireCommand, now: LeaseInstant) -> u64 {
        self.live(now).take(self.rank(command, now)).map(|waiter| waiter.wanted).sum()
    }

    /// Takes a place, or renews it; returns whether it has one.
    pub(crate) fn join(&mut self, command: &AcquireCommand, now: LeaseInstant) -> bool {
        let Some(life) = command.place else { return false };
        self.drop_over(now);
        let (at, until) = (self.rank(command, now), now.after(life));
        match self.0.get_mut(at) {
            Some(own) if own.owner == command.owner => own.until = until,
            _ => {
                let (owner, mode, since) =
                    (command.owner.clone(), command.mode, now.before(command.waited));
                let (wanted, permits) = (command.wanted_permits.into(), command.permits.into());
                self.0.insert(at, WaiterEntry { owner, mode, since, until, wanted, permits });
            }
        }
        true
    }

    /// The remaining time of the first place, and whether the lock is reserved for it.
    pub(crate) fn first(&self, now: LeaseInstant) -> Option<(Duration, bool)> {
        let left = now.until(self.live(now).next()?.until);
        Some((left, left <= RESERVED))
    }

    /// Whether the first place is this owner's.
    pub(crate) fn is_first(&self, owner: &OwnerId, now: LeaseInstant) -> bool {
        self.live(now).next().is_some_and(|first| first.owner == *owner)
    }

    /// The first waiter that a caller must let pass: it has waited longer, and it or the caller
    /// writes.
    fn ahead_of(&self, command: &AcquireCommand, now: LeaseInstant) -> Option<&WaiterEntry> {
        let mut longer = self.live(now).take(self.rank(command, now));
        longer.find(|waiter| waiter.mode == Mode::Write || command.mode == Mode::Write)
    }

    /// Reserves for the first `count` waiters, and wakes them.
    pub(crate) fn wake_first(&mut self, count: usize, context: &mut StepContext<'_>) {
        let until = context.now.after(RESERVED);
        let now = context.now;
        for waiter in self.0.iter_mut().filter(|waiter| waiter.until > now).take(count) {
            waiter.until = waiter.until.min(until);
            context.wake_owner(&waiter.owner);
        }
    }

    /// Reserves permits for the next waiters, in order: one that wants more than are free is not
    /// passed by those behind it.
    pub(crate) fn wake_fitting(&mut self, mut in_use: u64, context: &mut StepContext<'_>) {
        let fitting = self.live(context.now).take_while(|waiter| {
            in_use += waiter.wanted;
            in_use <= waiter.permits
        });
        let fitting = fitting.count();
        self.wake_first(fitting, context);
    }

    /// A lock that is free, or that only readers hold, is reserved for the next waiters: the first
    /// one if it writes, or all readers before the next writer.
    pub(crate) fn pass_on(&mut self, holders: &Holders, context: &mut StepContext<'_>) {
        let live = self.live(context.now);
        let readers = live.take_while(|waiter| waiter.mode == Mode::Read).count();
        match holders.mode() {
            Some(Mode::Write) => {}
            Some(Mode::Read) => self.wake_first(readers, context),
            None => self.wake_first(readers.max(1), context),
        }
    }

    /// Releases a hold, or gives up a place; a lock that becomes free is reserved for the next
    /// waiters.
    pub(crate) fn release(
        &mut self,
        holders: &mut Holders,
        command: &ReleaseCommand,
        context: &mut StepContext<'_>,
    ) -> Released {
        let left = command.in_line && self.leave(&command.holder.owner);
        let (released, opened) = holders.release(command, context.now);
        if left || opened {
            self.pass_on(holders, context);
        }
        let reserved = released == Released::Freed && self.live(context.now).next().is_some();
        if reserved { Released::Reserved } else { released }
    }

    /// Removes all holders, as an operator does.
    pub(crate) fn take_away(&mut self, holders: &mut Holders, context: &mut StepContext<'_>) {
        let held = std::mem::take(holders);
        if !held.is_free() {
            self.pass_on(holders, context);
        }
    }

    pub(crate) fn acquire(
        &mut self,
        holders: &mut Holders,
        command: &AcquireCommand,
        context: &mut StepContext<'_>,
    ) -> Acquired {
        let now = context.now;
        match holders.check(command) {
            HolderCheck::Lost => Acquired::Lost,
            HolderCheck::Held { until } => Acquired::Busy {
                remaining: Some(now.until(until)),
                in_line: self.join(command, now),
            },
            HolderCheck::Free { fresh } => {
                let others_read = !holders.is_free();
                let ahead = self.ahead_of(command, now).map(|first| now.until(first.until));
                if let Some(remaining) = ahead.filter(|_| fresh && (command.yields || !others_read))
                {
                    let in_line = self.join(command, now);
                    if others_read {
                        return Acquired::Yield { remaining, in_line };
                    }
                    if remaining > RESERVED {
                        self.pass_on(holders, context);
                    }
                    return Acquired::Busy { remaining: Some(remaining), in_line };
                }
                if fresh {
                    self.enter(&command.owner, now);
                }
                let due = holders.grant(command, now);
                Acquired::Granted(due.then(|| context.tokens(command.reserved_tokens)))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        command::Holder,
        types::{ClientId, Kind, LockKey, Owners},
    };

    const SECOND: Duration = Duration::from_secs(1);

    /// A caller that has waited for `waited`, and takes a place that lives for `place`.
    fn step(waited: Duration, place: Duration) -> AcquireCommand {
        let owner = Owners::new(ClientId::random()).next();
        let key = LockKey::try_from("k").expect("a key");
        let holder = Holder::new(Kind::Reentrant, key, owner);
        let place = Some(place);
        AcquireCommand { waited, place, ..AcquireCommand::new(holder, Mode::Write, SECOND) }
    }

    fn owners(waiters: &Waiters, now: LeaseInstant) -> Vec<String> {
        waiters.snapshots(now).map(|waiter| waiter.owner).collect()
    }

    #[test]
    fn a_place_is_behind_those_that_have_waited_longer_and_live() {
        let (mut waiters, now) = (Waiters::default(), LeaseInstant::now());
        let dead = step(SECOND * 3, SECOND);
        let [second, third] = [step(SECOND * 2, SECOND * 9), step(SECOND, SECOND * 9)];
        assert!(waiters.join(&dead, now) && waiters.join(&second, now));
        let later = now.after(SECOND * 2);
        assert!(waiters.join(&third, later));
        let (second, third) = (second.owner.to_string(), third.owner.to_string());
        assert_eq!(owners(&waiters, later), [second.clone(), third.clone()]);

        let longest = step(SECOND * 30, SECOND * 9);
        assert!(waiters.join(&longest, later));
        assert_eq!(owners(&waiters, later), [longest.owner.to_string(), second, third]);
    }
}
