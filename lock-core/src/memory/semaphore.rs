//! A number of permits, each with a lease. It stands for ever, as in Redis: nobody else could say
//! how many permits there are.

use std::collections::HashMap;

use super::{
    lock::{Scene, Shape},
    news::Channel,
};
use crate::{
    Kind, Mode,
    clock::Moment,
    owner::OwnerId,
    store::{
        AcquireCommand, Acquired, HolderSnapshot, Holds, LockSnapshot, ReleaseCommand, Released,
        Renewal,
    },
};

#[derive(Debug)]
pub(super) struct Semaphore {
    /// In use and free.
    total: i64,
    leases: HashMap<OwnerId, Moment>,
}

impl Semaphore {
    pub(super) fn of(permits: u32) -> Self {
        Self { total: permits.into(), leases: HashMap::new() }
    }

    /// Below zero while more are in use than there should be.
    pub(super) fn free(&self) -> i64 {
        self.total.saturating_sub_unsigned(self.leases.len() as u64)
    }

    pub(super) fn resize(&mut self, permits: u32, scene: &mut Scene<'_>) {
        let before = std::mem::replace(&mut self.total, permits.into());
        if before < self.total {
            scene.tell(Channel::Permits);
        }
    }
}

impl Shape for Semaphore {
    fn expire(&mut self, now: Moment) {
        self.leases.retain(|_, until| *until > now);
    }

    fn is_over(&self) -> bool {
        false
    }

    fn acquire(&mut self, step: &AcquireCommand, scene: &mut Scene<'_>) -> Acquired {
        let (now, until) = (scene.now, scene.now.after(step.lease));
        if let Some(lease) = self.leases.get_mut(&step.owner) {
            *lease = until.max(*lease);
            return Acquired::Granted(None);
        }
        if self.free() > 0 {
            self.leases.insert(step.owner.clone(), until);
            return Acquired::Granted(None);
        }
        let next = self.leases.values().min();
        Acquired::Busy { remaining: next.map(|next| now.until(*next)), in_line: false }
    }

    fn release(&mut self, step: &ReleaseCommand, scene: &mut Scene<'_>) -> Released {
        if self.leases.remove(&step.holder.owner).is_none() {
            return Released::Gone;
        }
        scene.tell(Channel::Permits);
        Released::Freed
    }

    fn renew(&mut self, owner: &OwnerId, _mode: Mode, until: Moment) -> Renewal {
        let Some(lease) = self.leases.get_mut(owner) else { return Renewal::Lost };
        *lease = until.max(*lease);
        Renewal::Renewed
    }

    fn standing(&self, now: Moment) -> LockSnapshot {
        let holder = |(owner, until): (&OwnerId, &Moment)| HolderSnapshot {
            owner: owner.to_string(),
            holds: Holds { read: 0, write: 1 },
            remaining: Some(now.until(*until)),
        };
        let mut holders: Vec<_> = self.leases.iter().map(holder).collect();
        holders.sort_by(|one, other| one.owner.cmp(&other.owner));
        LockSnapshot {
            kind: Some(Kind::Semaphore),
            mode: (!holders.is_empty()).then_some(Mode::Write),
            remaining: holders.iter().filter_map(|holder| holder.remaining).max(),
            free_permits: Some(self.free()),
            holders,
            complete: true,
            ..LockSnapshot::default()
        }
    }

    fn take_away(&mut self, scene: &mut Scene<'_>) {
        self.leases.clear();
        scene.tell(Channel::Permits);
    }
}
