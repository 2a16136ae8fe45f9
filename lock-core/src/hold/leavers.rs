//! Waiters of fair kinds that give up, gathered by key: those of one key leave the store's line in one
//! command.
//!
//! A client has at most one such command per key in flight. Waiters that give up meanwhile leave
//! together in the next one, so a crowd that gives up at once costs the store few commands. New
//! places in the line wait at the gate until that command is sent. Otherwise, with waiters that
//! come and go quickly, the line would have more places of dead waiters than of live ones.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
    task::Poll,
};

use futures_util::poll;
use lock_store::{Kind, LeaveCommand, LockKey, Mode, runtime::LeaseInstant};

use super::{lease::StepPermit, reconcile_queue::PendingRelease, state::LeaseInner};

/// A line in the store.
type LineKey = (Kind, LockKey);

/// A waiter that has given up, with the right to its next step.
struct Leaver {
    pending: PendingRelease,
    step: StepPermit,
    mode: Mode,
}

/// The waiters that leave a line by one command.
pub(super) struct LeavingGroup {
    line: LineKey,
    leavers: Vec<Leaver>,
}

/// The outcome of a group's command.
pub(super) struct Left {
    line: LineKey,
    /// Nothing is left of these in the store.
    pub(super) gone: Vec<PendingRelease>,
    /// The store did not confirm that these are gone.
    pub(super) failed: Vec<PendingRelease>,
}

/// The waiters that leave, by line.
#[derive(Default)]
pub(super) struct Leavers {
    /// Those that the next command of their line takes out.
    gathered: HashMap<LineKey, Vec<Leaver>>,
    /// The lines of which a command is under way.
    sent: HashSet<LineKey>,
}

impl Leavers {
    /// Keeps a waiter of a fair kind that only leaves its line; returns any other hold.
    pub(super) fn gather(&mut self, pending: PendingRelease) -> Option<PendingRelease> {
        let lease = pending.lease().filter(|lease| lease.kind.is_fair());
        let Some(lease) = lease.cloned() else { return Some(pending) };
        let mode = lease.state().gives_up_place();
        let (Some(mode), Some(step)) = (mode, lease.try_step()) else {
            // It is sent as a separate command, now or after the step that is under way.
            lease.state().leave_sent();
            return Some(pending);
        };
        let line = (lease.kind, lease.key.clone());
        self.gathered.entry(line).or_default().push(Leaver { pending, step, mode });
        None
    }

    /// The groups whose command can be sent now.
    pub(super) fn ready(&mut self) -> Vec<LeavingGroup> {
        let Self { gathered, sent } = self;
        // At most one command per line is in flight: waiters that give up meanwhile are gathered
        // for the next one.
        let ready = gathered.extract_if(|line, _| sent.insert(line.clone()));
        ready.map(|(line, leavers)| LeavingGroup { line, leavers }).collect()
    }

    /// The next command of a line can be sent once the last one is answered.
    pub(super) fn answered(&mut self, left: &Left) {
        self.sent.remove(&left.line);
    }
}

impl LeavingGroup {
    /// Takes all of them out of the line.
    pub(super) async fn leave(self) -> Left {
        let Self { line, leavers } = self;
        let mut left = Left { line: line.clone(), gone: Vec::new(), failed: Vec::new() };
        let Some(first) = leavers.first() else { return left };
        let client = Arc::clone(&first.step.lease().client);
        let waiters =
            leavers.iter().map(|one| (one.step.lease().owner.clone(), one.mode)).collect();
        let sent = LeaseInstant::now();
        let mut command = client.store.leave(LeaveCommand::new(line.0, line.1, waiters));
        // The first poll sends it. New places in line, which are sent from now on, come behind it:
        // they need not wait for the answer.
        let at_once = poll!(&mut command);
        leavers.iter().for_each(|one| one.step.lease().state().leave_sent());
        let answer = match at_once {
            Poll::Ready(answer) => answer,
            Poll::Pending => command.await,
        };
        for Leaver { pending, step, mode } in leavers {
            let is_over = match &answer {
                // The command also releases a grant whose reply was lost, so nothing of the waiter
                // is left.
                Ok(()) => {
                    step.lease().state().has_left(mode);
                    true
                }
                Err(why) => pending.failed(step.lease(), why.clone().into(), sent),
            };
            if is_over { left.gone.push(pending) } else { left.failed.push(pending) }
        }
        left
    }
}

impl LeaseInner {
    /// The mode of this waiter's place in line, if only leaving the line is left to do. It may have
    /// been granted the lock meanwhile, without an answer: that grant is released too.
    fn gives_up_place(&self) -> Option<Mode> {
        let mode = self.in_line?;
        let other = if mode == Mode::Read { Mode::Write } else { Mode::Read };
        let unseen = self.confirmed.none() && !self.mode_in_doubt;
        (unseen && self.desired().none() && self.remote.of(other) == 0).then_some(mode)
    }

    fn leave_sent(&mut self) {
        if let Some(permit) = &mut self.permit {
            permit.leave_sent();
        }
    }

    fn has_left(&mut self, mode: Mode) {
        *self.remote.of_mut(mode) = 0;
        self.in_line = None;
    }
}
