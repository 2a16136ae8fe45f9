//! One key's lock: who reads, who writes, until when. Pure but for the moment it is given.

use std::{collections::HashMap, time::Duration};

use crate::{
    Mode,
    backend::{AcquireStep, Acquired, ConvertStep, Downgraded, Holds, Released, Renewal, Upgraded},
    clock::Moment,
};

#[derive(Debug, Clone, Copy)]
struct Reads {
    holds: u32,
    until: Moment,
}

#[derive(Debug)]
struct Writes {
    owner: String,
    holds: u32,
    until: Moment,
}

#[derive(Debug)]
struct Mark {
    waited: Duration,
    left_at: Moment,
    mode: Mode,
    owner: String,
    until: Moment,
}

#[derive(Debug, Default)]
pub(super) struct LockState {
    reads: HashMap<String, Reads>,
    writes: Option<Writes>,
    mark: Option<Mark>,
}

impl Mark {
    /// Who has waited for less stands back: a reader behind a writer, a writer behind anybody.
    fn is_ahead_of(&self, step: &AcquireStep<'_>, now: Moment) -> bool {
        self.owner != step.owner.as_str()
            && (self.mode == Mode::Write || step.mode == Mode::Write)
            && self.has_waited(now) >= step.waited
    }

    fn has_waited(&self, now: Moment) -> Duration {
        self.waited + now.since(self.left_at)
    }
}

/// A step's answer, and whether waiters have something new to try.
pub(super) struct Outcome<T> {
    pub(super) answer: T,
    pub(super) wakes: bool,
}

fn quietly<T>(answer: T) -> Outcome<T> {
    Outcome { answer, wakes: false }
}

impl LockState {
    /// Forgets everything whose time is over.
    pub(super) fn expire(&mut self, now: Moment) {
        if self.writes.as_ref().is_some_and(|writes| writes.until <= now) {
            // Reads inside a write end with it or outlive it, as their own time says.
            self.writes = None;
        }
        self.reads.retain(|_, reads| reads.until > now);
        if self.mark.as_ref().is_some_and(|mark| mark.until <= now) {
            self.mark = None;
        }
    }

    pub(super) fn is_free(&self) -> bool {
        self.reads.is_empty() && self.writes.is_none() && self.mark.is_none()
    }

    pub(super) fn mode(&self) -> Option<Mode> {
        match (&self.writes, self.reads.is_empty()) {
            (Some(_), _) => Some(Mode::Write),
            (None, false) => Some(Mode::Read),
            (None, true) => None,
        }
    }

    pub(super) fn readers(&self) -> usize {
        self.reads.len()
    }

    pub(super) fn holds(&self, owner: &str) -> Holds {
        Holds {
            read: self.reads.get(owner).map_or(0, |reads| reads.holds),
            write: self
                .writes
                .as_ref()
                .filter(|writes| writes.owner == owner)
                .map_or(0, |writes| writes.holds),
        }
    }

    fn others_read_until(&self, owner: &str) -> Option<Moment> {
        let others = self.reads.iter().filter(|(other, _)| *other != owner);
        others.map(|(_, reads)| reads.until).max()
    }

    /// A grant's token comes from `token`, which is asked for outermost grants alone.
    pub(super) fn acquire(
        &mut self,
        step: &AcquireStep<'_>,
        now: Moment,
        token: impl FnOnce() -> crate::FencingToken,
    ) -> Acquired {
        let owner = step.owner.as_str();
        let held = self.holds(owner);
        if held.of(step.mode) + 1 < step.holds {
            return Acquired::Lost;
        }
        let blocked_until = match step.mode {
            _ if held.write > 0 => None,
            Mode::Read => self.writes.as_ref().map(|writes| writes.until),
            Mode::Write => {
                let reads = self.reads.values().map(|reads| reads.until);
                reads.chain(self.writes.as_ref().map(|writes| writes.until)).max()
            }
        };
        if let Some(until) = blocked_until {
            if step.holds > 1 {
                return Acquired::Lost;
            }
            let marked = step.mark.is_some_and(|life| self.leave_mark(step, now, life));
            return Acquired::Busy { remaining: Some(now.until(until)), marked };
        }
        let outermost = step.holds == 1 && held.none();
        if outermost
            && step.yields
            && let Some(mark) = self.mark.as_ref().filter(|mark| mark.is_ahead_of(step, now))
        {
            return Acquired::Yield { remaining: now.until(mark.until) };
        }
        self.lift_mark(owner);
        let until = now.after(step.lease);
        match step.mode {
            Mode::Read => {
                let reads = self.reads.entry(owner.to_owned()).or_insert(Reads { holds: 0, until });
                reads.holds = reads.holds.max(step.holds);
                reads.until = reads.until.max(until);
                if let Some(writes) = &mut self.writes {
                    writes.until = writes.until.max(until);
                }
                Acquired::Granted((step.holds == 1 && held.write == 0).then(token))
            }
            Mode::Write => {
                let writes =
                    self.writes.get_or_insert(Writes { owner: owner.to_owned(), holds: 0, until });
                writes.holds = writes.holds.max(step.holds);
                writes.until = writes.until.max(until);
                // Reads inside the write must not end before it.
                if let Some(reads) = self.reads.get_mut(owner) {
                    reads.until = reads.until.max(until);
                }
                Acquired::Granted((step.holds == 1).then(token))
            }
        }
    }

