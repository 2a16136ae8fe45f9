//! One round trip's worth of renewals.

use std::{collections::HashMap, sync::Arc};

use super::{BUSY_RETRY, schedule::Schedule};
use crate::{
    Kind, LeaseState, LostCause, Mode,
    clock::Moment,
    hold::{Hold, Steps},
    lease,
    store::{RenewCommand, Renewal},
};

/// Holds per round trip: what is due within a second ends with a batch that is not full, and with so
/// many 100,000 holds are renewed in well below a thousand commands all the same. Each keeps Redis
/// for as long as 128 renewals take: half a millisecond, up to two where it is busy.
const BATCH: usize = 128;

/// One hold out of the schedule; it goes back when this is dropped, whatever became of it.
struct Turn {
    schedule: Arc<Schedule>,
    hold: Arc<Hold>,
    /// Keeps every other step of the hold away.
    _steps: Steps,
    again: Option<Moment>,
}

impl Drop for Turn {
    fn drop(&mut self) {
        let at = self.again.unwrap_or_else(|| Moment::now().after(BUSY_RETRY));
        self.schedule.add_at(&self.hold, at);
    }
}

/// Holds that one round trip can renew.
pub(super) struct Batch {
    mode: Mode,
    turns: Vec<Turn>,
}

/// What holds must have in common.
type Alike = (Kind, Mode, u16);

/// Sorts what is due: holds at their end are lost, those to be renewed go into batches.
pub(super) fn batches(schedule: &Arc<Schedule>, due: Vec<Arc<Hold>>) -> Vec<Batch> {
    let now = Moment::now();
    let mut alike: HashMap<Alike, Vec<Turn>> = HashMap::new();
    for hold in due {
        if hold.check().is_err() || hold.nobody_has_come() || hold.state().wanted().none() {
            continue;
        }
        let Some(mode) = hold.due_for_renewal() else {
            schedule.add(&hold);
            continue;
        };
        match hold.try_steps() {
            Some(steps) => {
                let schedule = Arc::clone(schedule);
                let shard = hold.engine.store.shard(&hold.key);
                let turns = alike.entry((hold.kind, mode, shard)).or_default();
                turns.push(Turn { schedule, hold, _steps: steps, again: None });
            }
            None => schedule.add_at(&hold, now.after(BUSY_RETRY)),
        }
    }
    let mut batches = Vec::new();
    for ((_, mode, _), mut turns) in alike {
        while !turns.is_empty() {
            let rest = turns.split_off(turns.len().min(BATCH));
            batches.push(Batch { mode, turns: std::mem::replace(&mut turns, rest) });
        }
    }
    batches
}

impl Batch {
    pub(super) async fn renew(mut self) {
        let Some(first) = self.turns.first() else {
            return;
        };
        let engine = Arc::clone(&first.hold.engine);
        let sent = Moment::now();
        for turn in &self.turns {
            // Carried out late, it may keep the hold for a lease from then on.
            let mut state = turn.hold.state();
            let lease = state.terms.lease;
            state.may_be_stored(sent, lease);
        }
        let steps: Vec<_> = self
            .turns
            .iter()
            .map(|turn| RenewCommand {
                holder: turn.hold.holder(),
                lease: turn.hold.state().terms.lease,
            })
            .collect();
        let answers = engine.store.renew(self.mode, steps).await;
        let failed = match &answers {
            Ok(_) => None,
            Err(failure) => Some(failure.to_string()),
        };
        let mut answers = answers.unwrap_or_default().into_iter();
        for turn in &mut self.turns {
            let answer = answers.next().unwrap_or(Renewal::Failed);
            turn.again = Some(turn.hold.renewed(answer, sent));
        }
        if let Some(failure) = failed {
            tracing::warn!(holds = self.turns.len(), %failure, "renewal failed, trying again");
        }
    }
}

impl Hold {
    /// When this hold must be looked at next.
    pub(super) fn due(&self) -> Moment {
        let end = self.end();
        let state = self.state();
        if !state.terms.renew || state.host.is_some() {
            return end;
        }
        if state.mode_in_doubt {
            return end.min(Moment::now().after(BUSY_RETRY));
        }
        let lease = self.engine.believed_lease(state.terms.lease, state.confirmed);
        end.min(state.confirmed_at.after(lease::renewal_period(lease)))
    }

    /// The mode to renew in, unless the hold runs out by choice.
    fn due_for_renewal(&self) -> Option<Mode> {
        let state = self.state();
        // A write of which nobody knows whether it is released is not asked for: the read that stays
        // is renewed either way.
        let mode = if state.confirmed.write > 0 { Mode::Write } else { Mode::Read };
        (state.terms.renew && !state.mode_in_doubt).then_some(mode)
    }

    /// Takes in a renewal's answer and says when to look again.
    fn renewed(self: &Arc<Self>, answer: Renewal, sent: Moment) -> Moment {
        let now = Moment::now();
        let (lease, stored) = {
            let state = self.state();
            (state.terms.lease, state.confirmed)
        };
        match answer {
            Renewal::Renewed => {
                {
                    let mut state = self.state();
                    let left = now.until(state.believed_until);
                    state.least_remaining =
                        Some(state.least_remaining.map_or(left, |least| least.min(left)));
                    state.confirm(sent, self.engine.believed_lease(lease, stored), now);
                    if state.lost.is_none() {
                        state.lease_state = LeaseState::Renewed;
                    }
                }
                self.announce();
                self.due()
            }
            Renewal::Failed => {
                let mut state = self.state();
                if state.lost.is_none() {
                    state.lease_state = LeaseState::Unknown;
                }
                now.after(lease::renewal_retry(lease)).min(state.believed_until)
            }
            Renewal::Lost => {
                self.lose(LostCause::Refused);
                now
            }
        }
    }
}
