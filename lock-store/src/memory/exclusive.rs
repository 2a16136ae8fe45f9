//! The locks with one holder. They share one state: the fair lock uses the queue in order of
//! arrival, the others use the waiters, and neither reads the other's.

use super::{
    fair_queue::FairQueue,
    holders::{HolderCheck, Holders},
    rules::{LockRules, NewEnd, StepContext},
    waiters::Waiters,
};
use crate::{
    command::{AcquireCommand, ReleaseCommand, TransferCommand},
    outcome::{Acquired, Released, Renewal, Transferred},
    runtime::LeaseInstant,
    snapshot::LockSnapshot,
    types::{Kind, Mode, OwnerId},
};

#[derive(Debug, Default)]
pub(crate) struct Exclusive {
    holders: Holders,
    waiters: Waiters,
    line: FairQueue,
    /// Its tokens are kept forever.
    fenced: bool,
}

impl Exclusive {
    pub(crate) fn waited_for(waiters: Waiters) -> Self {
        Self { waiters, ..Self::default() }
    }

    pub(crate) fn only_waiters(&mut self) -> Option<Waiters> {
        let alone = self.holders.is_free() && self.line.is_empty();
        alone.then(|| std::mem::take(&mut self.waiters))
    }

    fn acquire_in_line(
        &mut self,
        command: &AcquireCommand,
        context: &mut StepContext<'_>,
    ) -> Acquired {
        let (owner, now) = (&command.owner, context.now);
        let check = self.holders.check(command);
        match check {
            HolderCheck::Lost => return Acquired::Lost,
            HolderCheck::Free { fresh: false } => {}
            HolderCheck::Free { fresh: true } | HolderCheck::Held { .. } => {
                let passed = self.line.drop_dead_heads_but(Some(owner), now);
                let first = self.line.head().is_none_or(|head| head.owner == *owner);
                if !(first && self.holders.is_free()) {
                    if passed {
                        self.tell_head(context);
                    }
                    return self.refuse(command, now);
                }
                self.line.leave(owner);
            }
        }
        let due = self.holders.grant(command, now);
        Acquired::Granted(due.then(|| context.token()))
    }

    fn refuse(&mut self, command: &AcquireCommand, now: LeaseInstant) -> Acquired {
        if let Some(life) = command.place {
            self.line.join(command, life, now);
        }
        let head = self.line.head().map(|head| head.until);
        let until = self.holders.until().or(head).unwrap_or(now);
        let in_line = self.line.has(&command.owner);
        Acquired::Busy { remaining: Some(now.until(until)), in_line }
    }

    fn release_in_line(
        &mut self,
        command: &ReleaseCommand,
        context: &mut StepContext<'_>,
    ) -> Released {
        if command.in_line {
            self.line.leave(&command.holder.owner);
        }
        let (released, _) = self.holders.release(command, context.now);
        if self.holders.is_free() {
            self.line.drop_dead_heads_but(None, context.now);
        }
        self.tell_head(context);
        released
    }

    fn tell_head(&self, context: &mut StepContext<'_>) {
        let head = self.line.first_living(context.now);
        if let Some(head) = head.filter(|_| self.holders.is_free()) {
            context.wake_owner(&head.owner);
        }
    }
}

impl LockRules for Exclusive {
    fn expire(&mut self, now: LeaseInstant) {
        self.holders.expire(now);
        self.waiters.expire(now);
        // The waiter that takes over from an expired place notifies the next one.
        self.line.expire(now);
    }

    fn is_over(&self) -> bool {
        self.holders.is_free() && self.waiters.is_empty() && self.line.is_empty()
    }

    fn acquire(&mut self, command: &AcquireCommand, context: &mut StepContext<'_>) -> Acquired {
        let answer = match command.kind {
            Kind::Fair => self.acquire_in_line(command, context),
            _ => self.waiters.acquire(&mut self.holders, command, context),
        };
        self.fenced |= command.kind == Kind::Fenced && matches!(answer, Acquired::Granted(_));
        answer
    }

    fn release(&mut self, command: &ReleaseCommand, context: &mut StepContext<'_>) -> Released {
        if command.holder.kind == Kind::Fair {
            return self.release_in_line(command, context);
        }
        self.waiters.release(&mut self.holders, command, context)
    }

    fn renew(&mut self, owner: &OwnerId, mode: Mode, end: NewEnd) -> Renewal {
        self.holders.renew(owner, mode, end)
    }

    fn transfer(&mut self, command: &TransferCommand) -> Transferred {
        self.holders.transfer(command)
    }

    fn snapshot(&self, now: LeaseInstant) -> LockSnapshot {
        let lined_up: Vec<_> = self.line.snapshots(now).collect();
        let kind = match (lined_up.is_empty(), self.fenced) {
            (false, _) => Kind::Fair,
            (true, true) => Kind::Fenced,
            (true, false) => Kind::Reentrant,
        };
        LockSnapshot {
            kind: Some(kind),
            waiters: lined_up.into_iter().chain(self.waiters.snapshots(now)).collect(),
            ..self.holders.snapshot(now)
        }
    }

    fn take_away(&mut self, context: &mut StepContext<'_>) {
        self.waiters.take_away(&mut self.holders, context);
        self.tell_head(context);
    }
}
