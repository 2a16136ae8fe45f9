//! The fair read/write lock: in order of arrival, readers that follow each other together.

use std::time::Duration;

use super::{
    fair_queue::FairQueue,
    holders::{HolderCheck, Holders},
    rules::{LockRules, NewEnd, StepContext},
};
use crate::{
    command::{AcquireCommand, ConvertCommand, ReleaseCommand, TransferCommand},
    outcome::{Acquired, Downgraded, Released, Renewal, Transferred, Upgraded},
    runtime::LeaseInstant,
    snapshot::LockSnapshot,
    types::{Kind, Mode, OwnerId},
};

/// How many readers one command notifies; each that enters notifies the one behind it.
const MAX_WOKEN: usize = 100;
/// The shortest pause that a refused waiter is given before it polls.
const SOON: Duration = Duration::from_millis(1);

#[derive(Debug, Default)]
pub(crate) struct FairReadWrite {
    holders: Holders,
    line: FairQueue,
}

impl FairReadWrite {
    fn is_behind_others(&self, command: &AcquireCommand) -> bool {
        self.line.is_behind_others(&command.owner, command.mode)
    }

    fn refuse(&mut self, command: &AcquireCommand, now: LeaseInstant) -> Acquired {
        if let Some(life) = command.place {
            self.line.join(command, life, now);
        }
        let ahead = self.line.right_before(&command.owner).map(|place| place.until);
        let until = self.holders.until().into_iter().chain(ahead).min().unwrap_or(now);
        let remaining = Some(now.until(until).max(SOON));
        Acquired::Busy { remaining, in_line: command.place.is_some() }
    }

    fn tell_next(&mut self, context: &mut StepContext<'_>) {
        if self.holders.mode() == Some(Mode::Write) {
            return;
        }
        self.line.drop_dead_but(None, context.now);
        for reader in self.line.leading_readers().take(MAX_WOKEN) {
            context.wake_owner(&reader.owner);
        }
        let head = self.line.head().filter(|head| head.mode == Mode::Write);
        if let Some(writer) = head.filter(|_| self.holders.is_free()) {
            context.wake_owner(&writer.owner);
        }
    }
}

impl LockRules for FairReadWrite {
    fn expire(&mut self, now: LeaseInstant) {
        self.holders.expire(now);
        self.line.expire(now);
    }

    fn is_over(&self) -> bool {
        self.holders.is_free() && self.line.is_empty()
    }

    fn acquire(&mut self, command: &AcquireCommand, context: &mut StepContext<'_>) -> Acquired {
        let now = context.now;
        if self.line.drop_dead_but(Some(&command.owner), now) {
            self.tell_next(context);
        }
        match self.holders.check(command) {
            HolderCheck::Lost => Acquired::Lost,
            HolderCheck::Held { .. } => self.refuse(command, now),
            HolderCheck::Free { fresh: true } if self.is_behind_others(command) => {
                self.refuse(command, now)
            }
            HolderCheck::Free { .. } => {
                let stood = self.line.leave(&command.owner);
                let behind = stood.and_then(|number| self.line.behind(number));
                if let Some(reader) = behind.filter(|place| place.mode == Mode::Read)
                    && command.mode == Mode::Read
                {
                    context.wake_owner(&reader.owner);
                }
                let due = self.holders.grant(command, now);
                Acquired::Granted(due.then(|| context.token()))
            }
        }
    }

    fn release(&mut self, command: &ReleaseCommand, context: &mut StepContext<'_>) -> Released {
        if command.in_line {
            self.line.leave(&command.holder.owner);
        }
        let (released, _) = self.holders.release(command, context.now);
        self.tell_next(context);
        released
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
            self.tell_next(context);
        }
        downgraded
    }

    fn transfer(&mut self, command: &TransferCommand) -> Transferred {
        self.holders.transfer(command)
    }

    fn snapshot(&self, now: LeaseInstant) -> LockSnapshot {
        LockSnapshot {
            kind: Some(Kind::FairReadWrite),
            waiters: self.line.snapshots(now).collect(),
            ..self.holders.snapshot(now)
        }
    }

    fn take_away(&mut self, context: &mut StepContext<'_>) {
        self.holders = Holders::default();
        self.tell_next(context);
    }
}
