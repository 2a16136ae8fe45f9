//! Permits, each with a lease. How many there are is each caller's own number.

use std::collections::HashMap;

use super::{
    rules::{LockRules, NewEnd, StepContext},
    waiters::Waiters,
};
use crate::{
    command::{AcquireCommand, Holds, ReleaseCommand},
    outcome::{Acquired, Released, Renewal},
    runtime::LeaseInstant,
    snapshot::{HolderSnapshot, LockSnapshot},
    types::{Kind, Mode, OwnerId},
};

/// The permits of one owner.
#[derive(Debug, Clone, Copy)]
struct PermitLease {
    until: LeaseInstant,
    permits: u32,
}

#[derive(Debug, Default)]
pub(crate) struct SemaphoreLock {
    leases: HashMap<OwnerId, PermitLease>,
    /// Whether leases have expired since permits were last passed on.
    has_expired: bool,
    waiters: Waiters,
}

impl SemaphoreLock {
    pub(crate) fn in_use(&self) -> u64 {
        self.leases.values().map(|lease| u64::from(lease.permits)).sum()
    }

    /// Reserves free permits for the next waiters.
    fn pass_on(&mut self, context: &mut StepContext<'_>) {
        self.has_expired = false;
        self.waiters.wake_fitting(self.in_use(), context);
    }
}

impl LockRules for SemaphoreLock {
    fn expire(&mut self, now: LeaseInstant) {
        let before = self.leases.len();
        self.leases.retain(|_, lease| lease.until > now);
        self.has_expired |= self.leases.len() < before;
        self.waiters.expire(now);
    }

    fn is_over(&self) -> bool {
        self.leases.is_empty() && self.waiters.is_empty()
    }

    fn acquire(&mut self, command: &AcquireCommand, context: &mut StepContext<'_>) -> Acquired {
        let (now, until) = (context.now, context.now.after(command.lease));
        if let Some(lease) = self.leases.get_mut(&command.owner) {
            lease.until = until.max(lease.until);
            return Acquired::Granted(None);
        }
        let (wanted, permits) = (u64::from(command.wanted_permits), u64::from(command.permits));
        let ahead = self.waiters.wanted_ahead(command, now);
        let granted = self.in_use() + ahead + wanted <= permits;
        let in_line = !granted && self.waiters.join(command, now);
        if granted {
            self.waiters.enter(&command.owner, now);
            let lease = PermitLease { until, permits: command.wanted_permits };
            self.leases.insert(command.owner.clone(), lease);
        }
        let first = self.waiters.first(now).filter(|_| self.in_use() < permits);
        if first.is_some_and(|(_, is_reserved)| self.has_expired || !is_reserved) {
            self.pass_on(context);
        }
        self.has_expired = false;
        if granted {
            return Acquired::Granted(None);
        }
        let next_end = self.leases.values().map(|lease| now.until(lease.until)).min();
        // A caller that is first, and wants more than is free, waits for the next lease to end.
        let ahead = first.filter(|_| !self.waiters.is_first(&command.owner, now));
        Acquired::Busy { remaining: ahead.map(|(left, _)| left).or(next_end), in_line }
    }

    fn release(&mut self, command: &ReleaseCommand, context: &mut StepContext<'_>) -> Released {
        let left = command.in_line && self.waiters.leave(&command.holder.owner);
        let returned = self.leases.remove(&command.holder.owner).is_some();
        if left || returned || self.has_expired {
            self.pass_on(context);
        }
        if returned { Released::Freed } else { Released::Gone }
    }

    fn renew(&mut self, owner: &OwnerId, _mode: Mode, end: NewEnd) -> Renewal {
        let Some(lease) = self.leases.get_mut(owner) else { return Renewal::Lost };
        lease.until = end.after(lease.until);
        Renewal::Renewed
    }

    fn snapshot(&self, now: LeaseInstant) -> LockSnapshot {
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
            holders,
            waiters: self.waiters.snapshots(now).collect(),
            ..LockSnapshot::default()
        }
    }

    fn take_away(&mut self, context: &mut StepContext<'_>) {
        if self.leases.is_empty() && !self.has_expired {
            return;
        }
        self.leases.clear();
        self.pass_on(context);
    }
}
