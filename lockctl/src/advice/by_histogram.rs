//! Advice from scrapes.

use std::time::Duration;

use lock_policy::{__private::Rule, PolicyFile};
use lockctl::observed::scrape::Scrape;

use super::{
    by_replay::too_few,
    candidate::{Candidate, Decision, RuleAdvice},
    figures::Figures,
    lease::longer_lease,
    queue_of_leavers::QueueOfLeavers,
    waits::{DEFAULT_WAIT, is_much_shorter, written},
};
use crate::outcome::CommandError;

/// Returns the advice for each rule of the file. `target` is the share of requests that may be
/// refused, `least` the number of requests below which nothing can be shown, and `seconds` the time
/// that the scrape covers.
pub(crate) fn advise(
    file: &PolicyFile,
    scrape: &Scrape,
    target: f64,
    least: u64,
    seconds: Option<f64>,
) -> Result<Vec<RuleAdvice>, CommandError> {
    let rules = file.rules().iter();
    rules.map(|rule| of_rule(rule, scrape, target, least, seconds)).collect()
}

fn of_rule(
    rule: &Rule,
    scrape: &Scrape,
    target: f64,
    least: u64,
    seconds: Option<f64>,
) -> Result<RuleAdvice, CommandError> {
    let name = &*rule.name;
    let mut advice = RuleAdvice { name: name.to_owned(), line: rule.line, ..RuleAdvice::default() };
    let granted = scrape.requests(name, &["granted"]);
    let busy = scrape.requests(name, &["lock-busy"]);
    advice.requests = (granted + busy) as u64;
    let waits = scrape.histogram("lock_wait_seconds", name)?;
    let Some(waits) = waits.filter(|_| advice.requests >= least) else {
        let unlocked = scrape.requests(name, &["shadow"]);
        let remark = match advice.requests {
            0 if unlocked > 0.0 => {
                "in shadow mode a scrape has no waits: give a shadow log".to_owned()
            }
            0 => "the scrape has no request of this rule".to_owned(),
            requests => too_few(requests, least),
        };
        advice.remarks.push(remark);
        return Ok(advice);
    };
    let present_wait = rule.settings.wait.unwrap_or(DEFAULT_WAIT);
    let queue = QueueOfLeavers::new(waits, present_wait.as_secs_f64(), busy / (granted + busy));
    let handed_over = scrape.sum("lock_handovers_total", name);
    // A grant is acquired and released, except if it was handed over; a refusal takes two commands.
    let commands = 2.0 * (granted + busy - handed_over).max(0.0);
    let requests = advice.requests;
    let rate = seconds.map(|seconds| commands / seconds);
    let figures = |wait: f64, refused: f64, rate| queue.figures(requests, wait, refused, rate);
    let present = figures(present_wait.as_secs_f64(), queue.refused, rate);
    let shorter: Vec<_> = queue
        .shorter_waits()
        .map(|wait| (wait, figures(wait.as_secs_f64(), queue.refused_at(wait.as_secs_f64()), None)))
        .collect();
    let fits = |(wait, figures): &&(Duration, Figures)| {
        figures.refused <= target && is_much_shorter(*wait, present_wait)
    };
    let proposed =
        shorter.iter().find(fits).map(|(wait, _)| *wait).filter(|_| queue.refused <= target);
    let goal = format!("{:.2} %", target * 100.0);
    advice.remarks.push(match proposed {
        Some(_) => format!("a shorter wait keeps refusals at or below {goal} too"),
        None if queue.refused <= target => {
            format!("the present wait keeps refusals at or below {goal}")
        }
        None => format!(
            "{:.2} % are refused, which is above {goal}; a scrape does not show longer waits than \
             the present one: record a shadow log",
            queue.refused * 100.0
        ),
    });
    let rows = shorter.into_iter().map(|(wait, figures)| {
        let decision = if Some(wait) == proposed { Decision::Proposed } else { Decision::Possible };
        (wait, figures, decision)
    });
    for (wait, figures, decision) in rows.chain([(present_wait, present, Decision::Present)]) {
        let value = format!("\"{}\"", written(wait));
        advice.candidates.push(Candidate {
            field: "wait",
            value,
            figures: Some(figures),
            decision,
        });
    }
    advice.candidates.extend(longer_lease(rule, scrape, &mut advice.remarks)?);
    Ok(advice)
}
