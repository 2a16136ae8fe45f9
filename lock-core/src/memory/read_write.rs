//! The read/write lock: the waiter that has waited longest is next.

use super::{
    holders::Holders,
    lock::{Scene, Shape},
    news::Channel,
    next_waiter::NextWaiter,
};
use crate::{
    Kind, Mode,
    clock::Moment,
    owner::OwnerId,
    store::{
        AcquireCommand, Acquired, ConvertCommand, Downgraded, LockSnapshot, ReleaseCommand,
        Released, Renewal, Upgraded,
    },
};

#[derive(Debug, Default)]
pub(super) struct ReadWrite {
    holders: Holders,
    next: NextWaiter,
}

impl ReadWrite {
    pub(super) fn marked(next: NextWaiter) -> Self {
        Self { next, ..Self::default() }
    }

    pub(super) fn mark_alone(&mut self) -> Option<NextWaiter> {
        self.holders.is_free().then(|| std::mem::take(&mut self.next))
    }
}

impl Shape for ReadWrite {
    fn expire(&mut self, now: Moment) {
        self.holders.expire(now);
        self.next.expire(now);
    }

    fn is_over(&self) -> bool {
        self.holders.is_free() && self.next.is_none()
    }

    fn acquire(&mut self, step: &AcquireCommand, scene: &mut Scene<'_>) -> Acquired {
        self.next.acquire(&mut self.holders, step, scene)
    }

    fn release(&mut self, step: &ReleaseCommand, scene: &mut Scene<'_>) -> Released {
        let lifted = step.in_line && self.next.lift(&step.holder.owner);
        let (released, opened) = self.holders.release(step, scene.now);
        if lifted || opened {
            scene.tell(Channel::ReadWrite);
        }
        released
    }

    fn renew(&mut self, owner: &OwnerId, mode: Mode, until: Moment) -> Renewal {
        self.holders.renew(owner, mode, until)
    }

    fn upgrade(&mut self, step: &ConvertCommand, scene: &mut Scene<'_>) -> Upgraded {
        let refused = self.holders.upgrade(step, scene.now);
        refused.unwrap_or_else(|| Upgraded::Granted(scene.token()))
    }

    fn downgrade(&mut self, step: &ConvertCommand, scene: &mut Scene<'_>) -> Downgraded {
        let (downgraded, opened) = self.holders.downgrade(step, scene.now);
        if opened {
            scene.tell(Channel::ReadWrite);
        }
        downgraded
    }

    fn standing(&self, now: Moment) -> LockSnapshot {
        LockSnapshot {
            kind: Some(Kind::ReadWrite),
            waiters: self.next.standing().into_iter().collect(),
            ..self.holders.standing(now)
        }
    }

    fn take_away(&mut self, scene: &mut Scene<'_>) {
        self.holders = Holders::default();
        scene.tell(Channel::ReadWrite);
    }
}
