//! Advice from scrapes.
//!
//! A wait is known only up to the present one, at which requests leave. Of shorter ones the share
//! of refusals is that of a queue with one server and random arrivals whose customers leave after a
//! fixed wait (M/G/1+D): with the load `r` and the share `q` of those that would wait longer if none
//! left, `(1 - r) q / (1 - r q)` are refused. Both are read from the histogram. Where the load of
//! the keys differs much, fewer are refused at a short wait.

use std::time::Duration;

use lock_policy::{__private::Rule, PolicyFile};
use lockctl::observed::histogram::Histogram;
use lockctl::observed::scrape::Scrape;

use super::{
    by_replay::too_few,
    candidate::{Candidate, Decision, RuleAdvice},
    figures::Figures,
    waits::{DEFAULT_LEASE, DEFAULT_WAIT, is_much_shorter, written},
};
use crate::outcome::CommandError;

/// An undisturbed hold keeps 0.62 of its lease; below this share the next disturbance is a loss.
const LOW_MARGIN: f64 = 1.0 / 6.0;
/// The share of holds that may come so near to the end of their lease.
const FEW_HOLDS: f64 = 0.01;
/// The fewest holds whose margins show anything.
const LEAST_HOLDS: f64 = 100.0;

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
    let queue = Queue::new(waits, present_wait.as_secs_f64(), busy / (granted + busy));
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
    lease(rule, scrape, &mut advice)?;
    Ok(advice)
}

/// Proposes a longer lease if renewals came too near to the end of the present one.
fn lease(rule: &Rule, scrape: &Scrape, advice: &mut RuleAdvice) -> Result<(), CommandError> {
    let Some(margins) = scrape.histogram("lock_renewal_margin_seconds", &rule.name)? else {
        return Ok(());
    };
    let lease = rule.settings.lease.unwrap_or(DEFAULT_LEASE);
    let low = lease.as_secs_f64() * LOW_MARGIN;
    let share = margins.share_up_to(low);
    if margins.count() < LEAST_HOLDS || share <= FEW_HOLDS {
        return Ok(());
    }
    advice.remarks.push(format!(
        "{:.1} % of the holds had less than a sixth of their lease left at a renewal",
        share * 100.0
    ));
    let value = format!("\"{}\"", written(lease * 2));
    let decision = Decision::Proposed;
    advice.candidates.push(Candidate { field: "lease", value, figures: None, decision });
    Ok(())
}

/// A queue whose customers leave after a fixed wait.
struct Queue {
    waits: Histogram,
    wait: f64,
    refused: f64,
    load: f64,
    /// The share that would wait longer than the present wait if none left.
    longer: f64,
}

impl Queue {
    fn new(waits: Histogram, wait: f64, refused: f64) -> Self {
        // Those in the first bucket were granted at once.
        let first = waits.finite_bounds().next().unwrap_or(0.0);
        let waited = (1.0 - waits.share_up_to(first)).clamp(0.0, 0.999);
        let (mut load, mut longer) = (waited, refused);
        // 1 - waited = (1 - load) / (1 - load longer), and refused as above: it settles quickly.
        for _ in 0..100 {
            longer = (refused / (1.0 - load + load * refused)).clamp(0.0, 1.0);
            load = (1.0 - (1.0 - waited) * (1.0 - load * longer)).clamp(0.0, 0.999);
        }
        Self { waits, wait, refused, load, longer }
    }

    /// The bounds of the histogram below the present wait.
    fn shorter_waits(&self) -> impl Iterator<Item = Duration> {
        let bounds = self.waits.finite_bounds().filter(|bound| *bound > 0.0 && *bound < self.wait);
        let whole = |bound: f64| Duration::from_millis((bound * 1_000.0).round() as u64);
        bounds.skip(1).map(whole).filter(|wait| !wait.is_zero())
    }

    fn refused_at(&self, wait: f64) -> f64 {
        let granted = self.waits.share_up_to(wait);
        let longer = (1.0 - granted * (1.0 - self.load * self.longer)).clamp(0.0, 1.0);
        (1.0 - self.load) * longer / (1.0 - self.load * longer)
    }

    fn figures(&self, requests: u64, wait: f64, refused: f64, rate: Option<f64>) -> Figures {
        Figures {
            requests,
            refused,
            wait_mean: self.waits.mean_up_to(wait),
            wait_p95: self.waits.quantile_up_to(wait, 0.95),
            commands_per_second: rate,
        }
    }
}
