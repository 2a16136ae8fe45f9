//! The read/write lock without a fair line.

use super::{
    holders::Holders,
    rules::{LockRules, StepContext},
    waiters::Waiters,
};
use crate::{
    runtime::Moment,
    store::{
        AcquireCommand, Acquired, ConvertCommand, Downgraded, LockSnapshot, ReleaseCommand,
        Released, Renewal, Upgraded,
    },
    types::{Kind, Mode, OwnerId},
};

#[derive(Debug, Default)]
pub(crate) struct ReadWrite {
    holders: Holders,
    waiters: Waiters,
}

impl ReadWrite {
    pub(crate) fn waited_for(waiters: Waiters) -> Self {
        Self { waiters, ..Self::default() }
    }

    pub(crate) fn only_waiters(&mut self) -> Option<Waiters> {
        self.holders.is_free().then(|| std::mem::take(&mut self.waiters))
    }
}

impl LockRules for ReadWrite {
    fn expire(&mut self, now: Moment) {
        self.holders.expire(now);
        self.waiters.expire(now);
    }

    fn is_over(&self) -> bool {
        self.holders.is_free() && self.waiters.is_empty()
    }

    fn acquire(&mut self, step: &AcquireCommand, scene: &mut StepContext<'_>) -> Acquired {
        self.waiters.acquire(&mut self.holders, step, scene)
    }

    fn release(&mut self, step: &ReleaseCommand, scene: &mut StepContext<'_>) -> Released {
        let left = step.in_line && self.waiters.leave(&step.holder.owner);
        let (released, opened) = self.holders.release(step, scene.now);
        if left || opened {
            self.waiters.pass_on(&self.holders, scene);
        }
        released
    }

    fn renew(&mut self, owner: &OwnerId, mode: Mode, until: Moment) -> Renewal {
        self.holders.renew(owner, mode, until)
    }

    fn upgrade(&mut self, step: &ConvertCommand, scene: &mut StepContext<'_>) -> Upgraded {
        let refused = self.holders.upgrade(step, scene.now);
        refused.unwrap_or_else(|| Upgraded::Granted(scene.token()))
    }

    fn downgrade(&mut self, step: &ConvertCommand, scene: &mut StepContext<'_>) -> Downgraded {
        let (downgraded, opened) = self.holders.downgrade(step, scene.now);
        if opened {
            self.waiters.pass_on(&self.holders, scene);
        }
        downgraded
    }

    fn standing(&self, now: Moment) -> LockSnapshot {
        LockSnapshot {
            kind: Some(Kind::ReadWrite),
            waiters: self.waiters.standing(now).collect(),
            ..self.holders.standing(now)
        }
    }

    fn take_away(&mut self, scene: &mut StepContext<'_>) {
        let held = std::mem::take(&mut self.holders);
        if !held.is_free() {
            self.waiters.pass_on(&self.holders, scene);
        }
    }
}
