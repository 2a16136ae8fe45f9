//! The model: what a lock of each kind does, in as few words as possible. Times are half steps.

mod line;
mod marked;
mod permits;

use lock_core::{Kind, Mode};

/// One owner's holds in one mode.
#[derive(Debug, Clone, Copy)]
struct Hold {
    owner: usize,
    mode: Mode,
    count: u32,
    until: u64,
}

/// One that waits: its mark, or its place in line.
#[derive(Debug, Clone, Copy)]
struct Waiter {
    owner: usize,
    mode: Mode,
    since: i64,
    until: u64,
}

#[derive(Debug, Clone)]
pub(crate) struct Lock {
    kind: Kind,
    now: u64,
    holds: Vec<Hold>,
    /// In order; of the kinds without a line, one.
    waiters: Vec<Waiter>,
    /// Of a semaphore that was made.
    permits: Option<i64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ask {
    pub(crate) mode: Mode,
    pub(crate) holds: u32,
    pub(crate) lease: u64,
    pub(crate) yields: bool,
    pub(crate) place: Option<u64>,
    pub(crate) waited: u64,
    pub(crate) permits: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Says {
    Granted { token: bool },
    Busy { remaining: Option<u64>, in_line: bool },
    Yield { remaining: u64 },
    Lost,
    NotSole,
    Freed,
    StillHeld,
    Gone,
    Done,
    Free(i64),
    TakenAway { was_held: bool, token: bool },
}

impl Lock {
    pub(crate) fn new(kind: Kind) -> Self {
        Self { kind, now: 0, holds: Vec::new(), waiters: Vec::new(), permits: None }
    }

    pub(crate) fn pass(&mut self, time: u64) {
        self.now += time;
        self.end_holds();
        if !self.kind.is_fair() {
            self.waiters.retain(|waiter| waiter.until > self.now);
        }
    }

    pub(crate) fn now(&self) -> u64 {
        self.now
    }

    /// Reads inside a write stand as long as the write does.
    fn end_holds(&mut self) {
        self.holds.retain(|hold| hold.mode == Mode::Read || hold.until > self.now);
        let writer = self.holds.iter().find(|hold| hold.mode == Mode::Write).map(|hold| hold.owner);
        self.holds.retain(|hold| hold.until > self.now || writer == Some(hold.owner));
    }

    fn hold(&mut self, owner: usize, mode: Mode) -> Option<&mut Hold> {
        self.holds.iter_mut().find(|hold| hold.owner == owner && hold.mode == mode)
    }

    pub(crate) fn count(&self, owner: usize, mode: Mode) -> u32 {
        let own = |hold: &&Hold| hold.owner == owner && hold.mode == mode;
        self.holds.iter().find(own).map_or(0, |hold| hold.count)
    }

    fn holds_any(&self, owner: usize) -> bool {
        self.holds.iter().any(|hold| hold.owner == owner)
    }

    /// The end of the last hold that shuts this one out.
    fn shut_out_until(&self, owner: usize, mode: Mode) -> Option<u64> {
        if self.count(owner, Mode::Write) > 0 {
            return None;
        }
        let both_read = |hold: &&Hold| hold.mode == Mode::Read && mode == Mode::Read;
        self.holds.iter().filter(|hold| !both_read(hold)).map(|hold| hold.until).max()
    }

    pub(crate) fn acquire(&mut self, owner: usize, ask: Ask) -> Says {
        if self.kind == Kind::Semaphore {
            return self.take_permit(owner, ask);
        }
        let shut_out = self.shut_out_until(owner, ask.mode);
        let continues = ask.holds > 1;
        if continues && (shut_out.is_some() || self.count(owner, ask.mode) + 1 < ask.holds) {
            return Says::Lost;
        }
        let first = !continues && !self.holds_any(owner);
        let refusal = match self.kind {
            Kind::Fair => self.refuse_out_of_turn(owner, ask, shut_out, first),
            Kind::FairReadWrite => self.refuse_before_others(owner, ask, shut_out, first),
            _ => self.refuse_unless_next(owner, ask, shut_out, first),
        };
        refusal.unwrap_or_else(|| self.grant(owner, ask))
    }

    fn grant(&mut self, owner: usize, ask: Ask) -> Says {
        self.waiters.retain(|waiter| waiter.owner != owner);
        let inside_write = self.count(owner, Mode::Write) > 0 && ask.mode == Mode::Read;
        self.extend(owner, ask.mode, ask.holds, self.now + ask.lease);
        if inside_write {
            // The write lasts at least as long as the read inside it.
            self.extend(owner, Mode::Write, 0, self.now + ask.lease);
        }
        if ask.mode == Mode::Write {
            self.carry_reads_along(owner);
        }
        Says::Granted { token: ask.holds == 1 && !inside_write }
    }

    /// At least so many holds, for at least so long.
    fn extend(&mut self, owner: usize, mode: Mode, count: u32, until: u64) {
        match self.hold(owner, mode) {
            Some(hold) => {
                hold.count = hold.count.max(count);
                hold.until = hold.until.max(until);
            }
            None => self.holds.push(Hold { owner, mode, count, until }),
        }
    }

    /// Reads inside a write that is extended last as long as it.
    fn carry_reads_along(&mut self, owner: usize) {
        let until = self.hold(owner, Mode::Write).map(|hold| hold.until);
        if let (Some(until), Some(reads)) = (until, self.hold(owner, Mode::Read)) {
            reads.until = until;
        }
    }

    pub(crate) fn release(&mut self, owner: usize, mode: Mode, holds: u32, waited: bool) -> Says {
        if waited {
            self.waiters.retain(|waiter| waiter.owner != owner);
        }
        let says = self.bring_down(owner, mode, holds);
        if self.kind == Kind::Fair && self.holds.is_empty() {
            self.pass_the_dead_by(None);
        }
        says
    }

    fn bring_down(&mut self, owner: usize, mode: Mode, holds: u32) -> Says {
        let held = self.count(owner, mode);
        let before = mode == Mode::Read && self.count(owner, Mode::Write) > 0;
        if (held == 0 && !before) || held < holds {
            return Says::Gone;
        }
        if held == holds {
            return Says::StillHeld;
        }
        if holds == 0 {
            self.holds.retain(|hold| !(hold.owner == owner && hold.mode == mode));
            self.end_holds();
        } else if let Some(hold) = self.hold(owner, mode) {
            hold.count = holds;
        }
        match self.kind {
            Kind::Semaphore => Says::Freed,
            _ if self.holds.is_empty() => Says::Freed,
            _ => Says::StillHeld,
        }
    }

    pub(crate) fn renew(&mut self, owner: usize, mode: Mode, lease: u64) -> Says {
        if self.count(owner, mode) == 0 {
            return Says::Lost;
        }
        self.extend(owner, mode, 0, self.now + lease);
        if mode == Mode::Write {
            self.carry_reads_along(owner);
        }
        Says::Done
    }

    pub(crate) fn upgrade(&mut self, owner: usize, reads: u32, writes: u32, lease: u64) -> Says {
        let (reading, writing) = (self.count(owner, Mode::Read), self.count(owner, Mode::Write));
        if writing < writes {
            if writing + 1 < writes || reading <= reads {
                return Says::Lost;
            }
            if self.holds.iter().any(|hold| hold.owner != owner) {
                return Says::NotSole;
            }
        }
        self.has(owner, reads, writes, lease);
        Says::Granted { token: true }
    }

    pub(crate) fn downgrade(&mut self, owner: usize, reads: u32, writes: u32, lease: u64) -> Says {
        let (reading, writing) = (self.count(owner, Mode::Read), self.count(owner, Mode::Write));
        if writing > writes {
            self.has(owner, reads, writes, lease);
        } else if writing == writes && reading >= reads {
            self.has(owner, reading, writing, lease);
        } else {
            return Says::Lost;
        }
        Says::Done
    }

    /// Exactly these holds, none of them for less than any was before.
    fn has(&mut self, owner: usize, reads: u32, writes: u32, lease: u64) {
        let own: Vec<_> = self.holds.extract_if(.., |hold| hold.owner == owner).collect();
        let before = own.iter().map(|hold| hold.until).max();
        let until = before.unwrap_or(0).max(self.now + lease);
        for (mode, count) in [(Mode::Read, reads), (Mode::Write, writes)] {
            if count > 0 {
                self.holds.push(Hold { owner, mode, count, until });
            }
        }
    }

    pub(crate) fn take_away(&mut self) -> Says {
        let was_held = !self.holds.is_empty();
        self.holds.clear();
        // A semaphore that nobody has made is none.
        Says::TakenAway { was_held, token: self.permits.is_none() }
    }

    /// Everybody's reads, writes and time left.
    pub(crate) fn holders(&self) -> Vec<(usize, u32, u32, u64)> {
        let mut owners: Vec<_> = self.holds.iter().map(|hold| hold.owner).collect();
        owners.sort_unstable();
        owners.dedup();
        let left = |owner| {
            let own = self.holds.iter().filter(|hold| hold.owner == owner);
            own.map(|hold| hold.until).max().unwrap_or(0) - self.now
        };
        let counts = |owner| (self.count(owner, Mode::Read), self.count(owner, Mode::Write));
        owners
            .into_iter()
            .map(|owner| (owner, counts(owner).0, counts(owner).1, left(owner)))
            .collect()
    }

    pub(crate) fn waiters(&self) -> Vec<(usize, Mode)> {
        let live = self.waiters.iter().filter(|waiter| waiter.until > self.now);
        live.map(|waiter| (waiter.owner, waiter.mode)).collect()
    }

    pub(crate) fn waits(&self, owner: usize) -> bool {
        self.waiters().iter().any(|(waiter, _)| *waiter == owner)
    }
}
