//! From what a history tries to the step that makes sense at that moment: each player knows what it
//! holds and waits for, as a program does that uses the store.

use std::time::Duration;

use lock_core::{
    Mode,
    test_util::{Answer, Ask, Step},
};

use crate::model::history::{Action, History, span};

/// One that takes steps, and what it believes.
#[derive(Debug, Clone, Default)]
pub(crate) struct Player {
    pub(crate) owner: usize,
    reads: u32,
    writes: u32,
    waiting: Option<Ask>,
    last: Option<Step>,
    /// Every outermost hold has an owner of its own.
    is_over: bool,
}

impl Player {
    pub(crate) fn new(owner: usize) -> Self {
        Self { owner, ..Self::default() }
    }

    /// Whether another owner takes its part before it does this. One that lost its place in line
    /// does not come back to it: a store may have passed it by already, or not yet.
    pub(crate) fn is_replaced(&self, action: Action, lost_its_place: bool) -> bool {
        match action {
            Action::Ask { .. } => self.is_over || lost_its_place,
            Action::Crash => true,
            _ => false,
        }
    }

    /// Its request, if it waits. A repeated request takes no other place.
    pub(crate) fn waits_for(&self, history: &History, now: u64) -> Option<Ask> {
        let waited = self.waited(history, now);
        self.waiting.map(|ask| Ask { waited, place: None, ..ask })
    }

    /// The step that it takes for an action, if it can.
    pub(crate) fn step(
        &self,
        history: &History,
        action: Action,
        now: u64,
        lost_its_place: bool,
    ) -> Option<Step> {
        let (reads, writes) = (self.reads, self.writes);
        let has_readers = history.kind.has_readers();
        let held = |mode| if mode == Mode::Read { reads } else { writes };
        Some(match action {
            Action::Ask { mode, lease, yields, place } => {
                let mode = if has_readers { mode } else { Mode::Write };
                let (mode, holds, place) = match (reads + writes, self.waiting) {
                    (0, Some(ask)) => (ask.mode, 1, ask.place),
                    (0, None) => (mode, 1, place.map(span)),
                    _ if history.kind == lock_core::Kind::Semaphore => return None,
                    // A reader that requests a write is refused before a store is contacted.
                    _ if writes == 0 => (Mode::Read, reads + 1, None),
                    _ => (mode, held(mode) + 1, None),
                };
                let (waited, permits) = (self.waited(history, now), history.permits);
                let yields = yields && holds == 1;
                let wanted_permits = match self.waiting {
                    Some(ask) => ask.wanted_permits,
                    // Of any lease as many: up to three.
                    None if history.kind == lock_core::Kind::Semaphore => {
                        1 + u32::try_from(span(lease).as_millis() % 3).unwrap_or(0)
                    }
                    None => 1,
                };
                Step::Acquire(Ask {
                    mode,
                    holds,
                    lease: span(lease),
                    yields,
                    place,
                    waited,
                    permits,
                    wanted_permits,
                })
            }
            Action::Again => match self.last? {
                Step::Acquire(_) if lost_its_place => return None,
                Step::Acquire(ask) => {
                    Step::Acquire(Ask { waited: self.waited(history, now), ..ask })
                }
                step => step,
            },
            Action::Release { mode } => match (reads + writes, self.waiting) {
                (0, Some(ask)) => Step::Release { mode: ask.mode, holds: 0, in_line: true },
                (0, None) => {
                    // Late, or of what was never held.
                    let mode = if has_readers { mode } else { Mode::Write };
                    Step::Release { mode, holds: 0, in_line: false }
                }
                _ => {
                    let other = if mode == Mode::Read { Mode::Write } else { Mode::Read };
                    let mode = if held(mode) > 0 { mode } else { other };
                    Step::Release { mode, holds: held(mode) - 1, in_line: false }
                }
            },
            Action::Renew { lease } if reads + writes > 0 => {
                let mode = if writes > 0 { Mode::Write } else { Mode::Read };
                Step::Renew { mode, lease: span(lease) }
            }
            Action::Convert { up: true, lease } if reads > 0 => {
                Step::Upgrade { reads: reads - 1, writes: writes + 1, lease: span(lease) }
            }
            Action::Convert { lease, .. } if writes > 0 => {
                Step::Downgrade { reads: reads + 1, writes: writes - 1, lease: span(lease) }
            }
            Action::Crash | Action::Renew { .. } | Action::Convert { .. } => return None,
            Action::FreePermits => Step::FreePermits { permits: history.permits },
            Action::TakeAway => Step::TakeAway,
        })
    }

    /// Far enough apart that no two stores can disagree about which owner has waited for longer.
    fn waited(&self, history: &History, now: u64) -> Duration {
        let seniority = (self.owner as u64 * 13 + history.seniority) % 97;
        span(now + 10 * seniority)
    }

    /// Learns from the answer to its step.
    pub(crate) fn learn(&mut self, step: Step, answer: Answer) {
        self.last = Some(step);
        match (step, answer) {
            (Step::Acquire(ask), Answer::Granted { .. }) => {
                let count = if ask.mode == Mode::Read { &mut self.reads } else { &mut self.writes };
                *count = ask.holds.max(*count);
                self.waiting = None;
            }
            (Step::Acquire(ask), Answer::Busy { .. } | Answer::Yield { .. }) => {
                // The hold that it had at its earlier request has lapsed.
                (self.reads, self.writes) = (0, 0);
                self.waiting = ask.place.map(|_| ask);
                self.is_over = ask.place.is_none();
            }
            (Step::Release { mode, holds, .. }, _) => {
                let count = if mode == Mode::Read { &mut self.reads } else { &mut self.writes };
                *count = holds.min(*count);
                self.waiting = None;
                self.is_over |= self.reads + self.writes == 0;
            }
            (Step::Upgrade { reads, writes, .. }, Answer::Granted { .. })
            | (Step::Downgrade { reads, writes, .. }, Answer::Done) => {
                (self.reads, self.writes) = (reads, writes);
            }
            _ => {}
        }
        if matches!(answer, Answer::Lost | Answer::Gone) {
            (self.reads, self.writes) = (0, 0);
            self.is_over = true;
        }
    }
}
