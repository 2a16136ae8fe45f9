//! From a history to steps with what the model expects of each, so that stores can be asked without
//! asking the model.

use lock_core::{Kind, Mode};

use crate::{
    history::{Action, Event, History, OWNERS},
    rules::{Ask, Lock, Says},
};

#[derive(Debug, Clone, Copy)]
pub(crate) enum Do {
    Acquire(Ask),
    Release { mode: Mode, holds: u32, in_line: bool },
    Renew { mode: Mode, lease: u64 },
    Upgrade { reads: u32, writes: u32, lease: u64 },
    Downgrade { reads: u32, writes: u32, lease: u64 },
    SetPermits { permits: u32, only_missing: bool },
    TakeAway,
}

/// One step, what the model says to it, and how the lock stands after it.
#[derive(Debug, Clone)]
pub(crate) struct Planned {
    pub(crate) at: u64,
    pub(crate) owner: usize,
    pub(crate) step: Do,
    pub(crate) says: Says,
    pub(crate) after: Lock,
    /// Who waits, could not enter before and can now: they must be told.
    pub(crate) told: Vec<usize>,
}

#[derive(Debug, Clone)]
pub(crate) struct Plan {
    pub(crate) kind: Kind,
    pub(crate) owners: usize,
    pub(crate) steps: Vec<Planned>,
}

/// What one that takes steps believes.
#[derive(Debug, Clone, Default)]
struct Player {
    owner: usize,
    reads: u32,
    writes: u32,
    waiting: Option<Ask>,
    last: Option<Do>,
    /// Every outermost hold has an owner of its own.
    is_over: bool,
}

struct Stage<'a> {
    history: &'a History,
    lock: Lock,
    players: Vec<Player>,
    owners: usize,
    steps: Vec<Planned>,
}

pub(crate) fn plan(history: &History) -> Plan {
    let players = (0..OWNERS).map(|owner| Player { owner, ..Player::default() }).collect();
    let lock = Lock::new(history.kind);
    let mut stage = Stage { history, lock, players, owners: OWNERS, steps: Vec::new() };
    for Event { after, who, action } in &history.events {
        stage.lock.pass(*after);
        if let Some(step) = stage.step(*who, *action) {
            stage.take(*who, step);
        }
    }
    Plan { kind: history.kind, owners: stage.owners, steps: stage.steps }
}

