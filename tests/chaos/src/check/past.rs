//! The records of all workers together: which worker requested what, held what, and for how long.

use std::{collections::HashMap, io};

use super::{parked::Resumption, windows::Span};
use crate::{
    clock::Nanos,
    history::{self, Ending, Record, Refusal},
    keys::{self, Access, Family},
    nemesis::Life,
};

/// One acquisition.
#[derive(Clone, Debug)]
pub(crate) struct Ask {
    pub(crate) worker: usize,
    pub(crate) life: usize,
    pub(crate) family: Family,
    pub(crate) access: Access,
    pub(crate) keys: Vec<String>,
    pub(crate) at: Nanos,
    pub(crate) wait: Nanos,
    pub(crate) lease: Nanos,
    /// For how long the store keeps it when nothing is sent any more.
    pub(crate) kept: Nanos,
    /// When it was answered, or its process was killed.
    pub(crate) end: Nanos,
    pub(crate) answer: Answer,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    Granted,
    Refused(Refusal),
    /// Its process was killed before.
    Killed,
    /// Never, though its process ended in order.
    Missing,
}

/// One lock that was believed in, in one mode.
#[derive(Clone, Debug)]
pub(crate) struct Hold {
    /// Which acquisition it came of: what one scope holds in turn shares a token.
    pub(crate) ask: usize,
    pub(crate) worker: usize,
    pub(crate) key: String,
    pub(crate) access: Access,
    pub(crate) begin: Nanos,
    /// The last moment at which it was believed in.
    pub(crate) last: Nanos,
    /// From when on the store cannot have it any more, if nothing holds up the release or the expiry.
    pub(crate) over: Nanos,
    pub(crate) token: Option<u64>,
    pub(crate) lease: Nanos,
    /// For how long the store keeps it when nothing is sent any more.
    pub(crate) kept: Nanos,
    /// When its loss was reported, and until when it would have been relied upon.
    pub(crate) reported: Option<(Nanos, Nanos)>,
    /// When its process was killed, if it was while this was held.
    pub(crate) killed: Option<Nanos>,
    /// It was left in the store by this ticket, for another worker.
    pub(crate) parked: Option<String>,
    /// The store has confirmed its release.
    pub(crate) is_freed: bool,
}

/// Everything that happened in a slice.
#[derive(Debug, Default)]
pub(crate) struct Past {
    pub(crate) requests: Vec<Ask>,
    pub(crate) holds: Vec<Hold>,
    pub(crate) resumptions: Vec<Resumption>,
    /// Holders that released, or lost their lock, because a newer caller replaced them.
    pub(crate) replaced: u64,
    /// Rows that workers carried out themselves.
    pub(crate) rows: Vec<u8>,
    /// When a worker's process did not run: stopped by a signal, or by the machine.
    pub(crate) stood: Vec<(usize, Span)>,
    /// What workers saw that must not be, and what they should not have said.
    pub(crate) wrong: Vec<(Nanos, String)>,
    /// Kills of workers that held something, and that waited in a fair line.
    pub(crate) killed_holding: u64,
    pub(crate) killed_in_line: u64,
}

/// A hold of which the end is not known yet.
struct Open {
    holds: Vec<usize>,
    deadline: Nanos,
    last: Nanos,
}

impl Past {
    pub(crate) fn of(lives: &[Life]) -> io::Result<Self> {
        let mut past = Self::default();
        for (number, life) in lives.iter().enumerate() {
            // One that was killed before it was ready has written nothing.
            let records = match history::read(&life.history) {
                Ok(records) => records,
                Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
                Err(error) => return Err(error),
            };
            past.take(number, life, records);
        }
        past.join_parked();
        Ok(past)
    }

