//! Holds that change hands: a parked one lasts, without a process, until another worker resumes it.

use std::collections::HashMap;

use super::{Answer, Past};
use crate::{clock::Nanos, history::Refusal};

/// An acquisition of a parked hold.
#[derive(Clone, Debug)]
pub(crate) struct Resumption {
    pub(crate) ask: usize,
    pub(crate) ticket: String,
}

impl Past {
    /// The store has it until then at least, and for as long after the answer at most.
    pub(super) fn park(&mut self, ask: usize, at: Nanos, until: Nanos, ticket: &str) {
        let parked = self.holds.iter_mut().rev().take(5_000).find(|hold| hold.ask == ask);
        let hold = parked.expect("BUG: a parked hold was granted");
        hold.over = at + until.saturating_sub(hold.last);
        hold.last = hold.last.max(until);
        hold.parked = Some(ticket.to_owned());
    }

    /// A parked hold lasts until it is resumed: from then on it is its resumer's.
    pub(crate) fn join_parked(&mut self) {
        let parked = self.holds.iter().enumerate();
        let parked: HashMap<String, usize> =
            parked.filter_map(|(at, hold)| Some((hold.parked.clone()?, at))).collect();
        for Resumption { ask, ticket } in &self.resumptions {
            let (Some(parked), request) = (parked.get(ticket), &self.requests[*ask]) else {
                continue;
            };
            match request.answer {
                Answer::Refused(Refusal::Gone) => {}
                Answer::Granted => {
                    let resumed = self.holds.iter().position(|hold| hold.ask == *ask);
                    let resumed = resumed.expect("BUG: a grant has a hold");
                    let hold = &mut self.holds[*parked];
                    hold.last = hold.last.min(request.end);
                    hold.over = hold.over.min(request.end);
                    let token = hold.token;
                    // It is the same one, which was compared already. `tickets` compares these two.
                    if self.holds[resumed].token == token {
                        self.holds[resumed].token = None;
                    }
                }
                // It may have been taken over, and is released then.
                _ => {
                    let hold = &mut self.holds[*parked];
                    hold.last = hold.last.min(request.at).max(hold.begin);
                }
            }
        }
    }
}
