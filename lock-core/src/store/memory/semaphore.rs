//! A number of permits, each with a lease. The semaphore is kept forever, as in Redis: the number
//! of permits is not stored anywhere else.

use std::collections::HashMap;

use super::{
    rules::{LockRules, StepContext},
    waiters::Waiters,
};
use crate::{
    runtime::LeaseInstant,
    store::{
        AcquireCommand, Acquired, HolderSnapshot, Holds, LockSnapshot, ReleaseCommand, Released,
        Renewal,
    },
    types::{Kind, Mode, OwnerId},
};

#[derive(Debug)]
pub(crate) struct SemaphoreLock {
    /// In use and free.
    total: i64,
    leases: HashMap<OwnerId, LeaseInstant>,
    /// Leases that have expired since permits were last passed on.
    ended: i64,
    waiters: Waiters,
}

impl SemaphoreLock {
    pub(crate) fn of(permits: u32) -> Self {
        Self {
            total: permits.into(),
            leases: HashMap::new(),
            ended: 0,
            waiters: Waiters::default(),
        }
    }

    /// Below zero while more permits are in use than there should be.
    pub(crate) fn free(&self) -> i64 {
        self.total.saturating_sub_unsigned(self.leases.len() as u64)
    }

    pub(crate) fn resize(&mut self, permits: u32, context: &mut StepContext<'_>) {
        let before = self.free() - self.ended;
        self.total = permits.into();
        if self.free() > before {
            self.pass_on(context);
        }
        self.ended = 0;
    }

    /// Reserves free permits for the next waiters.
    fn pass_on(&mut self, context: &mut StepContext<'_>) {
        self.ended = 0;
        let free = usize::try_from(self.free()).unwrap_or(0);
        self.waiters.wake_first(free, context);
    }
}

impl LockRules for SemaphoreLock {
    fn expire(&mut self, now: LeaseInstant) {
        let before = self.free();
        self.leases.retain(|_, until| *until > now);
        self.ended += self.free() - before;
        self.waiters.expire(now);
    }

    fn is_over(&self) -> bool {
        false
    }

    fn acquire(&mut self, step: &AcquireCommand, context: &mut StepContext<'_>) -> Acquired {
        let (now, until) = (context.now, context.now.after(step.lease));
        if let Some(lease) = self.leases.get_mut(&step.owner) {
            *lease = until.max(*lease);
            return Acquired::Granted(None);
        }
        let granted =
            usize::try_from(self.free()).is_ok_and(|free| free > self.waiters.rank(step, now));
        let in_line = !granted && self.waiters.stand(step, now);
        if granted {
            self.waiters.enter(&step.owner, now);
            self.leases.insert(step.owner.clone(), until);
        }
        let first = self.waiters.first(now).filter(|_| self.free() > 0);
        if first.is_some_and(|(_, is_reserved)| self.ended > 0 || !is_reserved) {
            self.pass_on(context);
        }
        self.ended = 0;
        if granted {
            return Acquired::Granted(None);
        }
        let next_end = self.leases.values().min().map(|next| now.until(*next));
        Acquired::Busy { remaining: first.map(|(left, _)| left).or(next_end), in_line }
    }

    fn release(&mut self, step: &ReleaseCommand, context: &mut StepContext<'_>) -> Released {
        let left = step.in_line && self.waiters.leave(&step.holder.owner);
        let returned = self.leases.remove(&step.holder.owner).is_some();
        if left || returned || self.ended > 0 {
            self.pass_on(context);
        }
        if returned { Released::Freed } else { Released::Gone }
    }

    fn renew(&mut self, owner: &OwnerId, _mode: Mode, until: LeaseInstant) -> Renewal {
        let Some(lease) = self.leases.get_mut(owner) else { return Renewal::Lost };
        *lease = until.max(*lease);
        Renewal::Renewed
    }

    fn standing(&self, now: LeaseInstant) -> LockSnapshot {
        let holder = |(owner, until): (&OwnerId, &LeaseInstant)| {
            let holds = Holds { read: 0, write: 1 };
            HolderSnapshot::new(owner.to_string(), holds, Some(now.until(*until)))
        };
        let mut holders: Vec<_> = self.leases.iter().map(holder).collect();
        holders.sort_by(|one, other| one.owner.cmp(&other.owner));
        LockSnapshot {
            kind: Some(Kind::Semaphore),
            mode: (!holders.is_empty()).then_some(Mode::Write),
            remaining: holders.iter().filter_map(|holder| holder.remaining).max(),
            free_permits: Some(self.free()),
            holders,
            waiters: self.waiters.standing(now).collect(),
            complete: true,
            ..LockSnapshot::default()
        }
    }

    fn take_away(&mut self, context: &mut StepContext<'_>) {
        if self.leases.is_empty() && self.ended == 0 {
            return;
        }
        self.leases.clear();
        self.pass_on(context);
    }
}