    pub(crate) fn take(&mut self, number: usize, life: &Life, records: Vec<Record>) {
        let mut requests: HashMap<u64, usize> = HashMap::new();
        let mut open: HashMap<u64, Open> = HashMap::new();
        let (mut finished, mut latest) = (false, 0);
        for record in records {
            match record {
                Record::Ask { n, at, family, access, keys, wait, lease, kept } => {
                    requests.insert(n, self.requests.len());
                    let (worker, life) = (life.worker, number);
                    let (end, answer) = (at, Answer::Missing);
                    self.requests.push(Ask {
                        worker,
                        life,
                        family,
                        access,
                        keys,
                        at,
                        wait,
                        lease,
                        kept,
                        end,
                        answer,
                    });
                    latest = at;
                }
                Record::Refused { n, at, why } => {
                    let ask = &mut self.requests[requests[&n]];
                    (ask.end, ask.answer) = (at, Answer::Refused(why));
                }
                Record::Grant { n, at, left, tokens } => {
                    let number = requests[&n];
                    let ask = &mut self.requests[number];
                    (ask.end, ask.answer) = (at, Answer::Granted);
                    let ask = ask.clone();
                    let first = self.holds.len();
                    self.holds.extend(ask.keys.iter().zip(tokens).map(|(key, token)| Hold {
                        ask: number,
                        worker: ask.worker,
                        key: key.clone(),
                        access: keys::access(key, ask.access),
                        begin: at,
                        last: at,
                        over: at + ask.kept,
                        // A process that was stopped may receive a grant that is over: it is notified of
                        // the loss at once, and others have had the lock since.
                        token: token.filter(|_| left > 0),
                        lease: ask.lease,
                        kept: ask.kept,
                        reported: None,
                        killed: None,
                        parked: None,
                        is_freed: false,
                    }));
                    let holds = (first..self.holds.len()).collect();
                    open.insert(n, Open { holds, deadline: at + left, last: at });
                }
                Record::Resume { n, ticket } => {
                    self.resumptions.push(Resumption { ask: requests[&n], ticket });
                }
                Record::Parked { n, at, until, ticket } => {
                    self.park(requests[&n], at, until, &ticket)
                }
                Record::Look { n, at, left } => {
                    if let Some(open) = open.get_mut(&n) {
                        (open.deadline, open.last) = (at + left, at);
                    }
                }
                Record::Mode { n, last, at, access, token } => {
                    if let Some(open) = open.get_mut(&n) {
                        for hold in &mut open.holds {
                            let mut next = self.holds[*hold].clone();
                            // From then on it is the next one's.
                            let before = &mut self.holds[*hold];
                            (before.last, before.over) = (last.max(before.begin), at);
                            (next.begin, next.last) = (at, at);
                            (next.access, next.token) = (access, token);
                            *hold = self.holds.len();
                            self.holds.push(next);
                        }
                    }
                }
                Record::End { n, last, at, deadline, how } => {
                    let is_taken = how == Ending::Lost("Taken".to_owned());
                    let of_replaced = self.requests[requests[&n]].family == Family::Replaced;
                    self.replaced +=
                        u64::from(how == Ending::Replaced || (is_taken && of_replaced));
                    for hold in open.remove(&n).into_iter().flat_map(|open| open.holds) {
                        let hold = &mut self.holds[hold];
                        hold.last = last.max(hold.begin);
                        hold.over = at + hold.kept;
                        hold.reported = matches!(how, Ending::Lost(_)).then_some((at, deadline));
                    }
                    latest = at;
                }
                Record::Freed { n, at, confirmed: true } => self.free(requests[&n], at),
                Record::Freed { .. } => {}
                Record::Stood { from, at } => self.stood.push((life.worker, (from, at))),
                Record::Row { row, .. } => self.rows.push(row),
                Record::Wrong { at, what } => self.wrong.push((at, what)),
                Record::Finished { .. } => finished = true,
            }
        }
        self.end(life, number, &open, finished, latest);
    }

    /// A release was confirmed: what this acquisition held is free from then on.
    fn free(&mut self, ask: usize, at: Nanos) {
        // Ended long ago it cannot have.
        for hold in self.holds.iter_mut().rev().take(5_000).filter(|hold| hold.ask == ask) {
            hold.over = hold.over.min(at);
            hold.is_freed = true;
        }
    }

    /// What a life that ended, in order or not, has left open.
    fn end(
        &mut self,
        life: &Life,
        number: usize,
        open: &HashMap<u64, Open>,
        finished: bool,
        latest: Nanos,
    ) {
        let end = life.killed.unwrap_or(latest);
        let mut in_line = false;
        for ask in self.requests.iter_mut().filter(|ask| ask.life == number) {
            if ask.answer == Answer::Missing {
                ask.end = end.max(ask.at);
                if life.killed.is_some() {
                    ask.answer = Answer::Killed;
                    in_line |= ask.family.is_fair();
                }
            }
        }
        for open in open.values() {
            for hold in &open.holds {
                let hold = &mut self.holds[*hold];
                // It could not be notified: it relied on the lock until it was killed, or until its end.
                hold.last = end.min(open.deadline).max(open.last).max(hold.begin);
                hold.over = end + hold.kept;
                hold.killed = life.killed;
            }
        }
        if life.killed.is_some() {
            self.killed_holding += u64::from(!open.is_empty());
            self.killed_in_line += u64::from(in_line);
        }
        for line in life.said.lines().filter(|line| !["ready", "finished"].contains(line)) {
            self.wrong.push((end, format!("worker {} said: {line}", life.worker)));
        }
        if life.killed.is_none() && !finished {
            self.wrong.push((end, format!("worker {} ended before its time", life.worker)));
        }
    }
}
