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

/// The permits of one owner.
#[derive(Debug, Clone, Copy)]
struct PermitLease {
    until: LeaseInstant,
    permits: u32,
}

#[derive(Debug)]
pub(crate) struct SemaphoreLock {
    /// In use and free.
    total: i64,
    leases: HashMap<OwnerId, PermitLease>,
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
        let in_use: i64 = self.leases.values().map(|lease| i64::from(lease.permits)).sum();
        self.total.saturating_sub(in_use)
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
        let free = u64::try_from(self.free()).unwrap_or(0);
        self.waiters.wake_fitting(free, context);
    }
}

impl LockRules for SemaphoreLock {
    fn expire(&mut self, now: LeaseInstant) {
        let before = self.free();
        self.leases.retain(|_, lease| lease.until > now);
        self.ended += self.free() - before;
        self.waiters.expire(now);
    }

    fn is_over(&self) -> bool {
        false
    }

    fn acquire(&mut self, step: &AcquireCommand, context: &mut StepContext<'_>) -> Acquired {
        let (now, until) = (context.now, context.now.after(step.lease));
        if let Some(lease) = self.leases.get_mut(&step.owner) {
            lease.until = until.max(lease.until);
            return Acquired::Granted(None);
        }
        let wanted = u64::from(step.wanted_permits);
        let granted = u64::try_from(self.free())
            .is_ok_and(|free| free >= self.waiters.wanted_ahead(step, now) + wanted);
        let in_line = !granted && self.waiters.stand(step, now);
        if granted {
            self.waiters.enter(&step.owner, now);
            let lease = PermitLease { until, permits: step.wanted_permits };
            self.leases.insert(step.owner.clone(), lease);
        }
        let first = self.waiters.first(now).filter(|_| self.free() > 0);
        if first.is_some_and(|(_, is_reserved)| self.ended > 0 || !is_reserved) {
            self.pass_on(context);
        }
        self.ended = 0;
        if granted {
            return Acquired::Granted(None);
        }
        let next_end = self.leases.values().map(|lease| now.until(lease.until)).min();
        // A caller that is first, and wants more than is free, waits for the next lease to end.
        let ahead = first.filter(|_| !self.waiters.is_first(&step.owner, now));
        Acquired::Busy { remaining: ahead.map(|(left, _)| left).or(next_end), in_line }
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
        lease.until = until.max(lease.until);
        Renewal::Renewed
    }

    fn standing(&self, now: LeaseInstant) -> LockSnapshot {
        let holder = |(owner, lease): (&OwnerId, &PermitLease)| {
            let holds = Holds { read: 0, write: lease.permits };
            HolderSnapshot::new(owner.to_string(), holds, Some(now.until(lease.until)))
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