    /// Makes this waiter the next one, unless another has waited for longer.
    fn leave_mark(&mut self, step: &AcquireStep<'_>, now: Moment, life: Duration) -> bool {
        let owner = step.owner.as_str();
        let longer = |mark: &Mark| mark.has_waited(now) >= step.waited;
        if self.mark.as_ref().is_some_and(|mark| mark.owner != owner && longer(mark)) {
            return false;
        }
        self.mark = Some(Mark {
            waited: step.waited,
            left_at: now,
            mode: step.mode,
            owner: owner.to_owned(),
            until: now.after(life),
        });
        true
    }

    fn lift_mark(&mut self, owner: &str) -> bool {
        self.mark.take_if(|mark| mark.owner == owner).is_some()
    }

    pub(super) fn release(
        &mut self,
        owner: &str,
        mode: Mode,
        holds: u32,
        marked: bool,
    ) -> Outcome<Released> {
        let unmarked = marked && self.lift_mark(owner);
        let held = self.holds(owner).of(mode);
        if held == 0 && holds == 0 && !self.holds(owner).none() {
            // Released before; the owner's other holds stand.
            return Outcome { answer: Released::StillHeld, wakes: unmarked };
        }
        if held == 0 || held < holds {
            return Outcome { answer: Released::Gone, wakes: unmarked };
        }
        match mode {
            Mode::Read if holds == 0 => drop(self.reads.remove(owner)),
            Mode::Read => {
                if let Some(reads) = self.reads.get_mut(owner) {
                    reads.holds = holds;
                }
            }
            Mode::Write if holds == 0 => self.writes = None,
            Mode::Write => {
                if let Some(writes) = &mut self.writes {
                    writes.holds = holds;
                }
            }
        }
        let freed = self.mode().is_none();
        let downgraded = mode == Mode::Write && holds == 0;
        Outcome {
            answer: if freed { Released::Freed } else { Released::StillHeld },
            wakes: unmarked || freed || downgraded,
        }
    }

    pub(super) fn renew(&mut self, owner: &str, mode: Mode, until: Moment) -> Renewal {
        if self.holds(owner).of(mode) == 0 {
            return Renewal::Lost;
        }
        if let Some(reads) = self.reads.get_mut(owner) {
            reads.until = reads.until.max(until);
        }
        if let Some(writes) = &mut self.writes {
            writes.until = writes.until.max(until);
        }
        Renewal::Renewed
    }

    pub(super) fn upgrade(
        &mut self,
        step: &ConvertStep<'_>,
        now: Moment,
        token: impl FnOnce() -> crate::FencingToken,
    ) -> Upgraded {
        let owner = step.holder.owner.as_str();
        let held = self.holds(owner);
        if held.write < step.after.write {
            if held.write + 1 < step.after.write || held.read <= step.after.read {
                return Upgraded::Lost;
            }
            if held.write == 0 && self.others_read_until(owner).is_some() {
                return Upgraded::NotSole;
            }
        }
        self.convert(owner, step.after, now.after(step.lease));
        Upgraded::Granted(token())
    }

    pub(super) fn downgrade(&mut self, step: &ConvertStep<'_>, now: Moment) -> Outcome<Downgraded> {
        let owner = step.holder.owner.as_str();
        let held = self.holds(owner);
        if held.write <= step.after.write {
            let kept = held.write == step.after.write && held.read >= step.after.read;
            if !kept {
                return quietly(Downgraded::Lost);
            }
            // The caller believes in a whole lease from here on.
            self.convert(owner, held, now.after(step.lease));
            return quietly(Downgraded::Done);
        }
        self.convert(owner, step.after, now.after(step.lease));
        Outcome { answer: Downgraded::Done, wakes: step.after.write == 0 }
    }

    /// Gives an owner exactly these holds, for as long as it had them or until `until`.
    fn convert(&mut self, owner: &str, after: Holds, until: Moment) {
        let until = [
            Some(until),
            self.reads.get(owner).map(|reads| reads.until),
            self.writes.as_ref().map(|writes| writes.until),
        ];
        let Some(until) = until.into_iter().flatten().max() else {
            return;
        };
        self.reads.remove(owner);
        if after.read > 0 {
            self.reads.insert(owner.to_owned(), Reads { holds: after.read, until });
        }
        self.writes = (after.write > 0).then(|| Writes {
            owner: owner.to_owned(),
            holds: after.write,
            until,
        });
    }
}
