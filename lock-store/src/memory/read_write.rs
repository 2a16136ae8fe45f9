//! The read/write lock without a fair line.

use super::{
    holders::Holders,
    rules::{LockRules, StepContext},
    waiters::Waiters,
};
use crate::{
    command::{AcquireCommand, ConvertCommand, ReleaseCommand, TransferCommand},
    outcome::{Acquired, Downgraded, Released, Renewal, Transferred, Upgraded},
    runtime::LeaseInstant,
    snapshot::LockSnapshot,
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
    fn expire(&mut self, now: LeaseInstant) {
        self.holders.expire(now);
        self.waiters.expire(now);
    }

    fn is_over(&self) -> bool {
        self.holders.is_free() && self.waiters.is_empty()
    }

    fn acquire(&mut self, step: &AcquireCommand, context: &mut StepContext<'_>) -> Acquired {
        self.waiters.acquire(&mut self.holders, step, context)
    }

    fn release(&mut self, step: &ReleaseCommand, context: &mut StepContext<'_>) -> Released {
        self.waiters.release(&mut self.holders, step, context)
    }

    fn renew(&mut self, owner: &OwnerId, mode: Mode, until: LeaseInstant) -> Renewal {
        self.holders.renew(owner, mode, until)
    }

    fn upgrade(&mut self, step: &ConvertCommand, context: &mut StepContext<'_>) -> Upgraded {
        self.holders.upgrade(step, context)
    }

    fn downgrade(&mut self, step: &ConvertCommand, context: &mut StepContext<'_>) -> Downgraded {
        let (downgraded, opened) = self.holders.downgrade(step, context.now);
        if opened {
            self.waiters.pass_on(&self.holders, context);
        }
        downgraded
    }

    fn transfer(&mut self, step: &TransferCommand) -> Transferred {
        self.holders.transfer(step)
    }

    fn standing(&self, now: LeaseInstant) -> LockSnapshot {
        LockSnapshot {
            kind: Some(Kind::ReadWrite),
            waiters: self.waiters.standing(now).collect(),
            ..self.holders.standing(now)
        }
    }

    fn take_away(&mut self, context: &mut StepContext<'_>) {
        self.waiters.take_away(&mut self.holders, context);
    }
}