impl Stage<'_> {
    fn renew_player(&mut self, who: usize) {
        self.players[who] = Player { owner: self.owners, ..Player::default() };
        self.owners += 1;
    }

    /// Far enough apart that no two stores can disagree about who has waited for longer.
    fn waited(&self, owner: usize) -> u64 {
        let seniority = (owner as u64 * 13 + self.history.seniority) % 97;
        self.lock.now() + 10 * seniority
    }

    fn step(&mut self, who: usize, action: Action) -> Option<Do> {
        let stale = matches!(action, Action::Ask { .. })
            && (self.players[who].is_over || self.missed_its_turn(who));
        if stale || matches!(action, Action::Crash) {
            self.renew_player(who);
        }
        let has_readers = self.history.kind.has_readers();
        let Player { owner, reads, writes, waiting, last, .. } = self.players[who].clone();
        let held = |mode| if mode == Mode::Read { reads } else { writes };
        Some(match action {
            Action::Crash => return None,
            Action::Ask { mode, lease, yields, place } => {
                let mode = if has_readers { mode } else { Mode::Write };
                let (mode, holds, place) = match (reads + writes, waiting) {
                    (0, Some(ask)) => (ask.mode, 1, ask.place),
                    (0, None) => (mode, 1, place),
                    _ if self.history.kind == Kind::Semaphore => return None,
                    // A reader that asks for a write is refused before a store is asked.
                    _ if writes == 0 => (Mode::Read, reads + 1, None),
                    _ => (mode, held(mode) + 1, None),
                };
                let (waited, permits) = (self.waited(owner), self.history.permits);
                let yields = yields && holds == 1;
                Do::Acquire(Ask { mode, holds, lease, yields, place, waited, permits })
            }
            Action::Again => match last? {
                Do::Acquire(_) if self.missed_its_turn(who) => return None,
                Do::Acquire(ask) => Do::Acquire(Ask { waited: self.waited(owner), ..ask }),
                step => step,
            },
            Action::Release { mode } => match (reads + writes, waiting) {
                (0, Some(ask)) => Do::Release { mode: ask.mode, holds: 0, in_line: true },
                (0, None) => {
                    // Late, or of what was never held.
                    let mode = if has_readers { mode } else { Mode::Write };
                    Do::Release { mode, holds: 0, in_line: false }
                }
                _ => {
                    let other = if mode == Mode::Read { Mode::Write } else { Mode::Read };
                    let mode = if held(mode) > 0 { mode } else { other };
                    Do::Release { mode, holds: held(mode) - 1, in_line: false }
                }
            },
            Action::Renew { lease } if reads + writes > 0 => {
                let mode = if writes > 0 { Mode::Write } else { Mode::Read };
                Do::Renew { mode, lease }
            }
            Action::Convert { up: true, lease } if reads > 0 => {
                Do::Upgrade { reads: reads - 1, writes: writes + 1, lease }
            }
            Action::Convert { lease, .. } if writes > 0 => {
                Do::Downgrade { reads: reads + 1, writes: writes - 1, lease }
            }
            Action::Renew { .. } | Action::Convert { .. } => return None,
            Action::SetPermits { permits, only_missing } => {
                Do::SetPermits { permits, only_missing }
            }
            Action::TakeAway => Do::TakeAway,
        })
    }

    /// Whether it comes back to a line from which others may have taken it, or not, without a
    /// difference to anybody.
    fn missed_its_turn(&self, who: usize) -> bool {
        let player = &self.players[who];
        let stood = player.waiting.is_some_and(|ask| ask.place.is_some());
        self.history.kind.is_fair() && stood && !self.lock.waits(player.owner)
    }

    fn take(&mut self, who: usize, step: Do) {
        let owner = self.players[who].owner;
        let asleep = self.those_who_cannot_enter();
        let says = match step {
            Do::Acquire(ask) => self.lock.acquire(owner, ask),
            Do::Release { mode, holds, in_line } => self.lock.release(owner, mode, holds, in_line),
            Do::Renew { mode, lease } => self.lock.renew(owner, mode, lease),
            Do::Upgrade { reads, writes, lease } => self.lock.upgrade(owner, reads, writes, lease),
            Do::Downgrade { reads, writes, lease } => {
                self.lock.downgrade(owner, reads, writes, lease)
            }
            Do::SetPermits { permits, only_missing } => {
                self.lock.set_permits(permits, only_missing)
            }
            Do::TakeAway => self.lock.take_away(),
        };
        self.players[who].heard(step, says);
        let still = self.those_who_cannot_enter();
        let waiting = |owner: &usize| {
            self.players.iter().any(|player| player.owner == *owner && player.waiting.is_some())
        };
        let told = asleep.into_iter().filter(|owner| waiting(owner) && !still.contains(owner));
        let (at, told, after) = (self.lock.now(), told.collect(), self.lock.clone());
        self.steps.push(Planned { at, owner, step, says, after, told });
    }

    fn those_who_cannot_enter(&self) -> Vec<usize> {
        let waiting =
            self.players.iter().filter_map(|player| Some((player.owner, player.waiting?)));
        // Who has lost its place in line is told nothing.
        let waiting =
            waiting.filter(|(owner, _)| !self.history.kind.is_fair() || self.lock.waits(*owner));
        let refused = waiting.filter(|(owner, ask)| {
            let ask = Ask { waited: self.waited(*owner), place: None, ..*ask };
            !matches!(self.lock.clone().acquire(*owner, ask), Says::Granted { .. })
        });
        refused.map(|(owner, _)| owner).collect()
    }
}

impl Player {
    fn heard(&mut self, step: Do, says: Says) {
        self.last = Some(step);
        match (step, says) {
            (Do::Acquire(ask), Says::Granted { .. }) => {
                let count = if ask.mode == Mode::Read { &mut self.reads } else { &mut self.writes };
                *count = ask.holds.max(*count);
                self.waiting = None;
            }
            (Do::Acquire(ask), Says::Busy { .. } | Says::Yield { .. }) => {
                // What it had when it asked before has lapsed.
                (self.reads, self.writes) = (0, 0);
                self.waiting = ask.place.map(|_| ask);
                self.is_over = ask.place.is_none();
            }
            (Do::Release { mode, holds, .. }, _) => {
                let count = if mode == Mode::Read { &mut self.reads } else { &mut self.writes };
                *count = holds.min(*count);
                self.waiting = None;
                self.is_over |= self.reads + self.writes == 0;
            }
            (Do::Upgrade { reads, writes, .. }, Says::Granted { .. })
            | (Do::Downgrade { reads, writes, .. }, Says::Done) => {
                (self.reads, self.writes) = (reads, writes);
            }
            _ => {}
        }
        if matches!(says, Says::Lost | Says::Gone) {
            (self.reads, self.writes) = (0, 0);
            self.is_over = true;
        }
    }
}
