//! A parked hold is resumed at most once, under its own token, and not gone before its time.

use std::collections::BTreeMap;

use super::{Answer, Ask, Finding, Hold, Past, Resumption, Verdict, Windows};
use crate::history::Refusal;

pub(super) fn check(past: &Past, windows: &Windows, verdict: &mut Verdict) {
    let mut by_ticket: BTreeMap<&str, Vec<&Ask>> = BTreeMap::new();
    for Resumption { ask, ticket } in &past.resumptions {
        by_ticket.entry(ticket).or_default().push(&past.requests[*ask]);
    }
    let is_granted = |ask: &&&Ask| ask.answer == Answer::Granted;
    let is_gone = |ask: &Ask| ask.answer == Answer::Refused(Refusal::Gone);
    for (ticket, requests) in &by_ticket {
        let resumed = requests.iter().filter(is_granted).count();
        verdict.resumed += u64::from(resumed > 0);
        let parked = past.holds.iter().find(|hold| hold.parked.as_deref() == Some(*ticket));
        // Its worker was killed before it wrote that down.
        let Some(parked) = parked else { continue };
        let mut find = |what: String| {
            let key = Some(parked.key.clone());
            verdict.findings.push(Finding { check: "tickets", at: parked.begin, key, what });
        };
        if resumed > 1 {
            find(format!("the ticket {ticket} was resumed {resumed} times"));
        }
        let in_time = requests.iter().all(|ask| ask.end < parked.last);
        if requests.iter().copied().all(is_gone) && in_time && !may_be_lost(parked, windows) {
            find(format!("the ticket {ticket} was not good for its time"));
        }
    }
    for Resumption { ask, ticket } in &past.resumptions {
        let resumed = past.holds.iter().find(|hold| hold.ask == *ask && hold.token.is_some());
        if let Some(resumed) = resumed {
            let what = format!("the ticket {ticket} was resumed under another token");
            let key = Some(resumed.key.clone());
            verdict.findings.push(Finding { check: "tickets", at: resumed.begin, key, what });
        }
    }
}

fn may_be_lost(parked: &Hold, windows: &Windows) -> bool {
    windows.lost_between(parked.begin, parked.last)
}

#[cfg(test)]
mod tests {
    use super::{
        super::testing::{ask, hold, lossy, quiet, verdict_of},
        *,
    };
    use crate::{
        clock::{MS, SECOND},
        keys::Access,
    };

    /// The answers to two workers, 100 ms after a hold was parked for a second.
    fn past(answers: [Answer; 2]) -> Past {
        let ticket = || "1".to_owned();
        let request = |(worker, answer)| Ask { answer, ..ask(worker, 100 * MS, 110 * MS) };
        let mut past = Past {
            requests: [ask(0, 0, 0)].into_iter().chain((1..).zip(answers).map(request)).collect(),
            resumptions: [1, 2].map(|ask| Resumption { ask, ticket: ticket() }).to_vec(),
            holds: vec![Hold {
                parked: Some(ticket()),
                token: Some(7),
                ..hold(0, Access::Write, 0, SECOND)
            }],
            ..Past::default()
        };
        for (at, request) in past.requests.iter().enumerate().skip(1) {
            if request.answer == Answer::Granted {
                let granted = hold(at, Access::Write, request.end, 200 * MS);
                past.holds.push(Hold { ask: at, token: Some(7), ..granted });
            }
        }
        past.join_parked();
        past
    }

    fn gone() -> Answer {
        Answer::Refused(Refusal::Gone)
    }

    #[test]
    fn a_ticket_is_good_once() {
        let findings = |answers| verdict_of(check, &past(answers), &quiet()).findings.len();
        assert_eq!(findings([Answer::Granted, gone()]), 0);
        assert_eq!(findings([Answer::Granted, Answer::Granted]), 1);
        assert_eq!(findings([gone(), gone()]), 1);
        assert_eq!(findings([gone(), Answer::Killed]), 0, "that one may have taken it over");
        let lost = verdict_of(check, &past([gone(), gone()]), &lossy(10 * MS, 20 * MS));
        assert_eq!(lost.findings.len(), 0);
    }

    #[test]
    fn a_parked_hold_lasts_until_it_is_resumed() {
        let last = |answers| past(answers).holds[0].last;
        assert_eq!(last([gone(), gone()]), SECOND);
        assert_eq!(last([Answer::Granted, gone()]), 110 * MS);
        assert_eq!(last([gone(), Answer::Killed]), 100 * MS, "it may have been released since");
    }

    #[test]
    fn another_token_is_found() {
        let mut past = past([Answer::Granted, gone()]);
        past.holds[1].token = Some(8);
        assert_eq!(verdict_of(check, &past, &quiet()).findings.len(), 1);
    }
}
