//! What an acquisition may do and say.

use lock_core::{Kind, Mode};

use super::{
    contents::{Held, LockContents, Waiter},
    op::Op,
    reported::{is_passed_on, is_reserved},
    rules::{Step, broken},
    setup::RESERVED_MS,
    wrong::Wrong,
};

impl Step<'_> {
    /// Whether another owner, that holds or is ahead, is in the way; and the longest time that one of
    /// them has left.
    fn in_the_way(&self, mode: Mode) -> (bool, i64) {
        let holders: Vec<&Held> = self.before.others(self.owner).collect();
        let ahead = self.ahead();
        let places = ahead.iter().map(|waiter| waiter.left).max();
        if self.setup.kind == Kind::Semaphore {
            let next_end = holders.iter().map(|held| held.left).min();
            let left = next_end.into_iter().chain(places).max().unwrap_or(0);
            return (holders.len() + ahead.len() >= self.setup.most_holders(), left);
        }
        let blocking = holders.iter().filter(|held| mode == Mode::Write || held.writes > 0);
        let left =
            blocking.map(|held| if mode == Mode::Read { held.left } else { held.time_left() });
        let left = left.max();
        if !self.setup.kind.is_fair() {
            let reserved = self.before.lets_in(Mode::Write) && places.is_some();
            return (left.is_some() || reserved, left.or(places).unwrap_or(0));
        }
        // Each polls for the place before its own, which need not be the blocking one.
        let waiters = self.before.waiters.iter().filter(|waiter| waiter.owner != self.owner);
        let longest = waiters.map(|waiter| waiter.left).chain(left).max().unwrap_or(0);
        (left.is_some() || !ahead.is_empty(), longest)
    }

    /// How much later than the waiter behind the first this one tries when that does not come: on the native
    /// wire 50 ms for each that is between.
    fn behind_the_next(&self) -> i64 {
        if !self.setup.is_native() || self.is_semaphore() {
            return 0;
        }
        let mut line =
            self.before.waiters.iter().filter(|one| one.left > 0 || one.owner == self.owner);
        let all = line.clone().count();
        let place = line.position(|one| one.owner == self.owner).unwrap_or(all);
        RESERVED_MS * i64::try_from(place.saturating_sub(1)).unwrap_or_default()
    }

    /// The waiters before this one that must not be overtaken, as they were.
    pub(super) fn ahead(&self) -> Vec<&Waiter> {
        let (mode, waited) = match self.op {
            Op::Acquire { mode, waited, .. } => (mode, waited),
            Op::TryFree { mode, .. } => (mode, 0),
            _ => return Vec::new(),
        };
        let must_wait = |waiter: &&Waiter| match self.setup.kind {
            Kind::FairReadWrite | Kind::ReadWrite => {
                mode == Mode::Write || waiter.mode == Mode::Write
            }
            _ => true,
        };
        let waiters = self.before.waiters.iter();
        if self.keeps_a_line() || self.before.waits(self.owner) {
            let before = waiters.take_while(|waiter| waiter.owner != self.owner);
            return before.filter(|waiter| waiter.left > 0).filter(must_wait).collect();
        }
        let longer = |waiter: &&Waiter| waiter.since <= self.now - waited;
        waiters.filter(|waiter| waiter.left > 0).filter(must_wait).filter(longer).collect()
    }

    /// Whether waiters are in the order of their arrival, not by how long they have waited.
    fn keeps_a_line(&self) -> bool {
        self.setup.kind.is_fair() || (self.setup.is_native() && !self.is_semaphore())
    }

    /// Whether its place is left. On the native wire one that was over may stay where the key was
    /// gone: it counts for nothing.
    pub(super) fn still_waits(&self, mode: Mode) -> bool {
        let mut waits = self.after.waiters.iter();
        waits.any(|one| {
            let counts = one.left > 0 || !self.setup.is_native();
            one.owner == self.owner && one.mode == mode && counts
        })
    }

    /// Whether others read: then a reader passes a writer that waits, unless it yields.
    fn is_read(&self) -> bool {
        self.before.lets_in(Mode::Read) && !self.before.lets_in(Mode::Write)
    }

    pub(super) fn acquired(&self) -> Result<(), Wrong> {
        let Op::Acquire { mode, holds, yields, .. } = self.op else { return Ok(()) };
        let had = self.mine(self.before, mode);
        let inside = self.before.by(self.owner).is_some_and(|held| held.writes > 0);
        let (blocked, longest) = self.in_the_way(mode);
        let plain = !self.setup.kind.is_fair() && !self.is_semaphore();
        let passes = plain && self.is_read() && !yields;
        match self.status() {
            "GRANTED" => {
                broken(Wrong::FalseGrant, self.mine(self.after, mode) < holds || had + 1 < holds)?;
                let enters = had == 0 && !inside;
                let overtakes = match self.setup.kind {
                    Kind::Semaphore => blocked,
                    _ => !self.ahead().is_empty() && !passes,
                };
                broken(Wrong::Overtaken, enters && overtakes)?;
                broken(Wrong::StillWaits, enters && self.still_waits(mode))?;
                let outermost = holds == 1 && (mode == Mode::Write || !inside);
                self.has_token(self.setup.has_tokens() && outermost)
            }
            "LOST" => broken(Wrong::FalseLoss, holds == 1 || (had > 0 && had + 1 >= holds)),
            "BUSY" => {
                let holds = self.before.by(self.owner).is_some_and(Held::lives);
                broken(Wrong::FalseRefusal, (!blocked && !holds) || had > 0)?;
                let (reported, longest) = (self.number(2), longest.max(1) + self.behind_the_next());
                broken(Wrong::FalseTime, reported < 0 || (reported > longest && !holds))?;
                self.takes_a_place()?;
                self.passes_on()
            }
            "YIELD" => {
                let ahead = self.ahead();
                let may = self.is_read() && yields && !ahead.is_empty();
                broken(Wrong::FalseRefusal, !may || had > 0)?;
                let longest = ahead.iter().map(|waiter| waiter.left).max().unwrap_or(0);
                let longest = longest + self.behind_the_next();
                broken(Wrong::FalseTime, self.number(2) < 0 || self.number(2) > longest)?;
                self.takes_a_place()
            }
            _ => Err(Wrong::Reply),
        }
    }

    /// A caller that is refused, and waits, stands in line, behind those that stood there.
    fn takes_a_place(&self) -> Result<(), Wrong> {
        let own = self.after.waiters.iter().find(|one| one.owner == self.owner && one.left > 0);
        broken(Wrong::Reply, (self.number(3) == 1) != own.is_some())?;
        let Op::Acquire { waited, waits, .. } = self.op else { return Ok(()) };
        if self.setup.is_native() {
            broken(Wrong::Overtaken, waits != own.is_some())?;
        }
        let place = |at: &LockContents| at.waiters.iter().position(|one| one.owner == self.owner);
        let others = |at: &LockContents, before: Option<usize>| -> Vec<Vec<u8>> {
            let before = at.waiters.iter().take(before.unwrap_or(at.waiters.len()));
            let before = before.filter(|waiter| waiter.left > 0);
            before.map(|waiter| waiter.owner.clone()).filter(|one| *one != self.owner).collect()
        };
        let (was, is) = (place(self.before), place(self.after));
        let before_it = others(self.after, is);
        if self.keeps_a_line() {
            let passed = others(self.before, was).len() > before_it.len();
            return broken(Wrong::Overtaken, is.is_some() && passed);
        }
        broken(Wrong::Overtaken, waits != own.is_some())?;
        let passed = self.ahead().iter().any(|one| !before_it.contains(&one.owner));
        broken(Wrong::Overtaken, own.is_some() && passed)?;
        let before = self.before.waiters.iter().find(|one| one.owner == self.owner);
        let since = before.map_or(self.now - waited, |before| before.since);
        // A millisecond later for each that has waited as long.
        let ties = if before.is_some() { 0 } else { self.before.waiters.len() };
        let latest = since + i64::try_from(ties).unwrap_or_default();
        let is_other = own.is_some_and(|own| !(since..=latest).contains(&own.since));
        broken(Wrong::Overtaken, is_other)
    }

    /// A caller that finds a free lock and is not next has it reserved for those that are.
    fn passes_on(&self) -> Result<(), Wrong> {
        let is_free = self.before.lets_in(Mode::Write);
        if self.setup.kind.is_fair() || self.is_semaphore() || !is_free || self.ahead().is_empty() {
            return Ok(());
        }
        let was = is_reserved(self.setup, self.before);
        broken(Wrong::NotTold, !was && !is_passed_on(self.setup, self.after, self.reported))
    }
}
