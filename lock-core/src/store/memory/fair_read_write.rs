//! The fair read/write lock: in order of arrival, readers that follow each other together.

use std::time::Duration;

use super::{
    fair_queue::FairQueue,
    holders::{HolderCheck, Holders},
    rules::{LockRules, StepContext},
};
use crate::{
    runtime::Moment,
    store::{
        AcquireCommand, Acquired, ConvertCommand, Downgraded, LockSnapshot, ReleaseCommand,
        Released, Renewal, Upgraded,
    },
    types::{Kind, Mode, OwnerId},
};

/// How many readers one step tells; each that enters tells the one behind it.
const MOST_TOLD: usize = 100;
/// What one is told at least that has to look again.
const SOON: Duration = Duration::from_millis(1);

#[derive(Debug, Default)]
pub(crate) struct FairReadWrite {
    holders: Holders,
    line: FairQueue,
}

impl FairReadWrite {
    fn stands_behind_others(&self, step: &AcquireCommand) -> bool {
        self.line.is_behind_others(&step.owner, step.mode)
    }

    fn refuse(&mut self, step: &AcquireCommand, now: Moment) -> Acquired {
        if let Some(life) = step.place {
            self.line.stand(step, life, now);
        }
        let ahead = self.line.right_before(&step.owner).map(|place| place.until);
        let until = self.holders.until().into_iter().chain(ahead).min().unwrap_or(now);
        let remaining = Some(now.until(until).max(SOON));
        Acquired::Busy { remaining, in_line: step.place.is_some() }
    }

    fn tell_next(&mut self, scene: &mut StepContext<'_>) {
        if self.holders.mode() == Some(Mode::Write) {
            return;
        }
        self.line.drop_dead_but(None, scene.now);
        for reader in self.line.leading_readers().take(MOST_TOLD) {
            scene.tell_turn(&reader.owner);
        }
        let head = self.line.head().filter(|head| head.mode == Mode::Write);
        if let Some(writer) = head.filter(|_| self.holders.is_free()) {
            scene.tell_turn(&writer.owner);
        }
    }
}

impl LockRules for FairReadWrite {
    fn expire(&mut self, now: Moment) {
        self.holders.expire(now);
        self.line.expire(now);
    }

    fn is_over(&self) -> bool {
        self.holders.is_free() && self.line.is_empty()
    }

    fn acquire(&mut self, step: &AcquireCommand, scene: &mut StepContext<'_>) -> Acquired {
        let now = scene.now;
        if self.line.drop_dead_but(Some(&step.owner), now) {
            self.tell_next(scene);
        }
        match self.holders.ask(step) {
            HolderCheck::Lost => Acquired::Lost,
            HolderCheck::Held { .. } => self.refuse(step, now),
            HolderCheck::Free { fresh: true } if self.stands_behind_others(step) => {
                self.refuse(step, now)
            }
            HolderCheck::Free { .. } => {
                let stood = self.line.leave(&step.owner);
                let behind = stood.and_then(|number| self.line.behind(number));
                if let Some(reader) = behind.filter(|place| place.mode == Mode::Read)
                    && step.mode == Mode::Read
                {
                    scene.tell_turn(&reader.owner);
                }
                let due = self.holders.grant(step, now);
                Acquired::Granted(due.then(|| scene.token()))
            }
        }
    }

    fn release(&mut self, step: &ReleaseCommand, scene: &mut StepContext<'_>) -> Released {
        if step.in_line {
            self.line.leave(&step.holder.owner);
        }
        let (released, _) = self.holders.release(step, scene.now);
        self.tell_next(scene);
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
            self.tell_next(scene);
        }
        downgraded
    }

    fn standing(&self, now: Moment) -> LockSnapshot {
        LockSnapshot {
            kind: Some(Kind::FairReadWrite),
            waiters: self.line.standing(now).collect(),
            ..self.holders.standing(now)
        }
    }

    fn take_away(&mut self, scene: &mut StepContext<'_>) {
        self.holders = Holders::default();
        self.tell_next(scene);
    }
}
