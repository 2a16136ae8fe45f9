//! What an acquisition may do and say.

use lock_core::{Kind, Mode};

use super::{
    op::Op,
    rules::{Step, broken},
    standing::{Held, Standing, Waiter},
    wrong::Wrong,
};

impl Step<'_> {
    /// Whether somebody else, who holds or is before me, is in my way.
    fn in_the_way(&self, mode: Mode) -> (bool, i64) {
        let holders: Vec<&Held> = self.before.others(self.owner).collect();
        let blocking = |held: &&&Held| mode == Mode::Write || held.writes > 0;
        if self.setup.kind == Kind::Semaphore {
            let full = holders.len() >= usize::try_from(self.setup.permits).unwrap_or(usize::MAX);
            return (full, holders.iter().map(|held| held.left).min().unwrap_or(0));
        }
        let holders = holders.iter().filter(blocking);
        let left =
            holders.map(|held| if mode == Mode::Read { held.left } else { held.time_left() });
        let left = left.max();
        if !self.setup.kind.is_fair() {
            return (left.is_some(), left.unwrap_or(0));
        }
        // Each looks after the one before it, who need not be the one in the way.
        let waiters = self.before.waiters.iter().filter(|waiter| waiter.owner != self.owner);
        let longest = waiters.map(|waiter| waiter.left).chain(left).max().unwrap_or(0);
        (left.is_some() || !self.ahead().is_empty(), longest)
    }

    /// The waiters who are before this one and must not be passed, as they stood.
    fn ahead(&self) -> Vec<&Waiter> {
        let Op::Acquire { mode, yields, waited, .. } = self.op else { return Vec::new() };
        let other = |waiter: &&Waiter| waiter.owner != self.owner;
        let must_wait = |waiter: &&Waiter| match self.setup.kind {
            Kind::FairReadWrite | Kind::ReadWrite => {
                mode == Mode::Write || waiter.mode == Mode::Write
            }
            _ => true,
        };
        if self.setup.kind.is_fair() {
            let waiters = self.before.waiters.iter().take_while(other);
            return waiters.filter(|waiter| waiter.left > 0).filter(must_wait).collect();
        }
        let longer = |waiter: &&Waiter| yields && waiter.since <= self.now - waited;
        self.before.waiters.iter().filter(other).filter(must_wait).filter(longer).collect()
    }

    pub(super) fn acquired(&self) -> Result<(), Wrong> {
        let Op::Acquire { mode, holds, .. } = self.op else { return Ok(()) };
        let had = self.mine(self.before, mode);
        let inside = self.before.by(self.owner).is_some_and(|held| held.writes > 0);
        let (blocked, longest) = self.in_the_way(mode);
        match self.status() {
            "GRANTED" => {
                broken(Wrong::FalseGrant, self.mine(self.after, mode) < holds || had + 1 < holds)?;
                let enters = had == 0 && !inside;
                broken(Wrong::Overtaken, enters && !self.ahead().is_empty())?;
                let mut waits = self.after.waiters.iter();
                let waits = waits.any(|one| one.owner == self.owner && one.mode == mode);
                broken(Wrong::StillWaits, enters && waits)?;
                let outermost = holds == 1 && (mode == Mode::Write || !inside);
                self.has_token(self.setup.has_tokens() && outermost)
            }
            "LOST" => broken(Wrong::FalseLoss, holds == 1 || (had > 0 && had + 1 >= holds)),
            "BUSY" => {
                let holds = self.before.by(self.owner).is_some_and(Held::lives);
                broken(Wrong::FalseRefusal, (!blocked && !holds) || had > 0)?;
                let told = self.number(2);
                broken(Wrong::FalseTime, told < 0 || (told > longest.max(1) && !holds))?;
                broken(Wrong::Reply, (self.number(3) == 1) != self.is_in_line())?;
                self.stands_last()
            }
            "YIELD" => {
                let ahead = self.ahead();
                broken(Wrong::FalseRefusal, ahead.is_empty() || had > 0)?;
                let longest = ahead.iter().map(|waiter| waiter.left).max().unwrap_or(0);
                broken(Wrong::FalseTime, self.number(2) < 0 || self.number(2) > longest)
            }
            _ => Err(Wrong::Reply),
        }
    }

    fn is_in_line(&self) -> bool {
        let mut waiters = self.after.waiters.iter();
        waiters.any(|one| one.owner == self.owner && one.left > 0)
    }

    /// Whoever comes takes the last place, and who has waited longest keeps the mark.
    fn stands_last(&self) -> Result<(), Wrong> {
        let place = |at: &Standing| at.waiters.iter().position(|one| one.owner == self.owner);
        let others = |at: &Standing, before: Option<usize>| -> Vec<Vec<u8>> {
            let before = at.waiters.iter().take(before.unwrap_or(at.waiters.len()));
            let before = before.filter(|waiter| waiter.left > 0);
            before.map(|waiter| waiter.owner.clone()).filter(|one| *one != self.owner).collect()
        };
        if self.setup.kind.is_fair() {
            let (was, is) = (place(self.before), place(self.after));
            let passed = others(self.before, was).len() > others(self.after, is).len();
            return broken(Wrong::Overtaken, is.is_some() && passed);
        }
        let Op::Acquire { waited, waits, .. } = self.op else { return Ok(()) };
        if self.is_semaphore() {
            return Ok(());
        }
        let since = self.now - waited;
        let older =
            self.before.waiters.iter().any(|one| one.owner != self.owner && one.since <= since);
        let mark_is_mine = self.after.waiters.iter().any(|one| one.owner == self.owner);
        broken(Wrong::Overtaken, waits && mark_is_mine == older)
    }
}
