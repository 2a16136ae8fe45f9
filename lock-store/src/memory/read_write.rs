//! The read/write lock without a fair line.

use super::{
    holders::Holders,
    rules::{LockRules, NewEnd, StepContext},
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

    fn acquire(&mut self, command: &AcquireCommand, context: &mut StepContext<'_>) -> Acquired {
        self.waiters.acquire(&mut self.holders, command, context)
    }

    fn release(&mut self, command: &ReleaseCommand, context: &mut StepContext<'_>) -> Released {
        self.waiters.release(&mut self.holders, command, context)
    }

    fn renew(&mut self, owner: &OwnerId, mode: Mode, end: NewEnd) -> Renewal {
        self.holders.renew(owner, mode, end)
    }

    fn upgrade(&mut self, command: &ConvertCommand, context: &mut StepContext<'_>) -> Upgraded {
        self.holders.upgrade(command, context)
    }

    fn downgrade(&mut self, command: &ConvertCommand, context: &mut StepContext<'_>) -> Downgraded {
        let (downgraded, opened) = self.holders.downgrade(command, context.now);
        if opened {
            self.waiters.pass_on(&self.holders, context);
        }
        downgraded
    }

    fn transfer(&mut self, command: &TransferCommand) -> Transferred {
        self.holders.transfer(command)
    }

    fn snapshot(&self, now: LeaseInstant) -> LockSnapshot {
        LockSnapshot {
            kind: Some(Kind::ReadWrite),
            waiters: self.waiters.snapshots(now).collect(),
            ..self.holders.snapshot(now)
        }
    }

    fn take_away(&mut self, context: &mut StepContext<'_>) {
        self.waiters.take_away(&mut self.holders, context);
    }
}
