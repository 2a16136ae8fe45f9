//! The holders of one key's lock: its readers and its writer, and until when they hold it.

use std::collections::HashMap;

use super::rules::{NewEnd, StepContext};
use crate::{
    command::{AcquireCommand, ConvertCommand, Holds, ReleaseCommand, TransferCommand},
    outcome::{Downgraded, Released, Renewal, Transferred, Upgraded},
    runtime::LeaseInstant,
    snapshot::{HolderSnapshot, LockSnapshot},
    types::{Mode, OwnerId},
};

#[derive(Debug, Clone, Copy)]
struct Reads {
    holds: u32,
    until: LeaseInstant,
}

#[derive(Debug)]
struct Writes {
    owner: OwnerId,
    holds: u32,
    until: LeaseInstant,
}

/// Any number of readers or one writer; a lock without readers is written alone.
#[derive(Debug, Default)]
pub(crate) struct Holders {
    reads: HashMap<OwnerId, Reads>,
    writes: Option<Writes>,
}

/// Whether the holders admit a command. Waiters are checked elsewhere.
pub(crate) enum HolderCheck {
    /// No other holder is in the way. A fresh hold is its owner's first on this key, and is ordered
    /// behind the waiters.
    Free {
        fresh: bool,
    },
    Held {
        until: LeaseInstant,
    },
    /// The owner's earlier holds are gone.
    Lost,
}

impl Holders {
    /// Removes expired holds.
    pub(crate) fn expire(&mut self, now: LeaseInstant) {
        self.writes.take_if(|writes| writes.until <= now);
        // Inside a write nothing depends on the reads: they end with it or outlive it, according to
        // their own leases.
        let writer = self.writes.as_ref().map(|writes| &writes.owner);
        self.reads.retain(|owner, reads| reads.until > now || writer == Some(owner));
    }

    pub(crate) fn is_free(&self) -> bool {
        self.reads.is_empty() && self.writes.is_none()
    }

    pub(crate) fn mode(&self) -> Option<Mode> {
        match (&self.writes, self.reads.is_empty()) {
            (Some(_), _) => Some(Mode::Write),
            (None, false) => Some(Mode::Read),
            (None, true) => None,
        }
    }

    pub(crate) fn holds(&self, owner: &OwnerId) -> Holds {
        let writes = self.writes.as_ref().filter(|writes| writes.owner == *owner);
        Holds {
            read: self.reads.get(owner).map_or(0, |reads| reads.holds),
            write: writes.map_or(0, |writes| writes.holds),
        }
    }

    /// When the last hold expires unless renewed; `None` when the lock is free.
    pub(crate) fn until(&self) -> Option<LeaseInstant> {
        let writes = self.writes.iter().map(|writes| writes.until);
        self.reads.values().map(|reads| reads.until).chain(writes).max()
    }

    pub(crate) fn check(&self, command: &AcquireCommand) -> HolderCheck {
        let held = self.holds(&command.owner);
        let in_the_way = match command.mode {
            _ if held.write > 0 => None,
            Mode::Read => self.writes.as_ref().map(|writes| writes.until),
            Mode::Write => self.until(),
        };
        match in_the_way {
            Some(until) if command.holds == 1 => HolderCheck::Held { until },
            None if held.of(command.mode) + 1 >= command.holds => {
                HolderCheck::Free { fresh: command.holds == 1 && held.none() }
            }
            _ => HolderCheck::Lost,
        }
    }

    /// Grants an acquisition that no other holder excludes; returns whether a token is due.
    pub(crate) fn grant(&mut self, command: &AcquireCommand, now: LeaseInstant) -> bool {
        let owner = &command.owner;
        let until = now.after(command.lease);
        let first = command.holds == 1;
        match command.mode {
            Mode::Read => {
                let reads = self.reads.entry(owner.clone()).or_insert(Reads { holds: 0, until });
                reads.holds = reads.holds.max(command.holds);
                reads.until = reads.until.max(until);
                if let Some(writes) = &mut self.writes {
                    writes.until = writes.until.max(until);
                }
                first && self.writes.is_none()
            }
            Mode::Write => {
                let own = || Writes { owner: owner.clone(), holds: 0, until };
                let writes = self.writes.get_or_insert_with(own);
                writes.holds = writes.holds.max(command.holds);
                writes.until = writes.until.max(until);
                // Reads inside the write must not end before it.
                if let Some(reads) = self.reads.get_mut(owner) {
                    reads.until = reads.until.max(writes.until);
                }
                first
            }
        }
    }

