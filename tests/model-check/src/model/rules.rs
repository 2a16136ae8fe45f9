//! What one step may do and say, judged by what stood before it and stands after it.

use lock_core::{Kind, Mode};

use super::{
    contents::{Held, LockContents, Waiter},
    op::Op,
    replies,
    reported::all_told,
    setup::Setup,
    wrong::Wrong,
};
use crate::redis::Reply;

/// A step that was taken.
pub(crate) struct Step<'a> {
    pub(crate) setup: &'a Setup,
    pub(crate) owner: &'a [u8],
    pub(crate) op: Op,
    pub(crate) now: i64,
    pub(crate) before: &'a LockContents,
    pub(crate) after: &'a LockContents,
    pub(crate) reply: &'a Reply,
    /// What was published: channel and message.
    pub(crate) reported: &'a [(Vec<u8>, Vec<u8>)],
    pub(crate) highest: i64,
}

pub(crate) fn broken(rule: Wrong, is_broken: bool) -> Result<(), Wrong> {
    if is_broken { Err(rule) } else { Ok(()) }
}

impl Step<'_> {
    /// The first rule that is broken.
    pub(crate) fn judge(&self) -> Result<(), Wrong> {
        broken(Wrong::Reply, !replies::is_well_formed(self.setup.names.wire, self.op, self.reply))?;
        self.spares_others()?;
        self.grants_only_to_the_caller()?;
        self.leaves_places()?;
        match self.op {
            Op::Acquire { .. } => self.acquired()?,
            Op::TryFree { mode, .. } => self.taken_free(mode)?,
            Op::DrawToken | Op::ReadValue => {}
            Op::Release { mode, holds, in_line } => self.released(mode, holds, in_line)?,
            Op::Leave { mode } => self.released(mode, 0, true)?,
            Op::Renew { mode, .. } => self.renewed(mode)?,
            Op::Upgrade { .. } | Op::Downgrade { .. } => self.converted()?,
        }
        self.tells()
    }

    /// What is left of the rules once a key of the lock was evicted: a reply that the header knows, and
    /// tokens that grow. What stands there may be no lock any more.
    pub(crate) fn judge_after_eviction(&self) -> Result<(), Wrong> {
        if self.status() == "WRONG_KIND" {
            return Ok(());
        }
        broken(Wrong::Reply, !replies::is_well_formed(self.setup.names.wire, self.op, self.reply))?;
        let token = self.reply.parts().get(2).and_then(replies::token).unwrap_or_default();
        let is_new = self.status() == "GRANTED" && token > 0;
        broken(Wrong::Token, is_new && token <= self.highest)
    }

    pub(super) fn status(&self) -> &str {
        self.reply.parts().first().and_then(Reply::text).unwrap_or_default()
    }

    pub(super) fn number(&self, at: usize) -> i64 {
        self.reply.parts().get(at).and_then(Reply::int).unwrap_or_default()
    }

    /// No step takes anything from another owner, or from its own owner except by a release.
    fn spares_others(&self) -> Result<(), Wrong> {
        let gives_up =
            matches!(self.op, Op::Release { .. } | Op::Leave { .. } | Op::Downgrade { .. });
        for held in self.before.held.iter().filter(|held| held.lives()) {
            if gives_up && held.owner == self.owner {
                continue;
            }
            let upgraded = matches!(self.op, Op::Upgrade { .. }) && held.owner == self.owner;
            let after = self.after.by(&held.owner);
            let kept = after.is_some_and(|after| {
                let as_many = after.reads >= held.reads && after.writes >= held.writes;
                (as_many || upgraded) && after.time_left() >= held.time_left()
            });
            broken(Wrong::CutShort, !kept)?;
        }
        Ok(())
    }

    /// No owner gets the lock by another's step.
    fn grants_only_to_the_caller(&self) -> Result<(), Wrong> {
        let had = |held: &Held| self.before.by(&held.owner).is_some_and(Held::lives);
        let given = self.after.others(self.owner).any(|held| !had(held));
        broken(Wrong::FalseGrant, given)
    }

    pub(super) fn mine(&self, at: &'_ LockContents, mode: Mode) -> u32 {
        let held = at.by(self.owner);
        let counts =
            |held: &&Held| held.writes > 0 || (mode == Mode::Read && held.reads_left.0 >= 0);
        held.filter(counts).map_or(0, |held| held.of(mode))
    }

    /// Nothing of the request is left, everything from before is, and the waiters were woken. The
    /// step is treated as a release.
    pub(crate) fn is_taken_back(&self) -> Result<(), Wrong> {
        let Op::Release { mode, holds, .. } = self.op else { return Ok(()) };
        self.spares_others()?;
        self.leaves_places()?;
        let (had, has) = (self.mine(self.before, mode), self.mine(self.after, mode));
        broken(Wrong::Half, has > holds)?;
        let left = |at: &LockContents| at.by(self.owner).map_or(-2, Held::time_left);
        let shorter = left(self.after) < left(self.before);
        broken(Wrong::CutShort, has < had.min(holds) || (has > 0 && shorter))?;
        self.tells()
    }

    /// An owner that only gives up holds takes no waiter's place.
    fn leaves_places(&self) -> Result<(), Wrong> {
        let others = self.before.waiters.iter().filter(|one| one.owner != self.owner);
        let others: Vec<_> = others.filter(|one| one.left > 0).collect();
        let mut kept = self.after.waiters.iter().filter(|after| {
            let is_same = |one: &&Waiter| one.owner == after.owner;
            // On the native wire the order counts: a line that moves gets other numbers.
            others
                .iter()
                .copied()
                .find(is_same)
                .is_some_and(|one| self.setup.is_native() || after.since == one.since)
        });
        let in_order =
            others.iter().all(|one| kept.next().is_some_and(|after| after.owner == one.owner));
        let may_go = self.setup.kind.is_fair()
            && !self.setup.is_native()
            && matches!(self.op, Op::Acquire { .. });
        broken(Wrong::Overtaken, !may_go && !in_order)
    }

    pub(super) fn has_token(&self, wanted: bool) -> Result<(), Wrong> {
        let token = self.reply.parts().get(2).and_then(replies::token).unwrap_or_default();
        broken(Wrong::Token, if wanted { token <= self.highest } else { token != 0 })
    }

    fn released(&self, mode: Mode, holds: u32, in_line: bool) -> Result<(), Wrong> {
        let (had, has) = (self.mine(self.before, mode), self.mine(self.after, mode));
        let other = if mode == Mode::Read { Mode::Write } else { Mode::Read };
        broken(Wrong::FalseRelease, has > holds || has < had.min(holds))?;
        let lapsed = |held: &Held| other == Mode::Read && held.reads_left.0 < 0;
        let kept = self.mine(self.after, other) >= self.mine(self.before, other);
        broken(Wrong::CutShort, !kept && !self.before.by(self.owner).is_some_and(lapsed))?;
        let stays = self.after.held.iter().any(Held::lives);
        let in_place = self.still_waits(Mode::Read) || self.still_waits(Mode::Write);
        broken(Wrong::FalseRelease, in_line && in_place)?;
        match self.status() {
            "LEFT" => Ok(()),
            "FREED" => broken(Wrong::FalseRelease, had <= holds || (stays && !self.is_semaphore())),
            "RELEASED" => broken(Wrong::FalseRelease, !stays),
            _ => broken(Wrong::FalseLoss, had > holds || (had == holds && holds > 0)),
        }
    }

    pub(super) fn is_semaphore(&self) -> bool {
        self.setup.kind == Kind::Semaphore
    }

    fn renewed(&self, mode: Mode) -> Result<(), Wrong> {
        let had = self.mine(self.before, mode);
        match self.number(2) {
            1 => {
                let Op::Renew { lease, .. } = self.op else { return Ok(()) };
                let left = self.after.by(self.owner).map_or(-2, Held::time_left);
                broken(Wrong::FalseRenewal, had == 0 || left < lease)
            }
            0 => broken(Wrong::FalseLoss, had > 0),
            _ => Err(Wrong::Reply),
        }
    }

    fn converted(&self) -> Result<(), Wrong> {
        let (reads, writes) =
            (self.mine(self.before, Mode::Read), self.mine(self.before, Mode::Write));
        let has = |mode| self.mine(self.after, mode);
        match (self.op, self.status()) {
            (Op::Upgrade { after, .. }, "GRANTED") => {
                let there = has(Mode::Read) == after.reads && has(Mode::Write) >= after.writes;
                broken(Wrong::FalseRelease, !there)?;
                broken(Wrong::Exclusion, self.after.others(self.owner).next().is_some())?;
                self.has_token(true)
            }
            (Op::Upgrade { .. }, "BUSY") => {
                broken(Wrong::FalseRefusal, self.before.others(self.owner).next().is_none())
            }
            (Op::Upgrade { after, .. }, _) => {
                let can = writes + 1 >= after.writes && reads > after.reads;
                broken(Wrong::FalseLoss, writes >= after.writes || can)
            }
            (Op::Downgrade { after, .. }, "RELEASED") => {
                let there = has(Mode::Read) >= after.reads && has(Mode::Write) <= after.writes;
                broken(Wrong::FalseRelease, !there)
            }
            (Op::Downgrade { after, .. }, _) => broken(Wrong::FalseLoss, writes > after.writes),
            _ => Ok(()),
        }
    }

    /// A free lock was taken by a plain command, or not.
    fn taken_free(&self, mode: Mode) -> Result<(), Wrong> {
        if self.reply.text() != Some("OK") {
            return Ok(());
        }
        broken(Wrong::FalseGrant, self.mine(self.after, mode) == 0)?;
        broken(Wrong::Exclusion, self.after.others(self.owner).next().is_some())?;
        broken(Wrong::Overtaken, !self.ahead().is_empty())?;
        broken(Wrong::StillWaits, self.still_waits(mode))
    }

    /// A waiter that could not enter before and can now is woken, and so is one that yielded to a
    /// waiter that has left.
    fn tells(&self) -> Result<(), Wrong> {
        let gives_up =
            matches!(self.op, Op::Release { .. } | Op::Leave { .. } | Op::Downgrade { .. });
        broken(
            Wrong::NotTold,
            gives_up && !all_told(self.setup, self.before, self.after, self.reported),
        )
    }
}