    /// Also returns whether others that were excluded may enter now.
    pub(crate) fn release(
        &mut self,
        command: &ReleaseCommand,
        now: LeaseInstant,
    ) -> (Released, bool) {
        let owner = &command.holder.owner;
        let all = self.holds(owner);
        let held = all.of(command.mode);
        // Reads inside a write that were released before count as released.
        let none_left = if command.mode == Mode::Read { all.none() } else { held == 0 };
        if none_left || held < command.holds {
            return (Released::Gone, false);
        }
        if held == command.holds {
            return (Released::StillHeld, false);
        }
        match command.mode {
            Mode::Read if command.holds == 0 => drop(self.reads.remove(owner)),
            Mode::Read => {
                if let Some(reads) = self.reads.get_mut(owner) {
                    reads.holds = command.holds;
                }
            }
            Mode::Write if command.holds == 0 => {
                self.writes = None;
                self.expire(now);
            }
            Mode::Write => {
                if let Some(writes) = &mut self.writes {
                    writes.holds = command.holds;
                }
            }
        }
        let freed = self.is_free();
        let downgraded = command.mode == Mode::Write && command.holds == 0;
        (if freed { Released::Freed } else { Released::StillHeld }, freed || downgraded)
    }

    pub(crate) fn renew(&mut self, owner: &OwnerId, mode: Mode, end: NewEnd) -> Renewal {
        if self.holds(owner).of(mode) == 0 {
            return Renewal::Lost;
        }
        let mut end = end;
        if let Some(writes) = &mut self.writes {
            writes.until = end.after(writes.until);
            // Reads inside the write must not end before it.
            end.at = writes.until;
        }
        if let Some(reads) = self.reads.get_mut(owner) {
            reads.until = end.after(reads.until);
        }
        Renewal::Renewed
    }

    pub(crate) fn upgrade(
        &mut self,
        command: &ConvertCommand,
        context: &mut StepContext<'_>,
    ) -> Upgraded {
        let owner = &command.holder.owner;
        let held = self.holds(owner);
        if held.write < command.after.write {
            if held.write + 1 < command.after.write || held.read <= command.after.read {
                return Upgraded::Lost;
            }
            if held.write == 0 && self.reads.keys().any(|other| other != owner) {
                return Upgraded::NotSole;
            }
        }
        self.convert(owner, command.after, context.now.after(command.lease));
        Upgraded::Granted(context.token())
    }

    /// Also returns whether readers that were excluded may enter now.
    pub(crate) fn downgrade(
        &mut self,
        command: &ConvertCommand,
        now: LeaseInstant,
    ) -> (Downgraded, bool) {
        let owner = &command.holder.owner;
        let held = self.holds(owner);
        if held.write <= command.after.write {
            let kept = held.write == command.after.write && held.read >= command.after.read;
            if !kept {
                return (Downgraded::Lost, false);
            }
            // The caller relies on a whole lease from here on.
            self.convert(owner, held, now.after(command.lease));
            return (Downgraded::Done, false);
        }
        self.convert(owner, command.after, now.after(command.lease));
        (Downgraded::Done, command.after.write == 0)
    }

    /// Passes an owner's only hold on to another owner.
    pub(crate) fn transfer(&mut self, command: &TransferCommand) -> Transferred {
        let (owner, to) = (&command.holder.owner, &command.to);
        let mut once = Holds::default();
        *once.of_mut(command.mode) = 1;
        if self.holds(to) == once {
            return Transferred::Done;
        }
        if self.holds(owner) != once {
            return Transferred::Gone;
        }
        if let Some(reads) = self.reads.remove(owner) {
            self.reads.insert(to.clone(), reads);
        }
        if let Some(writes) = self.writes.as_mut().filter(|writes| writes.owner == *owner) {
            writes.owner = to.clone();
        }
        Transferred::Done
    }

    /// Gives an owner exactly these holds, for as long as it had them or until `until`.
    fn convert(&mut self, owner: &OwnerId, after: Holds, until: LeaseInstant) {
        let reads = self.reads.remove(owner).map(|reads| reads.until);
        let writes = self.writes.take().map(|writes| writes.until);
        let until = [Some(until), reads, writes].into_iter().flatten().max().unwrap_or(until);
        if after.read > 0 {
            self.reads.insert(owner.clone(), Reads { holds: after.read, until });
        }
        if after.write > 0 {
            let (owner, holds) = (owner.clone(), after.write);
            self.writes = Some(Writes { owner, holds, until });
        }
    }

    /// Each owner once, whatever it holds.
    pub(crate) fn snapshot(&self, now: LeaseInstant) -> LockSnapshot {
        let writer = self.writes.as_ref().map(|writes| (&writes.owner, writes.until));
        let readers = self.reads.iter().map(|(owner, reads)| (owner, reads.until));
        let readers =
            readers.filter(|(owner, _)| writer.is_none_or(|(writer, _)| writer != *owner));
        let holder = |(owner, until): (&OwnerId, LeaseInstant)| {
            HolderSnapshot::new(owner.to_string(), self.holds(owner), Some(now.until(until)))
        };
        let mut holders: Vec<_> = writer.into_iter().chain(readers).map(holder).collect();
        holders.sort_by(|one, other| one.owner.cmp(&other.owner));
        LockSnapshot {
            mode: self.mode(),
            holders,
            remaining: self.until().map(|until| now.until(until)),
            ..LockSnapshot::default()
        }
    }
}
